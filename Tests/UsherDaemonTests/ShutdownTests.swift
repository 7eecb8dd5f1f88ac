import JSONRPC
import NIOPosix
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A shutdown waits for what flows are doing.
@Suite("Shutdown while flows are busy", .timeLimit(.minutes(1)))
struct ShutdownTests {
  /// A provider that answers the discovery request when the test says so.
  private struct HeldProvider: ProviderTransport {
    let asked = AsyncLatch()
    let mayAnswer = AsyncLatch()

    func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome {
      asked.open()
      await mayAnswer.wait()
      return await AnsweringTransport().send(request, by: settings)
    }

    func retain(_ settings: [HTTPSettings]) {}
    let closing = WorkCounter()
    func shutdown() async {}
  }

  @Test("a shutdown stores the provider's answer that arrives meanwhile, and waits for no timer")
  func answered() async throws {
    let provider = HeldProvider()
    let harness = try LockControllerHarness(holdsTimers: true, transport: provider)
    let lockController = try await harness.begun()
    let flow = try await lockController.services().flows.start(
      FlowStart(provider: .work, kind: "authorize", params: [:]), .program()
    ).flow
    await provider.asked.wait()
    let ended = Task { await lockController.end() }
    try await reached("the shutdown has begun") { lockController.unlocked == nil }
    provider.mayAnswer.open()
    await ended.value

    // A daemon that has not resumed the flow yet: the flow is as the first daemon stored it.
    let next = LockController(
      ProcessContext(
        harness.setting, harness.dependencies, on: MultiThreadedEventLoopGroup.singleton))
    try await next.begin()
    let restored = try next.services().flows.engine.flow(flow.id, of: .anna)
    #expect(flow.state == "discovering" && restored.snapshot.view.state != "discovering")
    await next.end()
  }

  @Test("a shutdown answers flow.start with waitMs at once, although the provider is silent")
  func unanswered() async throws {
    let provider = HeldProvider()
    let harness = try LockControllerHarness(holdsTimers: true, transport: provider)
    let lockController = try await harness.begun()
    async let started = lockController.services().flows.start(
      FlowStart(provider: .work, kind: "authorize", params: [:], waitMs: 60_000), .program())
    await provider.asked.wait()
    lockController.processContext.waits.end()
    let flow = try await started.flow
    #expect(flow.status == .active && flow.step?.kind == .wait)
    provider.mayAnswer.open()
    await lockController.end()
  }
}
