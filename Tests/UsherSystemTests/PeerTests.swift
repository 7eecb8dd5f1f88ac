import FoundationEssentials
import Glibc
import Testing

@testable import UsherSystem

@Suite("Who calls")
struct PeerTests {
  private let directory: TemporaryDirectory
  private let path: String
  private let listener: CInt

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("s")
    // Another user must reach the socket.
    try #require(chmod(directory.path, 0o755) == 0)
    listener = try UnixListener.bind(path: path, mode: 0o666)
  }

  /// A procfs in which `pid` is in a control group.
  private func fakeProc(pid: Int32, group: String) throws -> String {
    let proc = directory.file("proc")
    try FileManager.default.createDirectory(
      atPath: "\(proc)/\(pid)", withIntermediateDirectories: true)
    try directory.write(Array("0::\(group)\n".utf8), to: "proc/\(pid)/cgroup")
    return proc
  }

  private func withCall<Result>(
    _ command: [String], _ body: (Child, CInt) throws -> Result
  ) throws -> Result {
    defer { close(listener) }
    let child = try Child(command)
    defer { child.end() }
    let connection = try accepted(listener)
    defer { close(connection) }
    return try body(child, connection)
  }

  @Test("our own end of a pair of sockets is us")
  func ourselves() throws {
    close(listener)
    var pair: [CInt] = [0, 0]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer {
      close(pair[0])
      close(pair[1])
    }
    let peer = try Peer.read(fd: pair[0])
    #expect(peer.uid == geteuid())
    #expect(peer.gid == getegid())
    #expect(peer.pid == getpid())
    #expect(peer.isMember(of: getegid()))
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(peer.identify().executable == program)
  }

  @Test("a descriptor that is no connected unix socket is an error")
  func noSocket() throws {
    close(listener)
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    let alone = try #require(unixSocket(SOCK_STREAM))
    defer {
      close(file)
      close(alone)
    }
    #expect(refusal { _ = try Peer.read(fd: file) } != nil)
    #expect(refusal { _ = try Peer.read(fd: alone) } != nil)
  }

  @Test("a caller's process is known by its pidfd while it runs")
  func running() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let peer = try Peer.read(fd: connection)
      #expect(peer.pid == child.pid)
      #expect(peer.pidfd?.isRunning == true)
      #expect(peer.identify().executable == "/usr/bin/perl")
    }
  }

  @Test("the unit comes from the control group")
  func unit() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let proc = try fakeProc(pid: child.pid, group: "/system.slice/till.service")
      let peer = try Peer.read(fd: connection, proc: proc)
      // On a kernel without SO_PEERPIDFD the fake procfs has the same owner as the caller.
      #expect(peer.identify() == Peer.Identity(unit: "till.service"))
    }
  }

  @Test("a caller that ended before he was looked up has no unit and no program")
  func ended() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let proc = try fakeProc(pid: child.pid, group: "/system.slice/till.service")
      let peer = try Peer.read(fd: connection, proc: proc)
      child.end()
      #expect(peer.pidfd?.isRunning == false)
      #expect(peer.identify() == Peer.Identity())
    }
  }

  @Test("a caller that ended before accept has no identity")
  func endedEarly() throws {
    try withCall(Caller.unix(path)) { child, connection in
      child.end()
      let proc = try fakeProc(pid: child.pid, group: "/system.slice/till.service")
      let peer = try Peer.read(fd: connection, proc: proc)
      #expect(peer.uid == geteuid())
      #expect(peer.identify() == Peer.Identity())
    }
  }

  @Test("what was found once is kept for the connection")
  func once() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let proc = try fakeProc(pid: child.pid, group: "/system.slice/till.service")
      let peer = try Peer.read(fd: connection, proc: proc)
      #expect(peer.identify().unit == "till.service")
      child.end()
      #expect(peer.identify().unit == "till.service")
    }
  }

  @Test("a program that is another file at that path for us is not named")
  func otherFile() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let proc = try fakeProc(pid: child.pid, group: "/")
      // The link says one path, and what runs is another file: as in a mount namespace of his own.
      try #require(symlink("/usr/bin/till", "\(proc)/\(child.pid)/exe") == 0)
      #expect(try Peer.read(fd: connection, proc: proc).identify().executable == nil)
    }
  }

  @Test("another user is another uid, with all his groups", .enabled(if: isRoot, needsRoot))
  func otherUser() throws {
    let groups = (1000..<1100).map { gid_t($0) }
    try withCall(Caller.other(uid: 65534, groups: groups, Caller.unix(path))) { child, connection in
      let peer = try Peer.read(fd: connection)
      #expect(peer.uid == 65534)
      #expect(peer.gid == 65534)
      #expect(peer.groups.sorted() == groups)
      #expect(peer.isMember(of: 1042))
      #expect(!peer.isMember(of: 0))
    }
  }

  @Test("the pidfd is closed with the peer")
  func closed() throws {
    try withCall(Caller.unix(path)) { child, connection in
      var peer: Peer? = try Peer.read(fd: connection)
      let info = "/proc/self/fdinfo/\(try #require(peer?.pidfd?.raw))"
      let line = "Pid:\t\(child.pid)\n"
      #expect(try String(contentsOfFile: info, encoding: .utf8).contains(line))
      peer = nil
      #expect((try? String(contentsOfFile: info, encoding: .utf8))?.contains(line) != true)
    }
  }
}
