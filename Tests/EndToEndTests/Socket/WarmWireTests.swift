import JSONRPC
import Testing
import UsherTestKit

/// Cached replies follow the same rules for ids, limits and order as other replies.
@Suite(
  "Cached replies of repeated calls", .mayBlock,
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

  @Test(
    "a repeated call can reuse an id once it is answered, but not while a call with that id waits")
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

  @Test(
    "a cached token.get is answered while calls_in_flight is exhausted, and does not count towards it"
  )
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

  @Test(
    "a client that reads only when it cannot send more gets each reply once, complete and in order")
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
        let line = try client.receiveLine()
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
}
