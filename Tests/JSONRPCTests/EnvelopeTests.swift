import JSONRPC
import Testing

struct EnvelopeTests {
  private let scanner = Scanner()

  @Test("the scanner finds the id, the method and the params of a request")
  func request() throws {
    let line = #" {"id": "a-1" , "params": {"x": [1]}, "method":"flow.start","jsonrpc":"2.0"} "#
    try within(line) { line in
      let call = try #require(scanner.scan(line).call)
      #expect(call.kind == .request)
      #expect(call.idBytes(in: line).map(Array.init)?.text == #""a-1""#)
      #expect(call.id(in: line) == RequestID("a-1"))
      #expect(call.method(in: line) == "flow.start")
      #expect(call.paramsBytes(in: line).map(Array.init)?.text == #"{"x": [1]}"#)
    }
  }

  @Test(
    "a request id of any legal type is echoed byte by byte",
    arguments: [
      "1", "-1", "0", "1.5", "-0.0", "1e400", "9007199254740993", "123456789012345678901234567890",
      "null", #""""#, #""x""#, #""\u0061\/""#, #""é""#, #""\ud83d\ude39""#,
    ])
  func ids(id: String) throws {
    let line = #"{"jsonrpc":"2.0","method":"m","id":"# + id + "}"
    try within(line) { line in
      let call = try #require(scanner.scan(line).call)
      #expect(call.kind == .request)
      #expect(call.idBytes(in: line).map(Array.init)?.text == id)
      #expect(call.id(in: line)?.raw.text == id)
    }
  }

