import FoundationEssentials
import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Unix sockets of the daemon", .mayBlock)
struct UnixListenerTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory() }

  @Test("a bound unix socket accepts connections, has the given mode, and does not block")
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

  @Test("the mode of a unix socket does not depend on the umask", arguments: ["000", "077", "777"])
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

  @Test("a socket path on which another process accepts is refused and left in place")
  func alive() throws {
    let other = try boundSocket(path)
    defer { close(other) }
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence == "another usherd is serving \(path)")
    let client = try #require(connected(to: path))
    close(client)
  }

  @Test("a socket path whose listener has a full queue counts as served")
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

  @Test("a datagram socket at the socket path is left in place")
  func datagram() throws {
    let other = try boundSocket(path, type: SOCK_DGRAM)
    defer { close(other) }
    #expect(refusal { _ = try UnixListener.bind(path: path, mode: 0o600) } != nil)
    #expect(exists(path))
  }

  @Test("a left-over socket without a listener is replaced")
  func stale() throws {
    let leftOver = try boundSocket(path)
    // A child process of another test may hold a copy of the socket until its exec.
    shutdown(leftOver, CInt(SHUT_RDWR))
    close(leftOver)
    let listener = try UnixListener.bind(path: path, mode: 0o600)
    defer { close(listener) }
    let client = try #require(connected(to: path))
    close(client)
  }

  @Test("a regular file at the socket path is left in place")
  func fileInTheWay() throws {
    let path = try directory.write([1], to: "s")
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence == "\(path) exists and is not a socket")
    #expect(exists(path))
  }

  @Test("a unix listener refuses a directory in which another daemon is just starting")
  func startingTwice() throws {
    let lock = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let sentence = refusal {
      _ = try UnixListener.bind(path: directory.file("s"), mode: 0o600)
    }
    #expect(sentence == "another usherd is starting in \(directory.path)")
  }

  @Test("a socket path over 107 bytes is refused with both numbers")
  func tooLong() {
    let path = "/tmp/" + String(repeating: "x", count: 103)
    let sentence = refusal { _ = try UnixListener.bind(path: path, mode: 0o600) }
    #expect(sentence?.hasSuffix("has 108 bytes, and the kernel accepts at most 107") == true)
  }

  @Test("a socket path of exactly 107 bytes works")
  func longest() throws {
    let name = String(repeating: "x", count: 107 - directory.path.utf8.count - 1)
    close(try UnixListener.bind(path: directory.file(name), mode: 0o600))
    #expect(exists(directory.file(name)))
  }

  @Test("a missing directory of the socket is an error, or is created with mode 755")
  func parent() throws {
    let path = directory.file("run/s")
    #expect(refusal { _ = try UnixListener.bind(path: path, mode: 0o600) } != nil)
    close(try UnixListener.bind(path: path, mode: 0o600, creatingParent: true))
    #expect(mode(of: directory.file("run")) == 0o755)
  }

  @Test("unlinking a unix listener removes the socket file, and a second unlink does nothing")
  func unlinks() throws {
    let listener = try UnixListener.bind(path: path, mode: 0o600)
    UnixListener.unlink(path: path)
    UnixListener.unlink(path: path)
    close(listener)
    #expect(!exists(path))
  }
}
