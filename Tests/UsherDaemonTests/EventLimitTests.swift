import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit
import UsherTransport

@testable import UsherDaemon

@Suite("Limits of events", .timeLimit(.minutes(10)))
struct EventLimitTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private static func subscription(since: Int64? = nil) -> String {
    let since = since.map { #","since":\#($0)"# } ?? ""
    return CallLine.line("events.subscribe", #"{"topics":["token"]\#(since)}"#)
  }

  private func answer(_ line: String, on connection: HarnessConnection) async throws -> JSONValue {
    try CallLine.parse(try await connection.answer(line))
  }

  private func publish(_ count: Int) {
    for _ in 0..<count {
      harness.service.events.publish(
        Event(topic: .token, what: "refreshed", at: harness.clock.now()), owner: .anna)
    }
  }

  private func cursor() async throws -> Int64 {
    let reply = try await answer(Self.subscription(), on: harness.connect())
    return try #require(reply["result"]?["cursor"]?.integerValue, "\(reply)")
  }

  @Test("a user may have 64 event subscriptions on all connections, and an ended one makes room")
  func subscriptions() async throws {
    var connections: [HarnessConnection] = []
    for _ in 0..<5 { connections.append(try await harness.connect()) }
    var names: [String] = []
    for connection in connections.prefix(4) {
      for _ in 0..<16 {
        let reply = try await answer(Self.subscription(), on: connection)
        names.append(try #require(reply["result"]?["subscription"]?.stringValue, "\(reply)"))
      }
    }
    func refusal() async throws -> JSONValue? {
      try await answer(Self.subscription(), on: connections[4])["error"]?["data"]
    }
    #expect(try await refusal()?["reason"] == "overloaded")
    #expect(try await refusal()?["limit"] == "subscriptions_per_user")
    let other = try await harness.connect(as: 2000)
    #expect(try await answer(Self.subscription(), on: other)["result"] != nil)
    let end = CallLine.line("events.unsubscribe", #"{"subscription":"\#(names[0])"}"#)
    #expect(try await answer(end, on: connections[0])["result"] != nil)
    #expect(try await refusal() == nil)
    #expect(try await refusal() != nil)
    try await connections[1].close()
    for _ in 0..<15 { #expect(try await refusal() == nil) }
    await harness.end()
  }

  @Test(
    "past events of a subscription are sent in short slices between other work of the event loop")
  func slices() async throws {
    let since = try await cursor()
    publish(200)
    // Slices are short, because two users share the event loop.
    let other = try await harness.connect(as: 2000)
    let connection = try await harness.connect()
    let early = Mutex(0)
    let line = Array("\(Self.subscription(since: since))\n".utf8)
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      connection.handler.loop.execute {
        line.withUnsafeBytes { connection.handler.value.received($0) }
        // Queued behind the work that the subscription gave the event loop.
        connection.handler.loop.execute {
          early.withLock { $0 = connection.linesSoFar }
          continuation.resume()
        }
      }
    }
    #expect(early.withLock { $0 } < 100)
    _ = try await connection.line()
    var cursors: [Int64] = []
    for _ in 0..<200 {
      let event = try JSONValue(parsing: try await connection.line())
      cursors.append(try #require(event["params"]?["cursor"]?.integerValue, "\(event)"))
    }
    #expect(cursors == cursors.sorted() && Set(cursors).count == 200)
    try await other.close()
    await harness.end()
  }

  @Test("past events beyond event_queue are lost, and a new subscription since the last gets them")
  func replay() async throws {
    let since = try await cursor()
    publish(300)
    let connection = try await harness.connect()
    let subscribed = try await answer(Self.subscription(since: since), on: connection)
    var last: Int64 = 0
    for _ in 0..<256 {
      let event = try JSONValue(parsing: try await connection.line())
      #expect(event["method"] == "events.notify")
      last = try #require(event["params"]?["cursor"]?.integerValue, "\(event)")
    }
    let lost = try JSONValue(parsing: try await connection.line())
    #expect(lost["method"] == "events.lost")
    #expect(lost["params"]?["cursor"]?.integerValue == last)
    // The subscription has ended.
    let name = try #require(subscribed["result"]?["subscription"]?.stringValue)
    let end = CallLine.line("events.unsubscribe", #"{"subscription":"\#(name)"}"#)
    #expect(try await answer(end, on: connection)["error"]?["data"]?["reason"] == "not_found")
    _ = try await answer(Self.subscription(since: last), on: connection)
    for _ in 0..<44 {
      #expect(try JSONValue(parsing: try await connection.line())["method"] == "events.notify")
    }
    await harness.end()
  }

  @Test("events for a caller that does not read count as held bytes and are sent later")
  func held() async throws {
    try harness.reload { $0.limits.unreadReplyBytes = 8192 }
    let connection = try await harness.connect()
    _ = try await answer(Self.subscription(), on: connection)
    // The first reply takes longer than the others.
    #expect(try await connection.answer(CallLine.line("rpc.discover")).contains("openrpc"))
    let discover = CallLine.line("rpc.discover", "{}") + "\n"
    let count = 20
    try await connection.send(Array(String(repeating: discover, count: count).utf8))
    let held = { @Sendable in
      try await connection.handler.loop.submit { [handler = connection.handler] in
        (handler.value.heldBytes, handler.value.transport.hasRoom)
      }
    }
    let before = try await held()
    #expect(!before.1)
    publish(100)
    let after = try await held()
    #expect(after.0 >= before.0 + 100 * 100)
    var events = 0
    for _ in 0..<(count + 100) where try await !connection.line().contains("openrpc") {
      events += 1
    }
    #expect(events == 100)
    // No backlog is left.
    publish(1)
    #expect(try await connection.line().contains("events.notify"))
    await harness.end()
  }
}