  @Test("a request id of 256 bytes is echoed; a longer one is refused and answered with id null")
  func longIDs() throws {
    let texts = { (bytes: Int) in
      [
        "\"\(String(repeating: "x", count: bytes - 2))\"",
        "1\(String(repeating: "0", count: bytes - 1))",
      ]
    }
    for id in texts(256) {
      let line = #"{"jsonrpc":"2.0","method":"m","id":\#(id)}"#
      let call = try #require(scanner.scan(line).call)
      within(line) { #expect(call.idBytes(in: $0).map(Array.init)?.text == id) }
    }
    // The same holds if the call has another problem, such as a wrong version.
    for (id, version) in (texts(257) + texts(1_000_000)).flatMap({ [($0, "2.0"), ($0, "1.0")] }) {
      let line = #"{"jsonrpc":"\#(version)","method":"m","id":\#(id)}"#
      let refusal = try #require(scanner.scan(line).refusal)
      #expect(refusal.code == -32600)
      within(line) { #expect(Array(refusal.idBytes(in: $0)).text == "null") }
    }
  }

  @Test("a JSON-RPC call without an id is a notification")
  func notification() throws {
    let line = #"{"jsonrpc":"2.0","method":"rpc.cancel","params":[]}"#
    try within(line) { line in
      let call = try #require(scanner.scan(line).call)
      #expect(call.kind == .notification)
      #expect(call.idBytes(in: line) == nil)
      #expect(call.id(in: line) == nil)
      #expect(call.paramsBytes(in: line).map(Array.init)?.text == "[]")
    }
  }

  @Test("escaped member names, version and method of a call are equal to plain ones")
  func escaped() throws {
    let line = #"{"\u006asonrpc":"\u0032.0","m\u0065thod":"flow\u002estart","\u0069d":7}"#
    try within(line) { line in
      let call = try #require(scanner.scan(line).call)
      #expect(call.method(in: line) == "flow.start")
      #expect(call.id(in: line) == RequestID(7))
    }
    let twice = #"{"jsonrpc":"2.0","method":"m","m\u0065thod":"n"}"#
    #expect(scanner.scan(twice).syntaxProblem == .duplicateMember)
  }

  @Test("the params of a call are absent, an object or an array")
  func params() throws {
    func params(_ text: String) throws -> Envelope.Params {
      try #require(scanner.scan(#"{"jsonrpc":"2.0","method":"m"\#(text)}"#).call).params
    }
    #expect(try params("") == .none)
    #expect(try params(#","params":{}"#) == .object(39..<41))
    #expect(try params(#","params":[ ]"#) == .array(39..<42))
  }

  @Test("unknown members of a call are ignored")
  func unknownMembers() {
    let line = #"{"jsonrpc":"2.0","method":"m","trace":{"a":[]},"Method":1,"result":2}"#
    #expect(scanner.scan(line).call != nil)
  }

  @Test(
    "an invalid request is refused with its id, or with null if the id is unreadable",
    arguments: [
      (#"{}"#, .version, "null", 0),
      (#"{"method":"m","id":1}"#, .version, "1", 0),
      (#"{"jsonrpc":"1.0","method":"m","id":1}"#, .version, "1", 11),
      (#"{"jsonrpc":2.0,"method":"m","id":1}"#, .version, "1", 11),
      (#"{"jsonrpc":"2.0 ","method":"m","id":"x"}"#, .version, #""x""#, 11),
      (#"{"jsonrpc":null,"method":"m"}"#, .version, "null", 11),
      (#"{"jsonrpc":"2.0","id":5}"#, .noMethod, "5", 0),
      (#"{"jsonrpc":"2.0","id":5,"result":1}"#, .noMethod, "5", 0),
      (#"{"jsonrpc":"2.0","method":null,"id":5}"#, .methodNotAString, "5", 26),
      (#"{"jsonrpc":"2.0","method":["m"],"id":5}"#, .methodNotAString, "5", 26),
      (#"{"jsonrpc":"2.0","method":"m","params":"bar","id":5}"#, .paramsNotStructured, "5", 39),
      (#"{"jsonrpc":"2.0","method":"m","params":null,"id":5}"#, .paramsNotStructured, "5", 39),
      (#"{"jsonrpc":"2.0","method":"m","params":1}"#, .paramsNotStructured, "null", 39),
      (#"{"jsonrpc":"2.0","method":"m","id":true}"#, .idOfWrongType, "null", 35),
      (#"{"jsonrpc":"2.0","method":"m","id":false}"#, .idOfWrongType, "null", 35),
      (#"{"jsonrpc":"2.0","method":"m","id":{}}"#, .idOfWrongType, "null", 35),
      (#"{"jsonrpc":"2.0","method":"m","id":[1]}"#, .idOfWrongType, "null", 35),
      (#"{"jsonrpc":"2.0","method":1,"id":[1]}"#, .methodNotAString, "null", 26),
      ("1", .notAMessage, "null", 0), (" \"x\"", .notAMessage, "null", 1),
      ("null", .notAMessage, "null", 0), ("[ ]", .emptyBatch, "null", 0),
    ] as [(String, Refusal.Reason, String, Int)])
  func invalidRequests(line: String, reason: Refusal.Reason, id: String, offset: Int) throws {
    try within(line) { line in
      let refusal = try #require(scanner.scan(line).refusal)
      #expect(refusal.reason == reason)
      #expect(refusal.code == -32600)
      #expect(refusal.offset == offset)
      #expect(Array(refusal.idBytes(in: line)).text == id)
      #expect(refusal.id(in: line).raw.text == id)
      #expect(refusal.message.hasSuffix(" at byte \(offset)"))
    }
  }

  @Test("a JSON syntax error is refused with id null, even after a readable id")
  func parseErrorID() throws {
    try within(#"{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}"#) { line in
      let refusal = try #require(scanner.scan(line).refusal)
      #expect(refusal.code == -32700)
      #expect(Array(refusal.idBytes(in: line)).text == "null")
      #expect(refusal.id(in: line) == .null)
    }
  }

  @Test("an invalid element of a batch does not affect the other elements")
  func batchElements() {
    let good = #"{"jsonrpc":"2.0","method":"m","id":1}"#
    let line = #"[\#(good), 7, [], {"jsonrpc":"2.0","id":"x"}, \#(good)]"#
    within(line) { line in
      guard case .batch(let elements) = scanner.scan(line) else {
        Issue.record("the line is not read as a batch")
        return
      }
      let reasons: [Refusal.Reason?] = elements.map { element in
        if case .refused(let refusal) = element { refusal.reason } else { nil }
      }
      #expect(reasons == [nil, .notAMessage, .notAMessage, .noMethod, nil])
      guard case .refused(let third) = elements[3] else { return }
      #expect(third.id(in: line) == RequestID("x"))
    }
  }

  @Test("a batch over the limit gets one error that names the limit")
  func batchLimit() {
    func batch(_ count: Int) -> String {
      "["
        + Array(repeating: #"{"jsonrpc":"2.0","method":"m"}"#, count: count)
        .joined(separator: ",") + "]"
    }
    guard case .batch(let elements) = scanner.scan(batch(64)) else {
      Issue.record("a batch of 64 calls is refused")
      return
    }
    #expect(elements.count == 64)
    let refusal = scanner.scan(batch(65)).refusal
    #expect(refusal?.reason == .batchTooLarge)
    #expect(refusal?.code == -32600)
    #expect(refusal?.limit == .batch)
    #expect(scanner.scan(batch(65) + "x").syntaxProblem == .trailingBytes)
  }

  @Test(
    "a line that begins like an HTTP request is recognised",
    arguments: [
      "GET / HTTP/1.1", "POST /rpc HTTP/1.1", "PUT /", "HEAD /", "OPTIONS *", "DELETE /x",
      "PATCH /", "CONNECT a:1", "TRACE /", "PRI * HTTP/2.0",
    ])
  func http(line: String) {
    #expect(scanner.scan(line) == .looksLikeHTTP)
  }

  @Test(
    "a line that only resembles HTTP is refused", arguments: ["GET", "get /", "GETS /", " GET /"])
  func notHTTP(line: String) {
    #expect(scanner.scan(line).syntaxProblem == .notAValue)
  }

  @Test("request ids are equal if they are equal strings or numbers of the same spelling")
  func idEquality() throws {
    func id(_ text: String) throws -> RequestID {
      let line = #"{"jsonrpc":"2.0","method":"m","id":\#(text)}"#
      return try within(line) { try #require(scanner.scan($0).call?.id(in: $0)) }
    }
    #expect(try id(#""\u0061\/""#) == RequestID("a/"))
    #expect(try id(#""\u00e9""#) == id(#""é""#))
    #expect(try Set([id(#""\u00e9""#), id(#""é""#), id(#""e""#)]).count == 2)
    #expect(try id("1") == RequestID(1))
    #expect(try id("1") != id(#""1""#))
    #expect(try id("1") != id("1.0"))
    #expect(try id("9007199254740993") != id("9007199254740992"))
    #expect(try id("null") == .null)
    #expect(try id("9007199254740993") == RequestID(9_007_199_254_740_993))
    #expect(try id(#""\n""#) == RequestID("\n"))
  }
}
