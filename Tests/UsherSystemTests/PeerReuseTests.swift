import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

/// The kernel reuses process ids, and a process can pass its sockets to another process.
@Suite("Identity of a caller whose process id or socket passes to another process", .mayBlock)
struct PeerReuseTests {
  private let listener: PublicListener
  private var path: String { listener.path }

  init() throws { listener = try PublicListener() }

  /// Runs `body` with a connection whose caller has ended and whose process id was reused.
  private func withReusedNumber(
    of uid: uid_t = 0, by successor: uid_t = 0, _ body: (CInt, BootTick) throws -> Void
  ) throws {
    let caller = try Child(uid == 0 ? Caller.unix(path) : Caller.other(uid: uid, Caller.unix(path)))
    defer { caller.end() }
    let connection = try accepted(listener.descriptor)
    defer { close(connection) }
    let accepted = BootTick.now()
    try eventually("the kernel's clock has advanced") { BootTick.now() > accepted }
    caller.end()
    let other = try Child([
      "/usr/bin/python3", TestScript.takeNumber, "\(caller.pid)", "\(successor)", "/usr/bin/sleep",
      "60",
    ])
    defer { other.end() }
    try eventually("another process has the id \(caller.pid)") {
      let process = try? ProcessDirectory(caller.pid, proc: "/proc")
      return try process?.identity(units: "/").executable == "/usr/bin/sleep"
    }
    try body(connection, accepted)
  }

  @Test(
    "another process that gets the caller's process id is not taken for the caller",
    .enabled(if: isRoot, needsRoot))
  func reused() throws {
    try withReusedNumber { connection, _ in
      let peer = try Peer.read(fd: connection)
      #expect(peer.uid == 0)
      if peer.origin != .number { #expect(peer.identity == Peer.Identity()) }
    }
  }

  @Test(
    "without peer pidfds, a process that began after accept is not taken for the caller",
    .enabled(if: isRoot, needsRoot))
  func reusedAfterAccept() throws {
    try withReusedNumber { connection, accepted in
      var kernel = Peer.Kernel(hasPeerDescriptors: false, accepted: accepted)
      let peer = try Peer.read(fd: connection, kernel: kernel)
      #expect(peer.origin == .number)
      #expect(peer.identity == Peer.Identity())
      // Without the time of accept, the reuse is not detected.
      kernel.accepted = nil
      #expect(
        try Peer.read(fd: connection, kernel: kernel).identity.executable == "/usr/bin/sleep")
    }
  }

  @Test(
    "without peer pidfds, another user's process with the same id is not taken for the caller",
    .enabled(if: isRoot, needsRoot), arguments: [(0, 65534), (65534, 0), (65533, 65534)])
  func reusedByAnotherUser(caller: uid_t, successor: uid_t) throws {
    try withReusedNumber(of: caller, by: successor) { connection, _ in
      let peer = try Peer.read(
        fd: connection, kernel: Peer.Kernel(hasPeerDescriptors: false))
      #expect(peer.uid == caller)
      #expect(peer.origin == .number)
      #expect(peer.identity == Peer.Identity())
    }
  }

  /// A Python program that connects and hands the connection to another process.
  private static let handsOver = """
    import os, socket, sys
    how, path = sys.argv[1:]
    near, far = socket.socketpair()
    call = socket.socket(socket.AF_UNIX)
    if how == "inherited":
        call.connect(path)
    if os.fork() == 0:
        far.close()
        os.setresuid(65534, 65534, 65534)
        if how == "passed":
            call = socket.socket(fileno=socket.recv_fds(near, 1, 1)[1][0])
        call.send(b"x")
        near.recv(1)
        os._exit(0)
    near.close()
    if how == "passed":
        call.connect(path)
        socket.send_fds(far, [b"y"], [call.fileno()])
    call.close()
    far.recv(1)
    """

  @Test(
    "a handed-on connection keeps the identity of its connector", .enabled(if: isRoot, needsRoot),
    arguments: ["inherited", "passed"])
  func handedOn(how: String) throws {
    let caller = try Child(["/usr/bin/python3", "-c", Self.handsOver, how, path])
    defer { caller.end() }
    let connection = try accepted(listener.descriptor)
    defer { close(connection) }
    // The other process holds the connection and sends on it.
    #expect(try received(connection) == "x")
    let peer = try Peer.read(fd: connection)
    #expect(peer.uid == 0)
    #expect(peer.pid == caller.pid)
    #expect(peer.identity.executable?.contains("python3") == true)
  }

  @Test("a caller that runs exec after connecting is the same process", arguments: [true, false])
  func exec(hasPeerDescriptors: Bool) throws {
    let program = """
      use Socket; $^F = 99; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
      connect($s, sockaddr_un($ARGV[0])) or die; exec "/usr/bin/sleep", "60";
      """
    let caller = try Child(["/usr/bin/perl", "-e", program, path])
    defer { caller.end() }
    let connection = try accepted(listener.descriptor)
    defer { close(connection) }
    let before = try Peer.read(fd: connection)
    #expect(before.pid == caller.pid)
    let kernel = Peer.Kernel(hasPeerDescriptors: hasPeerDescriptors)
    try eventually("the process has executed the other program") {
      try Peer.read(fd: connection, kernel: kernel).identity.executable == "/usr/bin/sleep"
    }
    #expect(
      try Peer.read(fd: connection, kernel: kernel).identity.controlGroup
        == before.identity.controlGroup)
  }
}
