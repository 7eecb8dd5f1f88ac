import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// Access of one client to flows and events of other clients.
@Suite("Isolation between clients", .timeLimit(.minutes(10)))
struct OtherClientTests {
  @Test("only the client that started a flow, the owner's own programs and the admin may cancel it")
  func cancelled() async throws {
    let harness = try ConsentHarness()
    let account = try await harness.persist(.sample(), for: "(user)")
    let flow = try await harness.start("till", of: account)
    let error = await #expect(throws: UsherError.self) {
      try await harness.flows.cancel(FlowCancel(flow: flow.id), .program("desk"))
    }
    #expect(error?.reason == .permissionDenied)
    #expect(error?.detail.flow == flow.id)
    #expect(try harness.flows.get(FlowGet(flow: flow.id), .program("till")).flow.status == .active)
    for canceller in ["till", nil] {
      let flow = try await harness.start("till", of: account)
      let ended = try await harness.flows.cancel(FlowCancel(flow: flow.id), .program(canceller))
        .flow
      #expect(ended.status == .cancelled)
    }
    let admin = try Caller.program("desk", isAdmin: true)
    #expect(
      try await harness.flows.cancel(FlowCancel(flow: flow.id), admin).flow.status == .cancelled)
  }

  @Test("a provider event is delivered only to callers that may see the provider")
  func providers() throws {
    let event = Event(
      topic: .provider, what: "unreachable", at: Timestamp(seconds: 0), provider: .work)
    let entry = EventBus.Entry(cursor: 1, event: event, owner: nil)
    for (allowed, hears) in [
      (["events.subscribe"], false), (["events.subscribe", "provider.get home"], false),
      (["events.subscribe", "provider.get work"], true), (["*"], true),
    ] {
      #expect(try Caller.client("till", allow: allowed).mayReceive(entry) == hears, "\(allowed)")
    }
    #expect(try Caller.program(isAdmin: true).mayReceive(entry))
  }
}
