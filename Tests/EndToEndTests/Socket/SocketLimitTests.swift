import JSONRPC
import Testing
import UsherTestKit

/// Every limit of the socket that a caller can reach, configured with small numbers.
@Suite("Limits of the app socket", .mayBlock, .timeLimit(.minutes(10)), .serialized)
struct SocketLimitTests {
  private func daemon(
    _ limits: String, more: String = SilentProvider.config, clock: MovableClock? = nil
  ) throws -> DaemonUnderTest {
    try DaemonUnderTest(config: "[limits]\n\(limits)\n\n\(more)", clock: clock)
  }

  /// Returns when the daemon has read all that other connections have sent, and has fired all due
  /// timers.
  private func settle(_ witness: RawClient) throws {
    // Timers fire at the end of an event loop iteration, after calls were answered.
    for _ in 1...2 { _ = try witness.call("system.status") }
  }

  /// Expects the error of a limit: its reason, and the key of the setting that controls the limit.
  private func expect(
    _ error: JSONValue?, _ reason: String, limit: String,
    at location: SourceLocation = #_sourceLocation
  ) {
    let data = error?["data"]
    #expect(
      data?["reason"] == .string(reason), "\(String(describing: error))", sourceLocation: location)
    #expect(data?["limit"] == .string(limit), sourceLocation: location)
    #expect(data?["retryable"] != nil, sourceLocation: location)
    #expect(data?["correlationId"]?.stringValue?.isEmpty == false, sourceLocation: location)
  }

  /// Returns a `system.status` call of exactly `count` bytes.
  private func padded(to count: Int) -> [UInt8] {
    let call = Array(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#.utf8)
    return call + [UInt8](repeating: 0x20, count: count - call.count)
  }

  @Test("a line over max_line_bytes gets one error, and the next line of the connection is read")
  func lineBytes() throws {
    let daemon = try daemon("max_line_bytes = 4096")
    let client = try daemon.client()
    try client.send(raw: padded(to: 4096) + [0x0A])
    #expect(try client.next()["result"]?["ready"] == true)
    for extra in [1, 5000, 300_000] {
      try client.send(raw: padded(to: 4096 + extra))
      let reply = try client.next()
      expect(reply["error"], "message_too_large", limit: "max_line_bytes")
      #expect(reply.replyCode == -32004)
      #expect(reply["id"] == .null)
      try client.send(raw: [UInt8](repeating: 0x78, count: 10_000) + [0x0A])
      #expect(try client.call("system.status")["ready"] == true)
    }
  }

  @Test(
    "a line that is unfinished after line_seconds ends the connection, even if bytes keep coming")
  func lineSeconds() throws {
    let clock = MovableClock()
    let daemon = try daemon("line_seconds = 300", clock: clock)
    let (half, witness) = (try daemon.client(), try daemon.client())
    try half.send(raw: Array(#"{"jsonrpc":"2.0","#.utf8))
    try settle(witness)
    try clock.advance(by: 200)
    try settle(witness)
    #expect(throws: (any Error).self, "no reply before line_seconds has passed") {
      try half.receive(within: 0)
    }
    try clock.advance(by: 100)
    let reply = try half.next()
    expect(reply["error"], "deadline_exceeded", limit: "line_seconds")
    #expect(reply["id"] == .null)
    #expect(try half.isClosed())

    let trickle = try daemon.client()
    for _ in 1...3 {
      try trickle.send(raw: [0x20])
      try settle(witness)
      try clock.advance(by: 100)
    }
    expect(try trickle.next()["error"], "deadline_exceeded", limit: "line_seconds")
    #expect(try trickle.isClosed())
  }

  @Test("messages beyond the configured nesting or batch limit get an error that names the limit")
  func messageShape() throws {
    let daemon = try daemon("nesting = 4\nbatch = 2")
    let client = try daemon.client()
    let call = #"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#
    let three = try client.answer(to: "[\(call),\(call),\(call)]")
    expect(three["error"], "invalid_request", limit: "batch")
    #expect(try client.answer(to: "[\(call),\(call)]").arrayValue?.count == 2)
    let deep = try client.answer(to: "[[[[[]]]]]")
    expect(deep["error"], "parse_error", limit: "nesting")
    let fits = try client.answer(
      to: #"{"jsonrpc":"2.0","id":1,"method":"system.status","params":{"x":[[]]}}"#)
    #expect(fits.replyReason == "invalid_params")
  }

  @Test(
    "a call beyond calls_in_flight is refused as overloaded, and a cancelled call makes room again")
  func callsInFlight() throws {
    let daemon = try daemon("calls_in_flight = 2")
    let client = try daemon.client()
    let flow = try client.startSilentFlow()
    for id: JSONValue in ["a", "b"] { try client.beginWaiting(id, for: flow) }
    try client.beginWaiting("c", for: flow)
    let refused = try client.next()
    #expect(refused["id"] == "c")
    expect(refused["error"], "overloaded", limit: "calls_in_flight")
    #expect(try client.call("system.status")["ready"] == true)
    #expect(try daemon.client().call("flow.wait", waiting(flow, 1))["flow"] != nil)
    try client.tell("rpc.cancel", ["id": "a"])
    #expect(try client.next().replyReason == "cancelled")
    try eventually("another flow.wait is accepted after the cancelled one") {
      try client.reply(to: "flow.wait", waiting(flow, 1))["result"] != nil
    }
  }

  @Test(
    "calls_in_flight_per_user counts all connections of a user, and does not limit the admin socket"
  )
  func callsOfUser() throws {
    let daemon = try daemon("calls_in_flight_per_user = 3")
    let clients = try (0..<2).map { _ in try daemon.client() }
    let flow = try clients[0].startSilentFlow()
    for id: JSONValue in ["a", "b"] { try clients[0].beginWaiting(id, for: flow) }
    for id: JSONValue in ["c", "d"] { try clients[1].beginWaiting(id, for: flow) }
    let refused = try clients[1].next()
    #expect(refused["id"] == "d")
    expect(refused["error"], "overloaded", limit: "calls_in_flight_per_user")
    #expect(try daemon.admin().startSilentFlow()["status"] == "active")
    try clients[0].tell("rpc.cancel", ["id": "a"])
    #expect(try clients[0].next().replyReason == "cancelled")
    try eventually("another flow.start is accepted after the cancelled call") {
      (try? clients[1].startSilentFlow()["status"]) == "active"
    }
  }

  private func waiting(_ flow: JSONValue, _ milliseconds: Int64) -> JSONValue {
    [
      "flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": .integer(milliseconds),
    ]
  }

  @Test("a connection beyond connections_per_user gets one error line and is closed")
  func connectionsPerUser() throws {
    let daemon = try daemon("connections_per_user = 3")
    var clients: [RawClient] = []
    clients.append(try onlyClient(of: daemon))
    for _ in 0..<2 { clients.append(try used(daemon.client())) }
    let over = try daemon.client()
    let line = try over.next()
    #expect(line["id"] == .null)
    expect(line["error"], "overloaded", limit: "connections_per_user")
    #expect(try over.isClosed())
    // The limit does not apply to the admin socket.
    #expect(try daemon.admin().call("system.status")["connections"] == 4)
    clients.removeLast()
    try eventually("another connection is accepted after one was closed") {
      (try? daemon.client().reply(to: "system.status"))?["result"] != nil
    }
    #expect(try clients[0].call("system.status")["ready"] == true)
  }

  @Test("when all connections are in use, the admin socket still accepts admin_reserve connections")
  func connections() throws {
    let daemon = try daemon("connections = 16\nadmin_reserve = 2")
    var clients = [try onlyClient(of: daemon)]
    for _ in 2...14 { clients.append(try used(daemon.client())) }
    let over = try daemon.client()
    expect(try over.next()["error"], "overloaded", limit: "connections")
    #expect(try over.isClosed())
    let admins = [try used(daemon.admin()), try used(daemon.admin())]
    #expect(try admins[0].call("system.status")["connections"] == 16)
    let third = try daemon.admin()
    expect(try third.next()["error"], "overloaded", limit: "connections")
    #expect(try third.isClosed())
  }

  /// Opens a client, and waits until the connections that waited for the daemon's start are closed.
  private func onlyClient(of daemon: DaemonUnderTest) throws -> RawClient {
    let client = try daemon.client()
    try eventually("the connections that waited for the daemon's start are closed") {
      try client.call("system.status")["connections"] == 1
    }
    return client
  }

  private func used(_ client: RawClient) throws -> RawClient {
    _ = try client.call("system.status")
    return client
  }

  @Test("flow.start beyond live_flows_per_user is rate limited, also if all flows start at once")
  func liveFlows() throws {
    let daemon = try daemon("live_flows_per_user = 3")
    let client = try daemon.client()
    let first = try client.startSilentFlow()
    for id in 1...10 { try client.begin("\(id)", "flow.start", SilentProvider.start) }
    let replies = try (1...10).map { _ in try client.next() }
    #expect(replies.count { $0["result"] != nil } == 2)
    for reply in replies where reply["error"] != nil {
      expect(reply["error"], "rate_limited", limit: "live_flows_per_user")
      #expect(reply.replyCode == -32002)
    }
    #expect(try client.call("system.status")["flows"] == 3)
    _ = try client.call("flow.cancel", ["flow": first["id"] ?? .null])
    #expect(try client.startSilentFlow()["status"] == "active")
    #expect(
      try client.reason(of: "flow.start", SilentProvider.start) == "rate_limited")
  }

  @Test("a flow.start that fails leaves its place among live_flows_per_user to another flow")
  func failedStarts() throws {
    let daemon = try daemon("live_flows_per_user = 1")
    let client = try daemon.client()
    let unknown: JSONValue = ["provider": "silent", "kind": "dance", "params": [:]]
    for _ in 1...2 {
      #expect(try client.reason(of: "flow.start", unknown) == "invalid_params")
    }
    #expect(try client.startSilentFlow()["status"] == "active")
  }

  @Test(
    "flow.start beyond flow_starts_per_minute is rate limited and tells the caller how long to wait"
  )
  func flowStarts() throws {
    let clock = MovableClock()
    let daemon = try daemon(
      "flow_starts_per_minute = 3\nlive_flows_per_user = 4", clock: clock)
    // The stopped clock allows no further flow start, however long the test takes.
    clock.stop()
    let client = try daemon.client()
    for _ in 1...3 { _ = try client.startSilentFlow() }
    // The limit covers all connections of a user, and a refused start is not a live flow.
    let other = try daemon.client()
    for _ in 1...3 {
      expect(
        try other.error(of: "flow.start", SilentProvider.start), "rate_limited",
        limit: "flow_starts_per_minute")
    }
    let error = try client.error(of: "flow.start", SilentProvider.start)
    let wait = try #require(error["data"]?["retryAfterMs"]?.integerValue)
    #expect((1...20_000).contains(wait))
    #expect(error["data"]?["retryable"] == true)
    #expect(try client.call("system.status")["flows"] == 3)
  }

  @Test("a client that leaves unread_reply_bytes unread for unread_reply_seconds is disconnected")
  func unreadReplies() throws {
    let clock = MovableClock()
    let daemon = try daemon(
      "unread_reply_bytes = 4096\nunread_reply_seconds = 300", clock: clock)
    let (client, witness) = (try daemon.client(), try daemon.client())
    let long = #"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"# + "\n"
    try client.send(raw: Array(String(repeating: long, count: 100).utf8))
    for _ in 1...2 {
      try settle(witness)
      try clock.advance(by: 100)
      try settle(witness)
      #expect(!daemon.log.contains("did not read its replies"))
    }
    try eventually("the log reports the client that does not read: \(daemon.log)") {
      try clock.advance(by: 10)
      return daemon.log.contains("did not read its replies")
    }
    var replies = 0
    while try client.receiveLine() != nil { replies += 1 }
    #expect(replies < 100)
    #expect(try daemon.client().call("system.status")["ready"] == true)
  }

  @Test("flow.start, flow.submit and flow.wait refuse a waiting time below zero or over one minute")
  func waits() throws {
    let daemon = try daemon("")
    let client = try daemon.client()
    let flow = try client.startSilentFlow()["id"] ?? .null
    for milliseconds: JSONValue in [60_001, -1, 9_007_199_254_740_991] {
      var start = SilentProvider.start
      start["waitMs"] = milliseconds
      let wait: JSONValue = ["flow": flow, "revision": 1, "timeoutMs": milliseconds]
      let submit: JSONValue = [
        "flow": flow, "revision": 1, "waitMs": milliseconds,
        "input": ["type": "openURL", "redirectURL": "x"],
      ]
      for (method, params, field) in [
        ("flow.start", start, "waitMs"), ("flow.submit", submit, "waitMs"),
        ("flow.wait", wait, "timeoutMs"),
      ] {
        let error = try client.error(of: method, params)
        expect(error, "invalid_params", limit: field)
        #expect(error["data"]?["field"] == .string(field), "\(method)")
      }
    }
    #expect(try client.call("system.status")["flows"] == 1)
  }

  @Test(
    "a second forced refresh within force_refresh_seconds is rate limited and does not reach the provider"
  )
  func forcedRefresh() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try daemon("force_refresh_seconds = 60", more: sandbox.provider())
    let client = try daemon.client()
    try client.signIn()
    let forced: JSONValue = ["provider": "demo", "forceRefresh": true]
    let token = try client.call("token.get", forced)["accessToken"]
    let error = try client.error(of: "token.get", forced)
    expect(error, "rate_limited", limit: "force_refresh_seconds")
    let wait = try #require(error["data"]?["retryAfterMs"]?.integerValue)
    #expect((1...60_000).contains(wait))
    #expect(try client.call("token.get", ["provider": "demo"])["accessToken"] == token)
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 1)
  }
}
