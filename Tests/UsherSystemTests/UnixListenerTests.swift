import FoundationEssentials
import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Own sockets", .mayBlock)
struct UnixListenerTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory() }

  @Test("somebody can connect, the mode is the one asked for, the descriptor is fit for a loop")
  func binds() throws {
    let listener = try UnixListener.bind(path: path, mode: 0o666)
    defer { close(listener) }
    #expect(mode(of: path) == 0o666)
    #expect(fcntl(listener, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(listener, F_GETFL) & O_NONBLOCK != 0)
    let client = try #require(connected(to: path))
    close(client)
    close(try accepted(listener))
  }

  @Test("the mode does not depend on the umask", arguments: ["000", "077", "777"])
  func umasks(text: String) async {
    await #expect(processExitsWith: .success) { [text] in
      umask(try #require(mode_t(text, radix: 8)))
      var template = Array("/tmp/usher-XXXXXX".utf8CString)
      let directory = try #require(mkdtemp(&template).map { String(cString: $0) })
      chmod(directory, 0o700)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      for wanted: mode_t in [0o600, 0o666] {
        let path = "\(directory)/\(wanted)"
        let listener = try UnixListener.bind(path: path, mode: wanted)
        defer { close(listener) }
        #expect(mode(of: path) == wanted)
      }
    }
  }

  @Test("a socket somebody answers on is not taken, and stays")
  func alive() throws {
    let other = try boundSocket(path)
    defer { close(other) }
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence == "another usherd is serving \(path)")
    let client = try #require(connected(to: path))
    close(client)
  }

  @Test("one whose queue is full lives too")
  func busy() throws {
    let other = try boundSocket(path)
    try #require(listen(other, 0) == 0)
    let waiting = try #require(connected(to: path))
    defer {
      close(waiting)
      close(other)
    }
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence == "another usherd is serving \(path)")
  }

  @Test("a datagram socket in the way is not taken")
  func datagram() throws {
    let other = try boundSocket(path, type: SOCK_DGRAM)
    defer { close(other) }
    #expect(refusal { _ = try UnixListener.bind(path: path, mode: 0o600) } != nil)
    #expect(exists(path))
  }

  @Test("a left-over socket is replaced")
  func stale() throws {
    let leftOver = try boundSocket(path)
    // A program that another test starts just now has a copy of the socket until it runs.
    shutdown(leftOver, CInt(SHUT_RDWR))
    close(leftOver)
    let listener = try UnixListener.bind(path: path, mode: 0o600)
    defer { close(listener) }
    let client = try #require(connected(to: path))
    close(client)
  }

  @Test("a file in the way stays")
  func fileInTheWay() throws {
    let path = try directory.write([1], to: "s")
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence == "\(path) is in the way: it is not a socket")
    #expect(exists(path))
  }

  @Test("two daemons starting at once are kept apart")
  func startingTwice() throws {
    let lock = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let sentence = refusal {
      _ = try UnixListener.bind(path: directory.file("s"), mode: 0o600)
    }
    #expect(sentence == "another usherd is just starting in \(directory.path)")
  }

  @Test("a path the kernel cannot take is told with both numbers")
  func tooLong() {
    let path = "/tmp/" + String(repeating: "x", count: 103)
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence?.hasSuffix("has 108 bytes, and the kernel takes no more than 107") == true)
  }

  @Test("a path of exactly 107 bytes works")
  func longest() throws {
    let name = String(repeating: "x", count: 107 - directory.path.utf8.count - 1)
    close(try UnixListener.bind(path: directory.file(name), mode: 0o600))
    #expect(exists(directory.file(name)))
  }

  @Test("a missing directory is an error, or made for everybody to pass")
  func parent() throws {
    let path = directory.file("run/s")
    #expect(refusal { _ = try UnixListener.bind(path: path, mode: 0o600) } != nil)
    close(try UnixListener.bind(path: path, mode: 0o600, creatingParent: true))
    #expect(mode(of: directory.file("run")) == 0o755)
  }

  @Test("the file goes when it is told to, and going twice is no error")
  func unlinks() throws {
    let listener = try UnixListener.bind(path: path, mode: 0o600)
    UnixListener.unlink(path: path)
    UnixListener.unlink(path: path)
    close(listener)
    #expect(!exists(path))
  }
}
