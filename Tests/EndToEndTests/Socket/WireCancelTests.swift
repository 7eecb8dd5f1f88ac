import JSONRPC
import Testing
import UsherTestKit

@Suite("rpc.cancel over the real socket", .mayBlock)
struct WireCancelTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    daemon = try DaemonUnderTest(config: SilentProvider.config)
    client = try daemon.client()
  }

  @Test(
    "a call is cancelled by any spelling of its id, and its reply has the id as the call wrote it",
    arguments: [
      ("5", "5.0"), ("5.0", "5.0"), ("5.00", "5"), ("100", "1e2"), ("1E+2", "100.0"), ("-0", "0"),
      ("0", "-0"), ("-0.0e7", "0"), ("1e21", "1e+21"), ("0.5", "5e-1"), ("-25", "-2.5e1"),
      ("123456789012345678901234567890", "123456789012345678901234567890"),
      ("123456789012345678901234567890", "12345678901234567890123456789e1"),
      (#""\u0073""#, #""s""#), (#""s""#, #""\u0073""#), ("null", "null"),
      ("1e99999999999999999999", "1e99999999999999999999"),
    ])
  func spelling(id: String, cancelled: String) throws {
    let flow = try client.startSilentFlow()
    let wait: JSONValue = ["flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": 60_000]
    try client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"flow.wait","params":\#(wait.text)}"#)
    try client.send(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":\#(cancelled)}}"#)
    let line = String(decoding: try #require(try client.receiveLine()), as: UTF8.self)
    #expect(line.contains(#""id":\#(id),"#), "\(line)")
    #expect(line.contains(#""reason":"cancelled""#), "\(line)")
  }

  @Test(
    "a call is not cancelled by an id of another value",
    arguments: [
      ("5", #""5""#), (#""5""#, "5"), ("5", "50"), ("5", "-5"), ("5", "5.000000000000000000001"),
      ("9007199254740993", "9007199254740992"), ("1e2", "1e3"), ("0", "null"), ("0", #""""#),
    ])
  func otherValue(id: String, cancelled: String) throws {
    let flow = try client.startSilentFlow()
    let wait: JSONValue = ["flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": 60_000]
    try client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"flow.wait","params":\#(wait.text)}"#)
    try client.send(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":\#(cancelled)}}"#)
    #expect(try client.call("system.status")["ready"] == true)
    try client.send(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":\#(id)}}"#)
    #expect(try client.next().replyReason == "cancelled")
  }
}
