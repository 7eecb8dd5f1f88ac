import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Sockets passed by systemd", .mayBlock)
struct ActivatedSocketsTests {
  @Test("listening sockets that systemd passes are taken by their names")
  func taken() throws {
    let directory = try TemporaryDirectory()
    let app = try boundSocket(directory.file("app"))
    let admin = try boundSocket(directory.file("admin"))
    defer {
      close(app)
      close(admin)
    }
    let sockets = try ActivatedSockets.checked(
      [("usherd.sock", app), ("usherd-admin.sock", admin)])
    #expect(sockets == ["usherd.sock": app, "usherd-admin.sock": admin])
  }

  @Test("a passed socket with an unknown name is an error that lists the known names")
  func unknownName() {
    let sentence = refusal { _ = try ActivatedSockets.checked([("web\n", 3)]) }
    #expect(
      sentence == #"systemd passed a socket named web\n; "#
        + "FileDescriptorName= must be one of usherd-admin.sock, usherd.sock")
  }

  @Test("two passed sockets with the same name are an error")
  func duplicate() throws {
    let directory = try TemporaryDirectory()
    let app = try boundSocket(directory.file("app"))
    defer { close(app) }
    let sentence = refusal {
      _ = try ActivatedSockets.checked([("usherd.sock", app), ("usherd.sock", app)])
    }
    #expect(sentence?.hasPrefix("systemd passed two sockets named usherd.sock") == true)
  }

  @Test("a passed stream that does not listen, a datagram socket and a file are errors")
  func wrongKind() throws {
    let directory = try TemporaryDirectory()
    let stream = try #require(unixSocket(SOCK_STREAM))
    let datagram = try boundSocket(directory.file("datagram"), type: SOCK_DGRAM)
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer {
      close(stream)
      close(datagram)
      close(file)
    }
    for descriptor in [stream, datagram, file] {
      let sentence = refusal {
        _ = try ActivatedSockets.checked([("usherd.sock", descriptor)])
      }
      #expect(sentence == "the socket named usherd.sock is not a listening unix stream socket")
    }
  }

  @Test("sockets that systemd passed to another process are ignored")
  func foreign() async {
    await #expect(processExitsWith: .success) {
      setenv("LISTEN_PID", "1", 1)
      setenv("LISTEN_FDS", "1", 1)
      setenv("LISTEN_FDNAMES", "usherd.sock", 1)
      let sockets = try ActivatedSockets.take()
      #expect(sockets == [:])
    }
  }

  @Test("a malformed LISTEN_FDS is an error, and is removed from the environment")
  func badCount() async {
    await #expect(processExitsWith: .success) {
      setenv("LISTEN_PID", "\(getpid())", 1)
      setenv("LISTEN_FDS", "many", 1)
      let sentence = refusal { _ = try ActivatedSockets.take() }
      #expect(sentence?.hasPrefix("the sockets passed by systemd cannot be used") == true)
      #expect(getenv("LISTEN_FDS") == nil)
    }
  }

  @Test("without socket activation no sockets are taken")
  func notActivated() async {
    await #expect(processExitsWith: .success) {
      unsetenv("LISTEN_FDS")
      let sockets = try ActivatedSockets.take()
      #expect(sockets == [:])
    }
  }
}
