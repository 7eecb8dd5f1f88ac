import CSystemd
import FoundationEssentials
import Glibc
import Testing
import UsherTestKit

@testable import UsherSystem

@Suite("Identity of a caller on a unix socket", .mayBlock)
struct PeerTests {
  private let listener: PublicListener
  private var path: String { listener.path }

  init() throws { listener = try PublicListener() }

  /// Creates a fake procfs in which `pid` is in a control group, and fake links of its unit.
  private func fake(
    pid: Int32, group: String, invocation: String? = nil
  ) throws -> Peer.Kernel {
    let proc = listener.directory.file("proc")
    try FileManager.default.createDirectory(
      atPath: "\(proc)/\(pid)", withIntermediateDirectories: true)
    try listener.directory.write(Array("0::\(group)\n".utf8), to: "proc/\(pid)/cgroup")
    try FileManager.default.createDirectory(
      atPath: listener.directory.file("units"), withIntermediateDirectories: true)
    if let invocation {
      let link = listener.directory.file("units/invocation:till.service")
      try #require(symlink(invocation, link) == 0)
    }
    return Peer.Kernel(proc: proc, units: listener.directory.file("units"))
  }

  private func withCall<Result>(
    _ command: [String], _ body: (Child, CInt) throws -> Result
  ) throws -> Result {
    let child = try Child(command)
    defer { child.end() }
    let connection = try accepted(listener.descriptor)
    defer { close(connection) }
    return try body(child, connection)
  }

  @Test("the peer of this process's own socket pair is this process")
  func ourselves() throws {
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
    #expect(peer.identity.executable == program)
  }

  @Test("reading the peer of a descriptor that is not a connected unix socket is an error")
  func noSocket() throws {
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    let alone = try #require(unixSocket(SOCK_STREAM))
    defer {
      close(file)
      close(alone)
    }
    #expect(refusal { _ = try Peer.read(fd: file) } != nil)
    #expect(refusal { _ = try Peer.read(fd: alone) } != nil)
  }

  @Test(
    "the process id, executable and control group of a running caller are known",
    arguments: [true, false])
  func running(hasPeerDescriptors: Bool) throws {
    try withCall(Caller.unix(path)) { child, connection in
      let peer = try Peer.read(
        fd: connection, kernel: Peer.Kernel(hasPeerDescriptors: hasPeerDescriptors))
      #expect(peer.pid == child.pid)
      #expect(peer.identity.executable == "/usr/bin/perl")
      #expect(peer.identity.controlGroup?.hasPrefix("/") == true)
      if !hasPeerDescriptors { #expect(peer.origin == .number) }
    }
  }

  @Test("a caller is found through the pidfd of its socket, and by its id only if there is none")
  func origin() throws {
    try withCall(Caller.unix(path)) { _, connection in
      let pidfd = usher_peer_pidfd(connection)
      defer { if pidfd >= 0 { close(pidfd) } }
      let expected: Peer.Origin = pidfd == -ENOPROTOOPT ? .number : .socket
      let peer = try Peer.read(fd: connection)
      #expect(peer.origin == expected)
    }
  }

  @Test("a caller's unit and invocation id come from its control group")
  func unit() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let id = "0123456789abcdef0123456789abcdef"
      let kernel = try fake(
        pid: child.pid, group: "/system.slice/till.service/worker", invocation: id)
      #expect(
        try Peer.read(fd: connection, kernel: kernel).identity
          == Peer.Identity(
            unit: "till.service", invocation: id,
            controlGroup: "/system.slice/till.service/worker", isUnitKnown: true))
    }
  }

  @Test(
    "a malformed invocation id of a unit is ignored",
    arguments: ["", "0123", "0123456789abcdef0123456789abcdeg", "/etc/passwd"])
  func oddInvocation(id: String) throws {
    try withCall(Caller.unix(path)) { child, connection in
      let kernel = try fake(
        pid: child.pid, group: "/system.slice/till.service", invocation: id.isEmpty ? nil : id)
      let identity = try Peer.read(fd: connection, kernel: kernel).identity
      #expect(identity.unit == "till.service")
      #expect(identity.invocation == nil)
    }
  }

  @Test("a unit of a user's own systemd manager is not reported as the caller's unit")
  func usersUnit() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let group = "/user.slice/user-1000.slice/user@1000.service/app.slice/till.service"
      let kernel = try fake(pid: child.pid, group: group)
      #expect(
        try Peer.read(fd: connection, kernel: kernel).identity
          == Peer.Identity(controlGroup: group, isUnitKnown: true))
    }
  }

  @Test("a caller that ended before accept has a uid but no identity", arguments: [true, false])
  func ended(hasPeerDescriptors: Bool) throws {
    try withCall(Caller.unix(path)) { child, connection in
      child.end()
      var kernel = try fake(pid: child.pid, group: "/system.slice/till.service")
      kernel.hasPeerDescriptors = hasPeerDescriptors
      let peer = try Peer.read(fd: connection, kernel: kernel)
      #expect(peer.uid == geteuid())
      #expect(peer.identity == Peer.Identity())
    }
  }

  @Test("an executable path that leads to another file for the daemon is not reported")
  func otherFile() throws {
    try withCall(Caller.unix(path)) { child, connection in
      let kernel = try fake(pid: child.pid, group: "/")
      // The link and the running file differ, as for a caller in its own mount namespace.
      try #require(symlink("/usr/bin/till", "\(kernel.proc)/\(child.pid)/exe") == 0)
      #expect(try Peer.read(fd: connection, kernel: kernel).identity.executable == nil)
    }
  }

  @Test(
    "a caller with more than 1024 supplementary groups is refused",
    .enabled(if: isRoot, needsRoot))
  func tooManyGroups() throws {
    let groups = (1000..<3000).map { gid_t($0) }
    try withCall(Caller.other(uid: 65534, groups: groups, Caller.unix(path))) { child, connection in
      let words = refusal { _ = try Peer.read(fd: connection) }
      #expect(words?.contains("usherd accepts at most 1024") == true)
    }
  }

  @Test("a caller of another user has its uid and all its groups", .enabled(if: isRoot, needsRoot))
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

  @Test("reading a peer leaves no descriptor of the caller's process open")
  func closed() throws {
    try withCall(Caller.unix(path)) { child, connection in
      _ = try Peer.read(fd: connection)
      let line = "Pid:\t\(child.pid)\n"
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")
      let infos = open.compactMap {
        try? String(contentsOfFile: "/proc/self/fdinfo/\($0)", encoding: .utf8)
      }
      #expect(!infos.contains { $0.contains(line) })
    }
  }
}
