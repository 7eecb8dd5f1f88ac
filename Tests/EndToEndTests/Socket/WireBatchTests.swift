import JSONRPC
import Testing
import UsherTestKit

@Suite("Batches on the app socket", .mayBlock, .timeLimit(.minutes(10)))
struct WireBatchTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    daemon = try DaemonUnderTest(config: SilentProvider.config)
    client = try daemon.client()
  }

  private static func call(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"system.status"}"#
  }

  @Test(
    "a mixed batch gets one array with a reply for each call and bad element, but not for notifications"
  )
  func mixed() throws {
    let elements = [
      Self.call(1), #"{"jsonrpc":"2.0","method":"system.status"}"#,
      #"{"jsonrpc":"2.0","id":"two","method":"no.such"}"#, "1", "[]", #"{"foo":"bar"}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"flow.get","params":[]}"#,
    ]
    let replies = try #require(
      try client.answer(to: "[\(elements.joined(separator: ","))]").arrayValue)
    #expect(replies.map { $0["id"] } == [1, "two", .null, .null, .null, 3])
    #expect(replies.map(\.replyCode) == [nil, -32601, -32600, -32600, -32600, -32602])
    #expect(replies.first?["result"]?["ready"] == true)
  }

  @Test("a batch is answered when its slowest call ends, and does not hold up a later call")
  func slow() throws {
    let flow = try client.startSilentFlow()
    let wait: JSONValue = [
      "jsonrpc": "2.0", "id": "slow", "method": "flow.wait",
      "params": [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 60_000,
      ],
    ]
    try client.send("[\(wait.text),\(Self.call(1))]")
    try client.begin("single", "system.status")
    #expect(try client.next()["id"] == "single")
    // The end of the flow ends the wait for it.
    _ = try daemon.client().call("flow.cancel", ["flow": flow["id"] ?? .null])
    #expect(try client.next().arrayValue?.map { $0["id"] } == ["slow", 1])
  }

  @Test("rpc.cancel cancels one call of a batch, and the batch is then answered")
  func cancelled() throws {
    let flow = try client.startSilentFlow()
    let wait: JSONValue = [
      "jsonrpc": "2.0", "id": "slow", "method": "flow.wait",
      "params": ["flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": 60_000],
    ]
    try client.send("[\(wait.text),\(Self.call(1))]")
    try client.tell("rpc.cancel", ["id": "slow"])
    let replies = try client.next().arrayValue
    #expect(replies?.first?.replyCode == -32800)
    #expect(replies?.last?["result"] != nil)
  }

  @Test("a syntax error in a batch is a parse error of the whole line, and none of its calls runs")
  func halfBroken() throws {
    let start: JSONValue = [
      "jsonrpc": "2.0", "id": 1, "method": "flow.start", "params": SilentProvider.start,
    ]
    // The daemon closes a connection whose first line is not JSON (FirstLineTests).
    _ = try client.call("system.status")
    let reply = try client.answer(to: "[\(start.text),{]")
    #expect(reply.replyCode == -32700)
    #expect(try client.call("flow.list")["flows"] == [])
  }
}
