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

@Suite("Events of a uid that is given to another person", .timeLimit(.minutes(2)))
struct OwnerEventTests {
  private let users = FakeUsers()

  @Test("a subscription ends when what is stored for its uid is withheld")
  func withheld() async throws {
    users.set(Owner.anna.uid, .named("anna"), isLocal: true)
    let stage = try await ConnectionStage(users: users.database(nameHolds: .zero))
    let owners = try stage.lockController.domain().owners
    try await owners.verify(program(of: stage))
    try await stage.signIn()
    let connection = try await stage.connect()
    let reply = try await connection.answer(
      CallLine.line("events.subscribe", #"{"topics":["token"]}"#))
    #expect(reply.contains("subscription"), "\(reply)")
    publish(on: stage)
    #expect(try await connection.line().contains("refreshed"))
    users.set(Owner.anna.uid, .named("ben"), isLocal: true)
    await #expect(throws: UsherError.self) { try await owners.verify(program(of: stage)) }
    publish(on: stage)
    let last = try JSONValue(parsing: try await connection.line())
    #expect(last["method"] == "events.lost", "\(last)")
    await stage.end()
  }

  /// One that connects now: later than the names that were looked up for others before it.
  private func program(of stage: ConnectionStage) -> Caller {
    stage.clock.advance(by: .milliseconds(1))
    return Caller(
      Newcomer(
        ConnectionStage.newcomer.identity, isAdmin: false, realm: Owner.anna.realm,
        connectedAt: stage.clock.monotonicNow()),
      policy: stage.settings.inForce.policy)
  }

  private func publish(on stage: ConnectionStage) {
    stage.service.events.publish(
      Event(topic: .token, what: "refreshed", at: stage.clock.now()), owner: .anna)
  }
}
