import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A caller of Paysafe's `authorize` may choose the `state` of the redirect.
@Suite("Redirect states chosen by callers", .timeLimit(.minutes(10)))
struct ChosenStateTests {
  private func begin(_ harness: ConsentHarness, state: String, for owner: Owner) async throws
    -> Flow
  {
    try await harness.flows.start(
      FlowStart(
        provider: ConsentHarness.provider, kind: "authorize",
        params: [
          "brandIdentity": "acme", "state": .string(state),
          "codeChallenge": .string(String(repeating: "A", count: 43)),
        ], waitMs: 60_000), .program(of: owner)
    ).flow
  }

  @Test("a chosen state is refused while another user's flow waits for it at the same redirect")
  func taken() async throws {
    let redirect = try Redirect(setting: "http://127.0.0.1:\(LoopbackPort.unused())/cb")
    let harness = try ConsentHarness { $0.redirect = redirect }
    let first = try await begin(harness, state: "chosen-state", for: .anna)
    #expect(first.state == "authorizing")
    let error = await #expect(throws: UsherError.self) {
      try await begin(harness, state: "chosen-state", for: .bert)
    }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "params.state")
    #expect(try await begin(harness, state: "other-state", for: .bert).state == "authorizing")
    let flows = [Owner.anna, .bert].flatMap { harness.engine.flows(of: $0) { _ in true } }
    #expect(flows.count == 2)
    for session in flows { #expect(await harness.harness.cancel(session) == nil) }
    #expect(try await begin(harness, state: "chosen-state", for: .bert).state == "authorizing")
    for session in harness.engine.flows(of: .bert, where: { !$0.isFinished }) {
      #expect(await harness.harness.cancel(session) == nil)
    }
    await harness.close()
  }
}
