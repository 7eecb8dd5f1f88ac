import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherCore
import UsherStore

@testable import UsherDaemon

@Suite("Event bus")
struct EventBusTests {
  private static func event(_ number: Int) -> Event {
    Event(topic: .flow, what: "moved \(number)", at: Timestamp(seconds: 0))
  }

  private func bus(published count: Int, historyLimit: Int = 100) -> EventBus {
    let bus = EventBus(historyLimit: historyLimit)
    for number in 0..<count { bus.publish(Self.event(number), owner: .anna) }
    return bus
  }

  @Test("an event listener receives the events after its registration, until it stops")
  func listening() {
    let bus = bus(published: 3)
    let told = Recorded<Int>()
    let begun = bus.listen(since: nil) { told.add($0.cursor) }
    #expect(begun.cursor == 3)
    #expect(told.all.isEmpty)
    bus.publish(Self.event(4), owner: .anna)
    bus.publish(Self.event(5), owner: nil)
    #expect(told.all == [4, 5])
    bus.stop(begun.listener)
    bus.stop(begun.listener)
    bus.publish(Self.event(6), owner: .anna)
    #expect(told.all == [4, 5])
  }

  @Test(
    "EventBus.listen(since:) returns later events; an unknown cursor gives a gap and no events",
    arguments: [
      (6, [7, 8, 9, 10], false), (7, [8, 9, 10], false), (9, [10], false), (10, [], false),
      (5, [], true), (0, [], true), (-1, [], true), (11, [], true), (.max, [], true),
      (.min, [], true),
    ] as [(Int, [Int], Bool)])
  func since(cursor: Int, expected: [Int], isGap: Bool) {
    let begun = bus(published: 10, historyLimit: 4).listen(since: cursor) { _ in }
    #expect(begun.cursor == 10)
    #expect(begun.past.map(\.cursor) == expected)
    #expect(begun.hasGap == isGap)
  }

  @Test("every event listener receives each event once, with the event's owner")
  func several() {
    let bus = EventBus(historyLimit: 1)
    let owners = Mutex<[Owner?]>([])
    for _ in 0..<3 {
      _ = bus.listen(since: nil) { entry in owners.withLock { $0.append(entry.owner) } }
    }
    bus.publish(Self.event(1), owner: .bert)
    #expect(owners.withLock { $0 } == [.bert, .bert, .bert])
  }

  @Test(
    "an event that an event listener publishes reaches all listeners after the event that caused it"
  )
  func nested() {
    let bus = EventBus(historyLimit: 10)
    let told = (0..<20).map { _ in Recorded<Int>() }
    for (number, told) in told.enumerated() {
      _ = bus.listen(since: nil) { entry in
        told.add(entry.cursor)
        if number == 7, entry.cursor < 3 { bus.publish(Self.event(0), owner: .anna) }
      }
    }
    bus.publish(Self.event(0), owner: .anna)
    #expect(told.allSatisfy { $0.all == [1, 2, 3] })
  }
}

@Suite("Queue of one subscription")
struct SubscriptionTests {
  private static func entry(_ cursor: Int) -> EventBus.Entry {
    let event = Event(topic: .token, what: "refreshed", at: Timestamp(seconds: 0))
    return EventBus.Entry(cursor: cursor, event: event, owner: .anna)
  }

  private static func next(_ subscription: inout Subscription) throws -> JSONValue? {
    guard let message = subscription.nextMessage() else { return nil }
    let json = try JSONValue(parsing: message.line(of: "sub_1"))
    let isLast = if case .lost = message { true } else { false }
    #expect(isLast == (json["method"] == "events.lost"))
    return json
  }

  @Test("the events of a subscription are sent in order, as notifications with id and cursor")
  func order() throws {
    var subscription = Subscription(listener: 1, cursor: 4)
    #expect(subscription.nextMessage() == nil)
    for cursor in [5, 9] { subscription.push(Self.entry(cursor), limit: 2) }
    let first = try Self.next(&subscription)
    #expect(first?["method"] == "events.notify")
    #expect(first?["id"] == nil)
    #expect(first?["params"]?["subscription"] == "sub_1")
    #expect(first?["params"]?["cursor"] == 5)
    #expect(first?["params"]?["event"]?["what"] == "refreshed")
    #expect(try Self.next(&subscription)?["params"]?["cursor"] == 9)
    #expect(subscription.nextMessage() == nil)
  }

  @Test("an overflowing event queue delivers what it holds, then events.lost with the last cursor")
  func overflow() throws {
    var subscription = Subscription(listener: 1, cursor: 0)
    for cursor in 1...5 { subscription.push(Self.entry(cursor), limit: 2) }
    #expect(try Self.next(&subscription)?["params"]?["cursor"] == 1)
    // There is room again, but the gap must be reported.
    subscription.push(Self.entry(6), limit: 2)
    #expect(try Self.next(&subscription)?["params"]?["cursor"] == 2)
    let lost = try Self.next(&subscription)
    #expect(lost?["method"] == "events.lost")
    #expect(lost?["params"] == ["subscription": "sub_1", "cursor": 2])
  }

  @Test("an event queue that overflows before any delivery reports the cursor at which it began")
  func overflowAtOnce() throws {
    var subscription = Subscription(listener: 1, cursor: 41)
    subscription.push(Self.entry(42), limit: 0)
    #expect(try Self.next(&subscription)?["params"]?["cursor"] == 41)
  }
}
