import Foundation
import JSONRPC
import Testing
import UsherTestKit

private let noRoot: Comment = "NOT TESTED: only root can run programs as two users"

/// One user floods the daemon while another one works: functional tests with wide deadlines.
/// `usher-bench fairness` measures the delays.
@Suite("Floods of calls and connections", .mayBlock, .serialized)
struct FloodTests {
  private static let (flooding, working): (UInt32, UInt32) = (61_012, 61_011)

  private func daemon(_ limits: String = "") throws -> DaemonUnderTest {
    OpenFiles.allow(6000)
    let rules = [Self.flooding, Self.working].map { user in
      """
      [[client]]
      name = "user-\(user)"
      match = { user = \(user) }
      allow = ["*"]

      """
    }.joined()
    return try DaemonUnderTest(
      config: "[limits]\n\(limits)\n\n\(SilentProvider.config)\n\(rules)", logLevel: "warning")
  }

  /// Makes rounds of typical calls; each must be answered as without a flood.
  private func expectService(
    _ client: RawClient, rounds: Int = 50, at location: SourceLocation = #_sourceLocation
  ) throws {
    for _ in 0..<rounds {
      let status = try client.call("system.status")
      #expect(status["ready"] == true, sourceLocation: location)
      let accounts = try client.call("account.list")
      #expect(accounts["accounts"] == [], sourceLocation: location)
      let reason = try client.reason(of: "flow.get", ["flow": "flw_00000000000000000000000000"])
      #expect(reason == "not_found", sourceLocation: location)
    }
  }

  /// Starts a program that sends calls, flow starts among them, over `connections` connections
  /// until it is released.
  private func flood(
    _ daemon: DaemonUnderTest, calls: Int, connections: Int = 300
  ) throws -> RunningProgram {
    let program = try RunningProgram(
      BuiltProduct.path("usher-bench"),
      [
        "flooder", "--socket", daemon.socketPath, "--user", "\(Self.flooding)",
        "--connections", "\(connections)", "--depth", "0", "--calls", "\(calls)",
      ], log: daemon.place.file("flood.log"))
    try eventually("the flooding program has started: \(program.log)") {
      guard program.isRunning else {
        throw TestError("the flooding program has ended: \(program.log)")
      }
      return !program.log.isEmpty
    }
    return program
  }

  @Test(
    "100,000 calls and flow starts over 300 connections do not block another user or the admin socket",
    .ownProcess,
    .enabled(if: OtherUser.isPossible, noRoot), .timeLimit(.minutes(10)))
  func flood() throws {
    let daemon = try daemon()
    let other = try OtherUser(Self.working, groups: "\(Self.working)", at: daemon)
    let (client, admin) = (try other.client(), try daemon.admin())
    try expectService(client, rounds: 1)
    let flood = try flood(daemon, calls: 100_000)
    try expectService(client)
    #expect(try client.startSilentFlow()["status"] == "active")
    for _ in 0..<50 { #expect(try admin.call("system.status")["ready"] == true) }
    // New connections are served, too.
    try expectService(try other.client(), rounds: 1)
    let status = try daemon.admin().call("system.status")
    #expect(status["connections"]?.integerValue ?? 0 >= 256)
    // The flooding user gets its thirty flow starts, and one more every two seconds.
    #expect(status["flows"]?.integerValue ?? 0 < 160)
    #expect(flood.isRunning && daemon.isRunning)
    flood.killAtOnce()
    try eventually("the flooding program's connections are closed") {
      try admin.call("system.status")["connections"]?.integerValue ?? 0 < 10
    }
  }

  @Test(
    "a throttled user gets every reply, also to calls sent before it shut down its sending side",
    .ownProcess,
    .enabled(if: OtherUser.isPossible, noRoot), .timeLimit(.minutes(10)))
  func throttled() throws {
    // Lines of a throttled user wait longer than `line_seconds`, which must not end the connection.
    let daemon = try daemon("user_share_percent = 10\nline_seconds = 1")
    let other = try OtherUser(Self.working, groups: "\(Self.working)", at: daemon)
    let client = try other.client()
    let call = #"{"jsonrpc":"2.0","id":1,"method":"account.list"}"# + "\n"
    let asking = try (0..<4).map { _ in try daemon.client() }
    for asking in asking {
      try asking.send(raw: Array(String(repeating: call, count: 800).utf8))
      asking.finishSending()
    }
    try expectService(client, rounds: 20)
    for asking in asking {
      for _ in 0..<800 { #expect(try asking.next()["result"]?["accounts"] == []) }
      #expect(try asking.isClosed())
    }
  }

  @Test(
    "of a user's 2048 connections at once 256 are served and 64 or more get an error; others still connect",
    .ownProcess)
  func connecting() throws {
    let daemon = try daemon()
    var clients: [RawClient] = []
    for _ in 0..<2048 { clients.append(try daemon.client()) }
    var (served, told) = (0, 0)
    for client in clients {
      // Refused connections are closed by now.
      try? client.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
      // After 64 refusals within a second the daemon closes connections without an error.
      guard let reply = try client.receive() else { continue }
      if reply["result"]?["ready"] == true {
        served += 1
        continue
      }
      #expect(reply.replyReason == "overloaded")
      let limit = try #require(reply.replyLimit)
      #expect(["connections_per_user", "user_share_percent"].contains(limit))
      #expect(try client.isClosed())
      told += 1
    }
    // The connections that waited for the daemon's start may count in the same second.
    #expect((250...256).contains(served), "\(served)")
    #expect(told >= 64)
    try eventually("a further connection gets the connections_per_user error") {
      let client = try daemon.client()
      clients.append(client)
      try? client.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
      return try client.receive()?.replyLimit == "connections_per_user"
    }
    try expectService(daemon.admin(), rounds: 3)
    if OtherUser.isPossible {
      let other = try OtherUser(Self.working, groups: "\(Self.working)", at: daemon)
      try expectService(other.client(), rounds: 3)
    }
    try expectService(clients[0], rounds: 1)
  }

  @Test(
    "when all 2048 connections are in use, the admin socket still accepts its reserved eight",
    .ownProcess)
  func everyConnection() throws {
    let daemon = try daemon("connections_per_user = 4096")
    var clients: [RawClient] = []
    for _ in 0..<2040 { clients.append(try daemon.client()) }
    try eventually("the daemon has accepted all 2040 connections") {
      try clients[2000].call("system.status")["connections"] == 2040
    }
    let over = try daemon.client()
    #expect(try over.next().replyLimit == "connections")
    #expect(try over.isClosed())
    let admins = try (0..<8).map { _ in try daemon.admin() }
    for admin in admins { try expectService(admin, rounds: 1) }
    #expect(try daemon.admin().next().replyLimit == "connections")
  }

  @Test("usherd starts with ten thousand rules and applies the caller's own rule")
  func manyRules() throws {
    let strangers = (0..<9_999).map { place in
      """
      [[client]]
      name = "r\(place)"
      match = { user = \(place + 100_000) }
      allow = ["account.list"]

      """
    }
    let own = """
      [[client]]
      name = "own"
      match = { user = \(getuid()) }
      allow = ["account.list", "flow.get"]

      """
    let daemon = try DaemonUnderTest(
      config: (strangers + [own]).joined() + SilentProvider.config, logLevel: "warning")
    for _ in 0..<50 {
      let client = try daemon.client()
      try expectService(client, rounds: 1)
      #expect(try client.reason(of: "flow.start", SilentProvider.start) == "permission_denied")
    }
  }
}
