import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A token that is given from memory is given on the record.
@Suite(
  "The audit of calls that are made again and again", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct WarmAuditTests {
  private let sandbox: SandboxUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 86_400])
  }

  private func daemon(_ clock: MovableClock? = nil) throws -> DaemonUnderTest {
    try DaemonUnderTest(config: OwnRule.text() + sandbox.provider(), clock: clock)
  }

  private func rows(_ daemon: DaemonUnderTest) throws -> [JSONValue] {
    try daemon.admin().call("audit.list", ["method": "token.get", "limit": 1000])["rows"]?
      .arrayValue ?? []
  }

  private func count(_ rows: [JSONValue]) -> Int64 {
    rows.reduce(0) { $0 + ($1["count"]?.integerValue ?? 0) }
  }

  /// All that a row says but when it was and how many there were.
  private func alike(_ rows: [JSONValue]) -> Set<JSONValue> {
    Set(
      rows.map { row in
        JSONValue.object(
          (row.objectValue ?? [:]).filter { !["n", "at", "count"].contains($0.key) })
      })
  }

  /// Sends so many calls on a connection at once, and awaits their answers.
  private func ask(_ clients: [RawClient], _ each: Int, id: String = "1") throws {
    let calls = Array(String(repeating: WarmCall.line(id) + "\n", count: each).utf8)
    for client in clients { try client.send(raw: calls) }
    for client in clients {
      for _ in 1...each { #expect(try client.nextLine().contains(#""result":"#)) }
    }
  }

  @Test("a thousand calls in the pipelines of three connections are a thousand in its rows")
  func thousand() throws {
    let daemon = try daemon()
    let clients = try (0..<3).map { _ in try daemon.client() }
    try clients[0].signIn()
    try ask([clients[0]], 334)
    try ask(Array(clients.dropFirst()), 333)
    #expect(try daemon.stop() == 0)
    try daemon.start()
    let rows = try rows(daemon)
    #expect(count(rows) == 1000)
    #expect(alike(rows).count == 1, "\(rows.map(\.text))")
    #expect(try daemon.usherctl(["audit", "verify"]).status == 0)
  }

  @Test("each call counts in the minute it was made in, under the rule that allowed it")
  func minutes() throws {
    let clock = MovableClock()
    let daemon = try daemon(clock)
    let clients = try (0..<3).map { _ in try daemon.client() }
    try clients[0].signIn()
    let second = Int64(Date().timeIntervalSince1970) % 60
    for (minute, each) in [(1, 100), (2, 50), (3, 7)] as [(Int64, Int)] {
      try clock.set(ahead: minute * 60 + 15 - second)
      try ask(clients, each)
    }
    let other = OwnRule.text().replacingOccurrences(of: "\"test\"", with: "\"other\"")
    try daemon.reload(other + sandbox.provider())
    try ask(clients, 20)
    try clock.set(ahead: 6 * 60)
    try clients[0].warm()
    #expect(try daemon.stop() == 0)
    try daemon.start()
    let rows = try rows(daemon)
    func counts(_ rule: JSONValue) -> [Int64] {
      rows.filter { $0["rule"] == rule }.compactMap { $0["count"]?.integerValue }
    }
    #expect(counts("test") == [1, 299, 1, 149, 1, 20], "\(rows.map(\.text))")
    #expect(counts("other").reduce(0, +) == 70)
    #expect(alike(rows).count == 2)
  }

  @Test("a row says of a call from memory what it says of any other")
  func sameRow() throws {
    let daemon = try daemon()
    let client = try daemon.client()
    try client.signIn()
    let account = try client.warm()["account"] ?? .null
    let byAccount: JSONValue = ["account": account]
    try client.warm(byAccount)
    // Differing bytes each time: nobody has called so before.
    for number in 1...10 {
      let spaces = String(repeating: " ", count: number)
      for params in [#"{\#(spaces)"provider":"demo"}"#, #"{\#(spaces)"account":\#(account.text)}"#]
      {
        _ = try client.lineAnswering(WarmCall.line("1", params))
      }
    }
    try daemon.stop()
    try daemon.start()
    let rows = try rows(daemon)
    #expect(count(rows) == 40)
    #expect(alike(rows).count == 1, "\(rows.map(\.text))")
  }

  @Test("a call from memory that is refused is a row of its own")
  func refused() throws {
    let daemon = try daemon()
    let client = try daemon.client()
    try client.signIn()
    try client.warm()
    try daemon.reload(OwnRule.text(allow: []) + sandbox.provider())
    let error = try client.error(of: "token.get", ["provider": "demo"])
    let denied = try daemon.admin().call("audit.list", ["denied": true])["rows"]?.arrayValue ?? []
    #expect(denied.map { $0["method"] } == ["token.get"])
    #expect(denied.first?["correlationId"] == error["data"]?["correlationId"])
    #expect(denied.first?["correlationId"] != nil)
  }

  @Test("what a daemon that stops has not heard is told so, and all it has heard gets its token")
  func draining() throws {
    let daemon = try DaemonUnderTest(
      config: """
        [limits]
        drain_seconds = 1
        unread_reply_bytes = 4096
        unread_reply_seconds = 30

        \(sandbox.provider())
        """)
    let (client, reader) = (try daemon.client(), try daemon.client())
    try client.signIn()
    let token = try reader.warm()
    try sandbox.control(
      "POST", "faults",
      ["endpoint": "token", "grantType": "refresh_token", "fault": ["delayMs": 4000]])
    try client.begin("clock", "token.get", ["provider": "demo", "forceRefresh": true])
    let calls = Array((1...6000).map { WarmCall.line("\($0)") + "\n" }.joined().utf8)
    var (sent, stalls) = (0, 0)
    try eventually("the daemon reads no more") {
      let count = try reader.sendWhatFits(Array(calls[sent...]))
      sent += count
      stalls = count == 0 ? stalls + 1 : 0
      return stalls == 5
    }
    kill(daemon.pid, SIGTERM)
    // What waits is told so when the time for answers is over.
    let late = try client.next()
    #expect(late["id"] == "clock" && late.replyReason == "shutting_down", "\(late.text)")
    var (given, refused) = (0, 0)
    while let reply = try reader.receive() {
      #expect(reply["id"] == .integer(Int64(given + refused + 1)))
      if let result = reply["result"] {
        #expect(result == token)
        given += 1
      } else {
        #expect(reply.replyReason == "shutting_down", "\(reply.text)")
        refused += 1
      }
    }
    let whole = calls[..<sent].count { $0 == 0x0A }
    #expect(given + refused == whole, "\(given) given, \(refused) refused, of \(whole)")
    #expect(given > 10 && refused > 0, "\(given) given, \(refused) refused, \(sent) bytes")
    #expect(try daemon.stop() == 0)
  }
}
