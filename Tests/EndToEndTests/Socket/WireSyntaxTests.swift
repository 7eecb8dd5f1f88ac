import JSONRPC
import Testing
import UsherTestKit

@Suite("Bad lines on the real socket", .mayBlock)
struct WireSyntaxTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    daemon = try DaemonUnderTest(config: "")
    client = try daemon.client()
    // A peer whose first line is not JSON is not listened to (FirstLineTests).
    _ = try client.call("system.status")
  }

  private func isUsable() throws -> Bool {
    try client.call("system.status")["ready"] == true
  }

  @Test(
    "after a first call, what is not JSON is a parse error with id null, and no end",
    arguments: [
      "", " ", "{", "}", "[", "nul", "tru", #"{"jsonrpc":"2.0","method""#, "{'a':1}", "{} {}",
      "{},", #"{"a":1,}"#, "[1,]", #"{"a" 1}"#, "{1:2}", "NaN", "Infinity", "-", "01", "+1", ".5",
      "1.", "1e", "0x10", #""\x""#, #""\u12g4""#, "\"unended", "/* */ {}", "// x",
      #"{"jsonrpc":"2.0","id":1,"method":"system.status"} x"#,
      #"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
      #"{"jsonrpc":"2.0","id":"\udc00","method":"system.status"}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"system.status","params":{"a":"\ud83dx"}}"#,
      #"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"system.status"}"#,
      #"{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"system.status"}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"system.status","params":{"a":1,"a":2}}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"system.status","x":{"a":[{"b":1,"b":1}]}}"#,
      "\u{FEFF}{}", "{\"a\":\"\u{0}\"}", "{\"a\":\"\t\"}",
    ])
  func notJSON(line: String) throws {
    let reply = try client.answer(to: line)
    #expect(reply.replyCode == -32700)
    #expect(reply.replyReason == "parse_error")
    #expect(reply["id"] == .null)
    #expect(reply["result"] == nil)
    #expect(try isUsable())
  }

  @Test("bytes that are not UTF-8 are a parse error wherever they stand")
  func notUTF8() throws {
    let bad: [[UInt8]] = [
      [0xFF], [0xFE], [0x80], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80],
      [0xF0, 0x80, 0x80, 0xAF], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
    ]
    let places: [(String, String)] = [
      (#"{"jsonrpc":"2.0","id":""#, #"","method":"system.status"}"#),
      (#"{"jsonrpc":"2.0","id":1,"method":"system."#, #""}"#),
      (#"{"jsonrpc":"2.0","id":1,"method":"system.status","params":{""#, #"":1}}"#),
      ("", ""),
    ]
    for bytes in bad {
      for (before, after) in places {
        try client.send(raw: Array(before.utf8) + bytes + Array(after.utf8) + [0x0A])
        let reply = try client.next()
        #expect(reply.replyCode == -32700, "\(bytes) in \(before)")
        #expect(reply["id"] == .null)
      }
    }
    #expect(try isUsable())
  }

  @Test(
    "JSON that is no call is an invalid request, with the id where it can be read",
    arguments: [
      ("1", "null"), ("\"x\"", "null"), ("null", "null"), ("true", "null"), ("{}", "null"),
      (#"{"id":1,"method":"system.status"}"#, "1"),
      (#"{"jsonrpc":"1.0","id":1,"method":"system.status"}"#, "1"),
      (#"{"jsonrpc":2.0,"id":"a","method":"system.status"}"#, "\"a\""),
      (#"{"jsonrpc":"2.0","id":1}"#, "1"),
      (#"{"jsonrpc":"2.0","id":1,"method":1}"#, "1"),
      (#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1"),
      (#"{"jsonrpc":"2.0","id":1,"method":"system.status","params":1}"#, "1"),
      (#"{"jsonrpc":"2.0","id":1,"method":"system.status","params":"x"}"#, "1"),
      (#"{"jsonrpc":"2.0","id":1,"method":"system.status","params":null}"#, "1"),
      (#"{"jsonrpc":"2.0","id":true,"method":"system.status"}"#, "null"),
      (#"{"jsonrpc":"2.0","id":{},"method":"system.status"}"#, "null"),
      (#"{"jsonrpc":"2.0","id":[1],"method":"system.status"}"#, "null"),
      (#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "1"),
    ])
  func noCall(line: String, id: String) throws {
    let reply = try client.answer(to: line)
    #expect(reply.replyCode == -32600, "\(reply.text)")
    #expect(reply.replyReason == "invalid_request")
    #expect(try reply["id"] == JSONValue(parsing: id))
    #expect(try isUsable())
  }

  @Test("nesting may be 32 deep; at 33 it is a parse error that names the limit")
  func nesting() throws {
    // The call is one, params two.
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

  @Test("numbers of any size do no harm")
  func numbers() throws {
    let digits = String(repeating: "9", count: 10_000)
    for number in [digits, "1e999", "-1e999", "1e-999", "0.\(digits)", "9223372036854775808"] {
      let line =
        #"{"jsonrpc":"2.0","id":7,"method":"flow.wait","params":"#
        + #"{"flow":"flw_x","revision":\#(number),"timeoutMs":1}}"#
      let reply = try client.answer(to: line)
      #expect(reply["id"] == 7)
      #expect(["invalid_params", "not_found"].contains(reply.replyReason), "\(reply.text)")
    }
    #expect(try isUsable())
  }

  @Test("an error repeats nothing of a line that may hold a secret")
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
