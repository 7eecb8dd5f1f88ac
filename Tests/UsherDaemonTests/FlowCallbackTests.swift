import Testing
import UsherAPI
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

@Suite("Provider callbacks to running flows", .timeLimit(.minutes(10)))
struct FlowCallbackTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  /// Opens a flow that is found by the request id `req-1`.
  private func open() async throws -> LiveFlow {
    let machine = StubMachine(provider: try .sample(), probe: harness.place.path)
    let session = LiveFlow(of: machine, id: "flw_1", requestID: "req-1", at: harness.clock.now())
    try await harness.engine.open(
      session, with: .proceed([]), at: harness.dependencies.transitionContext()
    ) {
      harness.engine.index.insert(session)
    }
    return session
  }

  /// Returns the verdicts of the flows with a request id.
  ///
  /// - Parameter authorization: The name of the verdict of a flow that is found.
  private func verdicts(
    _ authorization: String, requestID: String? = "req-1"
  ) async throws -> [CallbackVerdict] {
    try await harness.engine.handleCallback(
      ProviderCallback(
        requestID: requestID, authorization: Secret(authorization), members: [:]),
      at: .work)
  }

  @Test("a provider's callback that its flow accepts is on disk before the provider is answered")
  func accepted() async throws {
    let session = try await open()
    #expect(try await verdicts("match") == [.match])
    let row = try harness.row(session)
    #expect(row.revision == 2 && row.state == "called back")
    #expect(session.flow.state == "called back")
  }

  @Test(
    "a provider's callback that its flow does not accept changes nothing, on disk or in memory",
    arguments: [
      ("noMatch", CallbackVerdict.noMatch), ("unauthorized", .unauthorized),
      ("conflict", .conflict),
    ])
  func refused(authorization: String, verdict: CallbackVerdict) async throws {
    let session = try await open()
    let (row, flow) = (try harness.row(session), session.flow)
    #expect(try await verdicts(authorization) == [verdict])
    #expect(try harness.row(session) == row)
    #expect(try harness.journal() == ["asking"])
    #expect(session.flow == flow)
  }

  @Test("a provider's callback reaches no flow with another request id and no ended flow")
  func otherFlow() async throws {
    let session = try await open()
    for requestID in ["req-2", "", nil] {
      #expect(try await verdicts("match", requestID: requestID) == [])
    }
    #expect(session.flow.state == "asking")
    #expect(await harness.cancel(session) == nil)
    #expect(try await verdicts("match") == [])
    #expect(session.flow.status == .cancelled)
  }
}
