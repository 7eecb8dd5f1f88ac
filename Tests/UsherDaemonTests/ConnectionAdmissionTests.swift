import Glibc
import JSONRPC
import Logging
import NIOPosix
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit
import UsherTransport

@testable import UsherDaemon

@Suite("Admission of connections while descriptors are scarce", .timeLimit(.minutes(10)))
struct ConnectionAdmissionTests {
  /// Returns the reply lines of a connection, the logged message and the number of counted
  /// connections.
  /// - Parameter limit: Returns the process's descriptor limit for the connection's descriptor
  ///   number.
  private func admitted(
    isAdmin: Bool, limit: (Int) -> Int
  ) async throws -> (lines: String, told: String?, count: Int) {
    let (near, far) = try FarEnd.pair()
    let harness = try LockControllerHarness(
      descriptors: DescriptorBudget(limit: limit(Int(near.raw))))
    let lockController = try await harness.begun()
    let loop = try SocketLoop()
    let count = lockController.processContext.count
    let acceptor = ConnectionAcceptor(RPCService(lockController))
    _ = far.send(Array(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#.utf8) + [0x0A])
    far.finish()
    let told = try await loop.submit { acceptor.admit(near, on: loop, isAdmin: isAdmin) }
    let bytes = try await far.receiveAll()
    await lockController.end()
    await loop.stop()
    return (String(decoding: bytes, as: UTF8.self), told, count.count(of: nil))
  }

  @Test("a program's connection is refused as overloaded before descriptors run out, and is logged")
  func program() async throws {
    let (lines, told, count) = try await admitted(isAdmin: false) { _ in 0 }
    #expect(lines.contains(#""reason":"overloaded""#), "\(lines)")
    #expect(lines.contains(#""limit":"LimitNOFILE""#) && lines.contains(#""retryable":true"#))
    #expect(told == DescriptorBudget.exhausted.message)
    #expect(count == 0)
  }

  @Test("the admin socket accepts a connection at a descriptor count that refuses a program")
  func administrator() async throws {
    // With a small limit the shares are a few descriptors only. These keep the lower numbers in
    // use.
    let held = try (0..<100).map { _ in try FarEnd.pair() }
    defer { for pair in held { pair.near.close() } }
    // The connection's descriptor is above the callers' share and below the administrator's.
    let limit = { (number: Int) in number + min(128, number / 7) }
    let (lines, told, _) = try await admitted(isAdmin: true, limit: limit)
    #expect(lines.contains(#""result""#), "\(lines)")
    #expect(told == nil)
    let program = try await admitted(isAdmin: false, limit: limit)
    #expect(program.lines.contains("LimitNOFILE"))
  }

  @Test("a connection by a subordinate uid counts as a connection of the owning user")
  func subordinateUsers() async throws {
    let harness = try LockControllerHarness()
    let lockController = try await harness.begun()
    let loop = try SocketLoop()
    let count = lockController.processContext.count
    let acceptor = ConnectionAcceptor(RPCService(lockController))
    acceptor.service.dependencies.subordinates.apply(SubordinateUsers("4000:\(getuid()):1"))
    let (near, far) = try FarEnd.pair()
    #expect(try await loop.submit { acceptor.admit(near, on: loop, isAdmin: false) } == nil)
    #expect(count.count(of: 4000) == 1)
    #expect(count.count(of: getuid()) == 0)
    far.finish()
    _ = try await far.receiveAll()
    try await reached("the connection is not counted any more") { count.count(of: 4000) == 0 }
    await lockController.end()
    await loop.stop()
  }

  @Test("callers without rights share one limit of connections, and other callers are not affected")
  func unauthorized() throws {
    var config = Config()
    config.limits.unauthorizedConnections = 2
    let count = ConnectionCount(.fake(config))
    for _ in 0..<2 { try count.addUnauthorized() }
    let error = #expect(throws: UsherError.self) { try count.addUnauthorized() }
    #expect(error?.reason == .overloaded)
    #expect(error?.detail.limit == "unauthorized_connections")
    count.removeUnauthorized()
    try count.addUnauthorized()
    for _ in 0..<5 { try count.add(1000, isAdmin: false) }
  }

  @Test("a caller without rights may send no batch and no line over 4096 bytes; other callers may")
  func limits() throws {
    let limits = Limits()
    let names = PrincipalResolver(user: { _ in 1000 }, group: { _ in 50 })
    let policy = try Policy(Config(), daemonUser: 990, names: names)
    func caller(_ uid: UInt32, _ groups: [UInt32], isAdmin: Bool = false) -> Caller {
      Caller(
        PeerIdentity(
          identity: CallerIdentity(uid: uid, gid: uid, groups: groups),
          isAdmin: isAdmin, realm: "system"),
        policy: policy)
    }
    let stranger = limits.allowed(for: caller(1234, []))
    #expect(stranger.maxLineBytes == 4096 && stranger.batch == 1)
    for known in [
      caller(1234, [50]), caller(0, []), caller(990, []), caller(1234, [], isAdmin: true),
    ] {
      #expect(!known.isUnauthorized)
      #expect(limits.allowed(for: known).maxLineBytes == limits.maxLineBytes)
    }
  }

  @Test(
    "callers without rights share one part of the event loop's time, and other users have one each")
  func shares() throws {
    let names = PrincipalResolver(user: { _ in 1000 }, group: { _ in 50 })
    let policy = try Policy(Config(), daemonUser: 990, names: names)
    func party(_ uid: UInt32, _ groups: [UInt32], isAdmin: Bool = false) -> FairScheduler.Party {
      let caller = Caller(
        PeerIdentity(
          identity: CallerIdentity(uid: uid, gid: uid, groups: groups),
          isAdmin: isAdmin, realm: "system"),
        policy: policy)
      return FairScheduler.Party(caller, user: uid)
    }
    #expect(party(1234, []) == party(1235, []))
    #expect(party(1234, [50]) == .user(1234) && party(1235, [50]) == .user(1235))
    #expect(party(0, []) == .user(0) && party(0, [], isAdmin: true) == .admin)
  }

  @Test(
    "flow.start fails as overloaded when descriptors are scarce, and does not use up the rate limit"
  )
  func flow() async throws {
    let harness = try LockControllerHarness(descriptors: DescriptorBudget(limit: 0))
    let lockController = try await harness.begun()
    let engine = try lockController.services().flows.engine
    for _ in 0..<40 {
      let error = #expect(throws: UsherError.self) { _ = try engine.admit(.anna) }
      #expect(error?.reason == .overloaded && error?.isRetryable == true)
      #expect(error?.detail.limit == "LimitNOFILE")
    }
    await lockController.end()
  }

  @Test(
    "a rule about a user also applies to a connection by that user's subordinate uid",
    arguments: [[4000], [4000, 4001], [4001, 4000]])
  func subordinateRule(owners: [UInt32]) async throws {
    let harness = try LockControllerHarness()
    let lockController = try await harness.begun()
    var config = harness.dependencies.configStore.current.config
    config.clients = [
      ClientRule(
        name: "kiosk", match: ClientMatch(user: .id(4000)),
        allow: [try AccessPattern(setting: "account.list")])
    ]
    // This process is a member of access.group, or root.
    let names = PrincipalResolver(user: { _ in nil }, group: { _ in getegid() })
    harness.dependencies.configStore.replace(
      by: config, try Policy(config, daemonUser: 990, names: names))
    let loop = try SocketLoop()
    let acceptor = ConnectionAcceptor(RPCService(lockController))
    func reply() async throws -> String {
      let (near, far) = try FarEnd.pair()
      _ = far.send(Array(#"{"jsonrpc":"2.0","id":1,"method":"flow.list"}"#.utf8) + [0x0A])
      far.finish()
      _ = try await loop.submit { acceptor.admit(near, on: loop, isAdmin: false) }
      return String(decoding: try await far.receiveAll(), as: UTF8.self)
    }
    let own = try await reply()
    // The test's user database does not know the user; the rules are checked before that matters.
    #expect(!own.contains("you may not call"), "\(own)")
    let lines = owners.map { "\($0):\(getuid()):1" }.joined(separator: "\n")
    acceptor.service.dependencies.subordinates.apply(SubordinateUsers(lines))
    let subordinate = try await reply()
    #expect(subordinate.contains("you may not call flow.list"), "\(subordinate)")
    await lockController.end()
    await loop.stop()
  }
}
