import JSONRPC
import NIOCore
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Events after a uid was given to another person", .timeLimit(.minutes(10)))
struct OwnerEventTests {
  private let users = FakeUsers()

  @Test("a subscription ends with events.lost when the data of its uid is withheld")
  func withheld() async throws {
    users.set(Owner.anna.uid, .named("anna"), isLocal: true)
    let harness = try await ConnectionHarness(users: users.database(nameHolds: .zero))
    let owners = try harness.lockController.services().owners
    try await owners.verify(program(of: harness))
    try await harness.signIn()
    let connection = try await harness.connect()
    let reply = try await connection.answer(
      CallLine.line("events.subscribe", #"{"topics":["token"]}"#))
    #expect(reply.contains("subscription"), "\(reply)")
    publish(on: harness)
    #expect(try await connection.line().contains("refreshed"))
    users.set(Owner.anna.uid, .named("ben"), isLocal: true)
    await #expect(throws: UsherError.self) { try await owners.verify(program(of: harness)) }
    publish(on: harness)
    let last = try JSONValue(parsing: try await connection.line())
    #expect(last["method"] == "events.lost", "\(last)")
    await harness.end()
  }

  @Test("the events of a removed user are deleted although the daemon is locked by then")
  func removedAfterLock() async throws {
    users.set(Owner.anna.uid, .named("anna"), isLocal: true)
    let harness = try await ConnectionHarness(users: users.database(nameHolds: .zero))
    let owners = try harness.lockController.services().owners
    let events = harness.service.events
    let before = events.listen(since: nil) { _ in }.cursor
    publish(on: harness)
    try await harness.lockController.lock()
    await owners.notify(.replaced, .anna)
    let past = events.listen(since: before) { _ in }.past
    #expect(!past.contains { $0.owner == .anna }, "\(past.map(\.event))")
    await harness.end()
  }

  /// A caller that connects now, later than the last lookup of a name.
  private func program(of harness: ConnectionHarness) -> Caller {
    harness.clock.advance(by: .milliseconds(1))
    return Caller(
      PeerIdentity(
        identity: ConnectionHarness.connectingPeer.identity,
        isAdmin: false, realm: Owner.anna.realm,
        connectedAt: harness.clock.monotonicNow()),
      policy: harness.configStore.current.policy)
  }

  private func publish(on harness: ConnectionHarness) {
    harness.service.events.publish(
      Event(topic: .token, what: "refreshed", at: harness.clock.now()), owner: .anna)
  }
}
