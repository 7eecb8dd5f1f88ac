import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

@Suite("Sign-ins while file descriptors are missing", .timeLimit(.minutes(10)))
struct DescriptorLackTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness(descriptors: DescriptorBudget(limit: 0)) }

  /// Opens a sign-in that waits for its redirect listener or, if `isInBrowser`, for the browser.
  private func session(isInBrowser: Bool) async throws -> LiveFlow {
    let provider = try #require(Provider<OIDCSettings>(try ProviderConfig.sample()))
    let read = OIDCMetadata.read(
      documents: [
        [
          "issuer": "https://id.example", "authorization_endpoint": "https://id.example/authorize",
          "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys",
        ]
      ], settings: provider.settings)
    var moment = harness.dependencies.transitionContext()
    var (flow, _) = try OIDCAuthorize.begin(
      .init(), FlowContext(provider: provider, requestID: "r"), at: &moment)
    _ = flow.receive(.provider(.discovered(read)), at: &moment)
    if isInBrowser {
      _ = flow.receive(
        .browser(.listening(redirectURI: "http://127.0.0.1:40001/callback")), at: &moment)
    }
    return try await harness.open(flow, id: "flw_\(isInBrowser)")
  }

  @Test(
    "a sign-in resumed without free descriptors fails as overloaded and retryable",
    arguments: [true, false])
  func resumed(isInBrowser: Bool) async throws {
    let session = try await session(isInBrowser: isInBrowser)
    harness.engine.resume(session)
    try await reached("the flow has ended: \(session.flow.state)") {
      // Time advances no further than the daemon waits, because the flow also has a deadline.
      let second = Duration.seconds(1)
      if harness.scheduler.pending.contains(second) { harness.scheduler.advance(by: second) }
      return session.flow.status.isFinished
    }
    #expect(session.flow.status == .failed)
    #expect(session.flow.failure?.reason.rawValue == "overloaded")
    #expect(session.flow.failure?.retryable == true)
    #expect(session.flow.failure?.message.contains("file descriptor") == true)
  }
}
