import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Event cursors", .timeLimit(.minutes(10)))
struct EventCursorTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private func publish(_ count: Int = 1, for owner: Owner) {
    for _ in 0..<count {
      harness.service.events.publish(
        Event(topic: .token, what: "refreshed", at: harness.clock.now()), owner: owner)
    }
  }

  private func subscribe(
    _ connection: HarnessConnection, since: Int? = nil
  ) async throws -> Int {
    let since = since.map { #","since":\#($0)"# } ?? ""
    let reply = try JSONValue(
      parsing: try await connection.answer(
        CallLine.line("events.subscribe", #"{"topics":["token"]\#(since)}"#)))
    return Int(try #require(reply["result"]?["cursor"]?.integerValue, "\(reply)"))
  }

  private func next(_ connection: HarnessConnection) async throws -> JSONValue {
    try JSONValue(parsing: try await connection.line())
  }

  @Test("another user's events do not move a caller's cursor")
  func others() async throws {
    let connection = try await harness.connect()
    let before = try await subscribe(connection)
    publish(3, for: .bert)
    #expect(try await subscribe(connection) == before)
    publish(for: .anna)
    let event = try await next(connection)
    let after = try #require(event["params"]?["cursor"]?.integerValue)
    #expect(after > before)
    // The connection has two subscriptions at this point.
    #expect(try await next(connection)["params"]?["cursor"]?.integerValue == after)
    #expect(try await subscribe(connection) == after)
    await harness.end()
  }

  @Test("a provider event that the caller may not receive does not move the caller's cursor")
  func unheardProvider() async throws {
    try harness.rule { $0.allow = [try AccessPattern(setting: "events.subscribe")] }
    let connection = try await harness.connect()
    publish(for: .anna)
    let before = try await subscribe(connection)
    let unreachable = Event(
      topic: .provider, what: "unreachable", at: harness.clock.now(), provider: .work)
    harness.service.events.publish(unreachable, owner: nil)
    #expect(try await subscribe(connection) == before)
    #expect(try await subscribe(connection, since: before) == before)
    try harness.rule { $0.allow.append(try AccessPattern(setting: "provider.get work")) }
    let other = try await harness.connect()
    #expect(try await subscribe(other) > before)
    await harness.end()
  }

  @Test("another user's 3000 events do not evict a caller's events from the replay memory")
  func pushedOut() async throws {
    let connection = try await harness.connect()
    let before = try await subscribe(connection)
    publish(for: .anna)
    #expect(try await next(connection)["method"] == "events.notify")
    publish(3000, for: .bert)
    let again = try await harness.connect()
    _ = try await subscribe(again, since: before)
    let event = try await next(again)
    #expect(event["method"] == "events.notify" && event["params"]?["event"]?["what"] == "refreshed")
    await harness.end()
  }
}
