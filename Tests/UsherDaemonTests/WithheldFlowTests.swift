import JSONRPC
import Synchronization
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("A flow whose owner is withheld while the provider answers")
struct WithheldFlowTests {
  @Test("takes the answer in, and asks nothing more until an operator has accepted the owner")
  func answered() async throws {
    let stage = try await OwnerStage()
    _ = try await stage.call("provider.list")
    let domain = try stage.lockController.domain()
    let probe = CallProbe(stage.stage.place.path, store: domain.store)
    let session = try await open(domain, probe: stage.stage.place.path)
    let link = StubCall(name: "link", probe: stage.stage.place.path)
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)

    domain.flows.engine.runner.deliver(
      .event(.called(link, .reply(HTTPReply(status: 200)))), to: session)
    try await reached("the answer is taken in") { session.flow.state == "answered link" }
    #expect(try domain.store.loadFlows().first?.state == "answered link")
    _ = try await stage.admin("owner.accept", ["uid": 1000])
    try await reached("the flow goes on") { probe.seen.contains { $0.call == "again" } }
    #expect(probe.seen.map(\.call) == ["again"])
    try await end(stage)
  }

  /// Ends the daemon, which waits by its alarms for the call that is under way.
  private func end(_ stage: OwnerStage) async throws {
    let isOver = Atomic(false)
    async let ending: Void = {
      await stage.end()
      isOver.store(true, ordering: .relaxed)
    }()
    try await reached("the daemon has ended") {
      stage.stage.scheduler.advance(by: .milliseconds(20))
      return isOver.load(ordering: .relaxed)
    }
    await ending
  }

  private func open(_ domain: Domain, probe: String) async throws -> FlowSession {
    let runner = domain.flows.engine.runner
    let session = FlowSession(
      of: StubMachine(provider: try .sample(), probe: probe), id: "flw_1",
      at: domain.dependencies.clock.now())
    try await runner.open(session, with: .proceed([]), at: domain.dependencies.moment()) {
      domain.flows.engine.index.insert(session)
    }
    return session
  }
}
