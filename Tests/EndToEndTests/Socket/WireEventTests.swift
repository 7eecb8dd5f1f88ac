import JSONRPC
import Testing
import UsherTestKit

@Suite("rpc.cancel and events on the app socket", .mayBlock, .timeLimit(.minutes(10)))
struct WireEventTests {
  private let daemon: DaemonUnderTest
  private let client: RawClient
  private let other: RawClient

  init() throws {
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        event_queue = 16
        unread_reply_bytes = 4096
        unread_reply_seconds = 300
        flow_starts_per_minute = 1000

        \(SilentProvider.config)
        """)
    client = try daemon.client()
    other = try daemon.client()
  }

  @Test("a call that rpc.cancel ends gets exactly one reply, with the error cancelled")
  func cancel() throws {
    let flow = try client.startSilentFlow()
    for (id, spelling): (JSONValue, JSONValue) in [(7, 7.0), ("a\"b", "a\"b"), (-1, -1)] {
      try client.beginWaitingForChange(id, of: flow)
      try client.tell("rpc.cancel", ["id": spelling])
      let reply = try client.next()
      #expect(reply["id"] == id)
      #expect(reply.replyCode == -32800)
      #expect(reply.replyReason == "cancelled")
    }
    // Changes the flow: a call that still waited would now be answered.
    _ = try other.call("flow.cancel", ["flow": flow["id"] ?? .null])
    try client.begin("after", "system.status")
    #expect(try client.next()["id"] == "after")
  }

  @Test(
    "rpc.cancel ignores an id that is not in flight on its own connection, and is answered as a call"
  )
  func cancelNothing() throws {
    for id: JSONValue in [99, "none", .null, 1.5] { try client.tell("rpc.cancel", ["id": id]) }
    let flow = try client.startSilentFlow()
    try client.beginWaitingForChange("1", of: flow)
    // The number 1 is not the string "1".
    try client.tell("rpc.cancel", ["id": 1])
    try client.begin("call", "rpc.cancel", ["id": 99])
    #expect(try client.next() == ["jsonrpc": "2.0", "id": "call", "result": [:]])
    // A connection cannot cancel a call of another connection.
    try other.beginWaitingForChange("theirs", of: flow)
    try other.begin("heard", "system.status")
    #expect(try other.next()["id"] == "heard")
    try client.tell("rpc.cancel", ["id": "theirs"])
    try client.begin("after", "system.status")
    #expect(try client.next()["id"] == "after")
    // Both calls still wait, until the end of the flow answers them.
    _ = try daemon.client().call("flow.cancel", ["flow": flow["id"] ?? .null])
    for (waiting, id): (RawClient, JSONValue) in [(client, "1"), (other, "theirs")] {
      let reply = try waiting.next()
      #expect(reply["id"] == id && reply["result"]?["flow"] != nil, "\(reply.text)")
    }
  }

  @Test("a subscriber gets flow events in order and without URLs, until it unsubscribes")
  func subscribe() throws {
    let subscription = try client.call("events.subscribe", ["topics": ["flow"]])
    let name = subscription["subscription"] ?? .null
    var cursor = try #require(subscription["cursor"]?.integerValue)
    let flow = try other.startSilentFlow()
    _ = try other.call("flow.cancel", ["flow": flow["id"] ?? .null])
    var told: [JSONValue] = []
    while told.last?["what"] != "finished" {
      let message = try client.next()
      #expect(message["id"] == nil && message["method"] == "events.notify")
      #expect(message["params"]?["subscription"] == name)
      let next = try #require(message["params"]?["cursor"]?.integerValue)
      #expect(next > cursor)
      cursor = next
      let event = try #require(message["params"]?["event"])
      #expect(event["flow"] == flow["id"] && event["topic"] == "flow")
      #expect(!event.text.contains("http"))
      told.append(event)
    }
    #expect(told.first?["what"] == "started")
    #expect(told.last?["status"] == "cancelled")
    #expect(try client.call("events.unsubscribe", ["subscription": name]) == [:])
    _ = try other.startSilentFlow()
    try client.begin("after", "system.status")
    #expect(try client.next()["id"] == "after")
    #expect(try client.reason(of: "events.unsubscribe", ["subscription": name]) == "not_found")
  }

  @Test("a subscriber gets no events of other topics, and events.subscribe refuses unknown topics")
  func topics() throws {
    _ = try client.call("events.subscribe", ["topics": ["account", "token"]])
    _ = try other.startSilentFlow()
    try client.begin("after", "system.status")
    #expect(try client.next()["id"] == "after")
    let error = try client.error(of: "events.subscribe", ["topics": ["weather"]])
    #expect(error["data"]?["reason"] == "invalid_params")
    #expect(error["data"]?["field"]?.stringValue?.hasPrefix("topics") == true)
    #expect(try client.reason(of: "events.subscribe") == "invalid_params")
  }

  @Test("events.subscribe with a cursor from before a restart gets events.lost at once")
  func sinceAnotherStart() throws {
    let before = try client.call("events.subscribe", ["topics": ["flow"]])
    try daemon.restart()
    let back = try daemon.client()
    try back.begin(
      1, "events.subscribe", ["topics": ["flow"], "since": before["cursor"] ?? .null])
    let reply = try back.next()
    let lost = try back.next()
    #expect(lost["method"] == "events.lost")
    #expect(lost["params"]?["subscription"] == reply["result"]?["subscription"])
    #expect(lost["params"]?["cursor"] == reply["result"]?["cursor"])
  }

  @Test(
    "a subscriber that shut down its sending side still gets events, and is disconnected when it closes"
  )
  func halfClosedSubscriber() throws {
    var listener: RawClient? = try daemon.client()
    _ = try listener?.call("events.subscribe", ["topics": ["flow"]])
    listener?.finishSending()
    let flow = try other.startSilentFlow()
    #expect(try listener?.next()["params"]?["event"]?["flow"] == flow["id"])
    let count = { try other.call("system.status")["connections"]?.integerValue ?? 0 }
    let before = try count()
    listener = nil
    try eventually("the subscriber's connection is closed") { try count() < before }
  }

  @Test("a connection can have 16 subscriptions, which no other connection can end or use up")
  func manySubscriptions() throws {
    let own = try (1...16).map { _ in
      try client.call("events.subscribe", ["topics": ["flow"]])["subscription"] ?? .null
    }
    let error = try client.error(of: "events.subscribe", ["topics": ["flow"]])
    #expect(error["data"]?["reason"] == "overloaded")
    #expect(error["data"]?["limit"] == "subscriptions")
    let theirs = try other.call("events.subscribe", ["topics": ["flow"]])["subscription"] ?? .null
    let last = try #require(own.last { $0 != theirs })
    #expect(try other.reason(of: "events.unsubscribe", ["subscription": last]) == "not_found")
    #expect(try other.call("events.unsubscribe", ["subscription": theirs]) == [:])
    #expect(try client.call("events.unsubscribe", ["subscription": last]) == [:])
  }
}
