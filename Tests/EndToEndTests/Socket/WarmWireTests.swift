import JSONRPC
import Testing
import UsherTestKit

/// What is answered from memory is answered with the same bytes as what is not.
@Suite(
  "The words of a call that is made again and again", .mayBlock,
  .timeLimit(.minutes(10)))
struct WarmWireTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider() + SilentProvider.config)
    client = try daemon.client()
    try client.signIn()
    try client.warm()
  }

  /// The lines that answer one line, and no more: a call that is sent behind them is answered next.
  private func answers(to line: String, on client: RawClient) throws -> [String] {
    try client.send(line)
    let answers = try (0..<Scanner().scan(Array(line.utf8)).replyCount).map { _ in
      try client.nextLine().replacing(/"correlationId":"cor_[^"]*"/, with: "")
    }
    let end = try client.lineAnswering(#"{"jsonrpc":"2.0","id":"end","method":"system.status"}"#)
    #expect(end.contains(#""id":"end""#), "one answer more to \(line)")
    return answers
  }

  private static let ids = [
    "1", "0", "-0", "-7", "1.0", "1.50", "1e2", "1E+2", "-2.5E-7", "9007199254740993",
    "18446744073709551616", "123456789012345678901234567890", "null", #""""#, #""x""#,
    #""a\u0041""#, #""a\u0062\"\\\/\n""#, #""\ud83d\ude00""#, "\"é😀\"", "\"e\u{301}\"",
    #""\u0000\u007f""#, "\"\u{7F}\"", #"",\"result\":{}""#,
    "\"\(String(repeating: "long", count: 63))\"",
  ]

  @Test("every id comes back as it was written, with the same bytes around it on either way")
  func ids() throws {
    for (number, id) in Self.ids.enumerated() {
      let warm = try client.bytesAnswering(WarmCall.line(id))
      let prefix = #"{"jsonrpc":"2.0","id":\#(id),"result":{"#
      #expect(warm.starts(with: prefix.utf8) && warm.suffix(2) == Array("}}".utf8), "\(id)")
      // Nobody has called with so many spaces before.
      let spaces = String(repeating: " ", count: number + 1)
      for params in [
        "{\(spaces)\"provider\":\"demo\"}",
        #"{"provider":"demo","forceRefresh":false,"scope":null}\#(spaces)"#,
      ] {
        #expect(try client.bytesAnswering(WarmCall.line(id, params)) == warm, "\(id)")
      }
      #expect(try daemon.client().bytesAnswering(WarmCall.line(id)) == warm, "\(id)")
    }
  }

  @Test("without an id there is no answer, however often; null is an id")
  func notifications() throws {
    let silent = #"{"jsonrpc":"2.0","method":"token.get","params":{"provider":"demo"}}"#
    for _ in 1...20 { #expect(try answers(to: silent, on: client) == []) }
    #expect(try answers(to: WarmCall.line("null"), on: client).count == 1)
    #expect(try answers(to: "[\(silent),\(silent)]", on: client) == [])
  }

  @Test("one id may be used again as soon as it is answered, and not while it waits")
  func twice() throws {
    let one = WarmCall.line("7")
    try client.send("\(one)\n\(one)\n\(one)")
    let replies = try (1...3).map { _ in try client.nextLine() }
    #expect(Set(replies).count == 1 && replies[0].contains(#""result""#))
    let flow = try client.startSilentFlow()
    try client.beginWaiting(7, for: flow)
    try client.beginWaiting("ab", for: flow)
    for id in ["7", #""ab""#, #""a\u0062""#] {
      let refused = try client.answer(to: WarmCall.line(id))
      #expect(refused.replyCode == -32600 && refused["id"] == .null, "\(id): \(refused.text)")
      try client.send("[\(WarmCall.line(id)),\(WarmCall.line("8"))]")
      let both = try client.next().arrayValue
      #expect(both?.first.map { $0["id"] == .null && $0.replyCode == -32600 } == true)
      #expect(both?.last?["result"] != nil)
    }
    #expect(try client.lineAnswering(WarmCall.line("7.0")).contains(#""result""#))
    for id: JSONValue in [7, "ab"] {
      try client.tell("rpc.cancel", ["id": id])
      #expect(try client.next().replyReason == "cancelled")
    }
    #expect(try client.lineAnswering(one) == replies[0])
  }

  @Test("in a batch it is answered as alone, in its place")
  func batch() throws {
    let alone = try client.lineAnswering(WarmCall.line("1"))
    let three = (1...3).map { WarmCall.line("\($0)") }
    let expected = (1...3).map { alone.replacing(#""id":1,"#, with: "\"id\":\($0),") }
    for _ in 1...10 {
      let batch = try client.lineAnswering("[\(three.joined(separator: ","))]")
      #expect(batch == "[\(expected.joined(separator: ","))]")
    }
    let mixed = "[\(three[0]),1,\(WarmCall.line("2", #"{"provider":"none"}"#)),\(three[2])]"
    let replies = try #require(try client.answer(to: mixed).arrayValue)
    #expect(replies.map { $0["id"] } == [1, .null, 2, 3])
    #expect(replies.map(\.replyReason) == [nil, "invalid_request", "not_found", nil])
    #expect(try client.lineAnswering(three[0]) == alone)
  }

  /// Lines that are nearly the call; each is answered as on a connection that remembers no answer.
  private static let neighbours: [String] = {
    let call = WarmCall.line("1")
    let params = #"{"provider":"demo"}"#
    let members = [
      #""jsonrpc":"2.0""#, #""id":1"#, #""method":"token.get""#, "\"params\":\(params)",
    ]
    func object(_ members: [String]) -> String { "{\(members.joined(separator: ","))}" }
    func changed(_ old: String, _ new: String) -> String { call.replacing(old, with: new) }
    func with(_ more: String) -> String { changed("\"demo\"", "\"demo\",\(more)") }
    let orders = members.indices.map { start in
      object((0..<4).map { members[(start + $0) % 4] })
    }
    let missing = members.indices.map { gap in
      object(members.enumerated().filter { $0.offset != gap }.map(\.element))
    }
    let twice = members.map { object(members + [$0]) }
    let damaged = [
      "\u{FEFF}\(call)", "\(call),", "\(call)}", "\(call)\(call)", String(call.dropLast()),
      changed("}}", "},}"), changed(":1,", ":01,"), changed(":1,", ":+1,"), changed(":1,", ":1.,"),
      changed(":1,", ":0x1,"), changed(":1,", ":NaN,"), changed(":1,", ":'1',"),
      changed("\"demo\"", "\"de\u{1}mo\""), changed("demo", #"dem\x6f"#),
      changed("demo", #"\ud800"#),
      changed("}}", "/**/}}"), "[\(call)", "\(call)]", "\(call) // ",
    ]
    let refused = [
      changed("2.0", "1.0"), changed("2.0", "2.00"), changed(":1,", ":{},"),
      changed(":1,", ":[1],"),
      changed(":1,", ":true,"), changed("\"token.get\"", "7"), changed(params, "[\"demo\"]"),
      changed(params, "null"), changed(params, "\"demo\""), changed("token.get", "token.gets"),
      changed("token.get", "Token.get"), changed("token.get", "token.get "),
      changed("token.get", "token.list"), changed("token.get", "token.get\\u0000"), "[[\(call)]]",
      changed("\"demo\"", "1"), changed("\"demo\"", "null"), changed("provider", "Provider"),
      changed("demo", "demo "), changed("demo", "dem"), changed("demo", "demó"),
      changed("{\"provider\"", "{\"provider\":\"demo\",\"provider\""),
      with(#""colour":1"#), with(#""audience":"x""#),
      with(#""minValidSeconds":60.5"#),
      with(#""minValidSeconds":-1"#),
      with(#""minValidSeconds":1e9"#),
      with(#""forceRefresh":0"#),
      with(#""account":"acc_none""#),
    ]
    let good = [
      changed("demo", #"d\u0065mo"#), changed("provider", #"p\u0072ovider"#),
      changed("token.get", #"token\u002eget"#), changed("method", #"m\u0065thod"#),
      changed("params", #"p\u0061rams"#), changed("2.0", #"2\u002e0"#),
      changed("\"id\"", #""i\u0064""#),
      " \t\(call) \r", call + "\r", changed(":", " : "), changed(",", " ,\t"),
      object(members + [#""trace":{"a":[1,2,{"b":null}]}"#]), object([#""x":1e999"#] + members),
      with(#""minValidSeconds":60.0"#), "[\(call)]", "[\(call),\(call)]",
      with(#""minValidSeconds":null"#),
    ]
    return [call] + orders + missing + twice + damaged + refused + good
  }()

  @Test("what is nearly the call is answered as on a connection that remembers no answer")
  func neighbours() throws {
    for line in Self.neighbours {
      let other = try daemon.client()
      // A peer whose first line is not JSON is not listened to (FirstLineTests).
      _ = try other.call("system.status")
      let cold = try answers(to: line, on: other)
      for _ in 1...3 {
        #expect(try answers(to: line, on: client) == cold, "\(line.debugDescription)")
        try client.warm()
      }
    }
  }

  @Test("what waits does not keep it waiting, and what may wait is counted without it")
  func limits() throws {
    try daemon.reload(
      "[limits]\ncalls_in_flight = 2\ncalls_in_flight_per_user = 2\n" + sandbox.provider()
        + SilentProvider.config)
    let client = try daemon.client()
    let token = try client.warm()
    let flow = try client.startSilentFlow()
    for id: JSONValue in ["a", "b"] { try client.beginWaiting(id, for: flow) }
    try client.beginWaiting("c", for: flow)
    #expect(try client.next().replyLimit == "calls_in_flight")
    let calls = (1...1000).map { WarmCall.line("\($0)") }
    try client.send(calls.joined(separator: "\n"))
    for id: Int64 in 1...1000 {
      let reply = try client.next()
      #expect(reply["id"] == .integer(id) && reply["result"] == token)
    }
    try client.beginWaiting("d", for: flow)
    #expect(try client.next().replyLimit == "calls_in_flight")
  }

  @Test("who reads only when nothing more can be sent gets each answer once, whole and in order")
  func slowReader() throws {
    let token = try client.warm()
    let long = try client.lineAnswering(Self.discover("1"))
    var calls: [UInt8] = []
    let count = 6000
    for number in 1...count {
      let call = number % 97 == 0 ? Self.discover("\(number)") : WarmCall.line("\(number)")
      calls += number % 11 == 0 ? Array("[\(call)]\n".utf8) : Array("\(call)\n".utf8)
    }
    var (sent, read) = (0, 0)
    while read < count {
      let most = calls[sent...].prefix(1 + (sent * 7919) % 40_000)
      let taken = try client.sendWhatFits(Array(most))
      sent += taken
      guard taken == 0 else { continue }
      for _ in 0..<min(1 + (read * 31) % 400, count - read) {
        read += 1
        let line = try client.receiveLine(within: 20)
        let whole = try JSONValue(parsing: try #require(line))
        let reply = try #require(read % 11 == 0 ? whole[0] : whole)
        try #require(reply["id"] == .integer(Int64(read)))
        let isLong = read % 97 == 0
        #expect(isLong ? reply.text.utf8.count + 10 > long.utf8.count : reply["result"] == token)
      }
    }
    #expect(try client.warm() == token)
  }

  private static func discover(_ id: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"rpc.discover"}"#
  }

  @Test("many different calls on one connection are each answered with their own token")
  func several() throws {
    let others = ["second", "third"]
    try daemon.reload(sandbox.provider() + others.map { sandbox.provider($0) }.joined())
    for name in others { try client.signIn(name) }
    var expected: [JSONValue: JSONValue] = [:]
    for name: JSONValue in ["demo", "second", "third"] {
      for seconds: JSONValue in [.null, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        let params: JSONValue = ["provider": name, "minValidSeconds": seconds]
        expected[params] = try client.call("token.get", ["provider": name])
      }
    }
    #expect(Set(expected.values).count == 3)
    for _ in 1...5 {
      for (params, token) in expected {
        #expect(try client.call("token.get", params) == token, "\(params.text)")
      }
    }
  }
}
