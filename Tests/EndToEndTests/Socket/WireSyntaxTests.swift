import JSONRPC
import Testing
import UsherTestKit

@Suite("Malformed lines on the app socket", .mayBlock, .timeLimit(.minutes(10)))
struct WireSyntaxTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    daemon = try DaemonUnderTest(config: "")
    client = try daemon.client()
    // The daemon closes a connection whose first line is not JSON (FirstLineTests).
    _ = try client.call("system.status")
  }

  private func isUsable() throws -> Bool {
    try client.call("system.status")["ready"] == true
  }

  @Test(
    "after a first call, a line that is not JSON gets a parse error with id null and closes nothing",
    arguments: [
      "", "{", "NaN", "\u{FEFF}{}", #"{"jsonrpc":"2.0","id":1,"method":"system.status"} x"#,
      #"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
      #"{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"system.status"}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"system.status","x":{"a":[{"b":1,"b":1}]}}"#,
    ])
  func notJSON(line: String) throws {
    let reply = try client.answer(to: line)
    #expect(reply.replyCode == -32700)
    #expect(reply.replyReason == "parse_error")
    #expect(reply["id"] == .null)
    #expect(reply["result"] == nil)
    #expect(try isUsable())
  }

  @Test(
    "JSON that is not a call gets an invalid_request error, with its id if that can be read",
    arguments: [
      ("1", "null"), ("{}", "null"), (#"{"jsonrpc":"2.0","id":1,"method":1}"#, "1"),
      (#"{"jsonrpc":2.0,"id":"a","method":"system.status"}"#, "\"a\""),
      (#"{"jsonrpc":"2.0","id":{},"method":"system.status"}"#, "null"),
    ])
  func noCall(line: String, id: String) throws {
    let reply = try client.answer(to: line)
    #expect(reply.replyCode == -32600, "\(reply.text)")
    #expect(reply.replyReason == "invalid_request")
    #expect(try reply["id"] == JSONValue(parsing: id))
    #expect(try isUsable())
  }

  @Test("a line that is not UTF-8 gets a parse error, and the connection stays usable")
  func notUTF8() throws {
    try client.send(raw: Array(#"{"jsonrpc":"2.0","id":""#.utf8) + [0xC0, 0x80, 0x0A])
    #expect(try client.next().replyReason == "parse_error")
    #expect(try isUsable())
  }

  @Test(
    "a call nested 32 levels deep is read; one of 33 levels gets a parse error that names the limit"
  )
  func nesting() throws {
    // The call is level 1, its params are level 2.
    let call = { (depth: Int) in
      let arrays = String(repeating: "[", count: depth - 2)
      let ends = String(repeating: "]", count: depth - 2)
      return
        #"{"jsonrpc":"2.0","id":1,"method":"system.status","params":{"x":\#(arrays)\#(ends)}}"#
    }
    let most = try client.answer(to: call(32))
    #expect(most.replyReason == "invalid_params")
    #expect(most.replyField == "x")
    let over = try client.answer(to: call(33))
    #expect(over.replyCode == -32700)
    #expect(over.replyLimit == "nesting")
    #expect(over["id"] == .null)
    let far = try client.answer(to: String(repeating: "[", count: 500_000))
    #expect(far.replyLimit == "nesting")
    #expect(try isUsable())
  }

  @Test("no error reply and no log line repeats a secret from a refused line")
  func nothingRepeated() throws {
    let secret = "hunter2-canary"
    let lines = [
      #"{"jsonrpc":"2.0","id":1,"method":"x","\#(secret)"#,
      #"{"jsonrpc":"2.0","id":1,"method":"flow.submit","params":{"input":"\#(secret)"}}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"flow.submit","params":{"flow":"flw_a","revision":"#
        + #""\#(secret)","input":{"type":"enterPassword","password":"\#(secret)"}}}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"flow.submit","params":{"flow":"flw_a","revision":1,"#
        + #""input":{"type":"enterPassword","password":"\#(secret)"}}}"#,
    ]
    for line in lines {
      let reply = try client.answer(to: line)
      #expect(reply["error"] != nil)
      #expect(!reply.text.contains(secret), "\(reply.text)")
    }
    try client.send(secret)
    #expect(try client.next().text.contains(secret) == false)
    #expect(try isUsable())
    #expect(!daemon.log.contains(secret))
  }
}
