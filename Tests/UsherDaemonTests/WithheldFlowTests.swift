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

@Suite("Flows of a withheld owner", .timeLimit(.minutes(10)))
struct WithheldFlowTests {
  @Test("a flow of a withheld owner takes a reply and calls the provider only after owner.accept")
  func answered() async throws {
    let harness = try await OwnerHarness()
    _ = try await harness.call("provider.list")
    let services = try harness.lockController.services()
    let probe = CallProbe(harness.harness.place.path, store: services.store)
    let session = try await open(services, probe: harness.harness.place.path)
    let link = StubCall(name: "link", probe: harness.harness.place.path)
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)

    services.flows.engine.deliver(
      .event(.called(link, .reply(HTTPReply(status: 200)))), to: session)
    try await reached("the flow has the provider's reply") { session.flow.state == "answered link" }
    #expect(try services.store.loadFlows().first?.state == "answered link")
    _ = try await harness.admin("owner.accept", ["uid": 1000])
    try await reached("the flow makes its next call") { probe.seen.contains { $0.call == "again" } }
    #expect(probe.seen.map(\.call) == ["again"])
    try await end(harness)
  }

  /// Ends the daemon, which waits by its timers for the running call.
  private func end(_ harness: OwnerHarness) async throws {
    let isOver = Atomic(false)
    async let ending: Void = {
      await harness.end()
      isOver.store(true, ordering: .relaxed)
    }()
    try await reached("the daemon has ended") {
      harness.harness.scheduler.advance(by: .milliseconds(20))
      return isOver.load(ordering: .relaxed)
    }
    await ending
  }

  private func open(_ services: Services, probe: String) async throws -> LiveFlow {
    let engine = services.flows.engine
    let session = LiveFlow(
      of: StubMachine(provider: try .sample(), probe: probe), id: "flw_1",
      at: services.dependencies.clock.now())
    try await engine.open(
      session, with: .proceed([]), at: services.dependencies.transitionContext()
    ) {
      engine.index.insert(session)
    }
    return session
  }
}
