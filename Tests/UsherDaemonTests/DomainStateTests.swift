import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

@Suite("Fingerprint domain state per client", .timeLimit(.minutes(10)))
struct DomainStateTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func begin(
    _ id: String, client: String, provider: ProviderName = ProviderConfig.local.name,
    checks: Bool, orPasscode: Bool = false
  ) async throws -> LiveFlow {
    var params = LocalAuthenticate.Params(localAuthType: .biometric, reason: "open the till")
    params.checkDomainStateChanged = checks
    params.usePasscodeWhenFailed = orPasscode
    var moment = harness.dependencies.transitionContext()
    let (flow, answer) = try LocalAuthenticate.begin(
      params, FlowContext(provider: Provider(.local)!, requestID: id), at: &moment)
    return try await harness.open(flow, answer, id: id, at: provider, client: client)
  }

  /// Returns the error code with which the flow ends, or `nil` if a finger was accepted.
  private func authenticate(
    _ id: String, client: String, provider: ProviderName = ProviderConfig.local.name,
    checks: Bool = true
  ) async throws -> String? {
    let session = try await begin(id, client: client, provider: provider, checks: checks)
    try await reached("a scan has begun or the flow has ended") {
      session.snapshot.isFinished || harness.reader.waiting == 1
    }
    if harness.reader.waiting == 1 { try await harness.reader.answer(.success(.match)) }
    try await reached("the flow has ended") { session.snapshot.isFinished }
    return session.flow.failure?.provider?.code
  }

  @Test("another client's success does not hide DOMAIN_STATE_CHANGED from a client")
  func otherClient() async throws {
    harness.reader.enrol("left-thumb")
    #expect(try await authenticate("flw_1", client: "till", checks: false) == nil)
    harness.reader.enrol("left-thumb", "right-thumb")
    #expect(try await authenticate("flw_2", client: "desk", checks: false) == nil)
    #expect(try await authenticate("flw_3", client: "till") == "DOMAIN_STATE_CHANGED")
    #expect(try await authenticate("flw_4", client: "till", checks: false) == nil)
    #expect(try await authenticate("flw_5", client: "till") == nil)
  }

  @Test("a success for another provider does not hide DOMAIN_STATE_CHANGED from a flow")
  func otherPurpose() async throws {
    harness.reader.enrol("left-thumb")
    #expect(try await authenticate("flw_1", client: "till", provider: .work) == nil)
    harness.reader.enrol("left-thumb", "right-thumb")
    #expect(try await authenticate("flw_2", client: "till", checks: false) == nil)
    #expect(
      try await authenticate("flw_3", client: "till", provider: .work) == "DOMAIN_STATE_CHANGED")
  }

  @Test("a finger enrolled while the reader waits does not authenticate and is not saved as known")
  func enrolledMeanwhile() async throws {
    harness.reader.enrol("left-thumb")
    #expect(try await authenticate("flw_1", client: "till", checks: false) == nil)
    for id in ["flw_2", "flw_3"] {
      harness.reader.enrol("left-thumb")
      let session = try await begin(id, client: "till", checks: true)
      try await reached("a scan") { harness.reader.waiting == 1 }
      try await harness.reader.answer(.failure(.timedOut))
      try await reached("the flow asks for a method") { session.snapshot.view.state == "asking" }
      #expect(await harness.submit(.biometric, session) == nil)
      try await reached("another scan has begun") { harness.reader.waiting == 1 }
      harness.reader.enrol("left-thumb", "right-thumb")
      try await harness.reader.answer(.success(.match))
      try await reached("the flow has ended") { session.snapshot.isFinished }
      #expect(session.flow.failure?.provider?.code == "DOMAIN_STATE_CHANGED")
    }
  }

  @Test("a flow saves the enrolled fingers when its success is stored, and not if it fails")
  func savedAtTheEnd() async throws {
    let asker = LocalAuthAsker(client: "till", purpose: .work)
    harness.reader.enrol("left-thumb")
    #expect(try await authenticate("flw_1", client: "till", provider: .work) == nil)
    harness.reader.enrol("left-thumb", "right-thumb")
    for (id, word) in [("flw_2", "fail"), ("flw_3", "done")] {
      await harness.type(word, try await harness.open(id: id, client: "till"))
      await harness.engine.waitUntilIdle()
      #expect(await harness.localAuth.availability(of: .anna, for: asker).0.hasChangedFingers)
    }
    await harness.type("done by finger", try await harness.open(id: "flw_4", client: "till"))
    try await reached("the fingers are saved") {
      await !harness.localAuth.availability(of: .anna, for: asker).0.hasChangedFingers
    }
    #expect(try await authenticate("flw_5", client: "till", provider: .work) == nil)
  }

  @Test("a finger match is refused if the flow compares fingers and they cannot be read again")
  func unreadable() async throws {
    harness.reader.enrol("left-thumb")
    #expect(try await authenticate("flw_1", client: "till", checks: false) == nil)
    let session = try await begin("flw_2", client: "till", checks: true)
    try await reached("a scan") { harness.reader.waiting == 1 }
    harness.reader.fail(.unavailable("gone"))
    try await harness.reader.answer(.success(.match))
    try await reached("the flow has ended") { session.snapshot.isFinished }
    #expect(
      session.flow.failure?.provider?.code == LocalAuthErrorCode.biometricNotAvailable.rawValue)
  }

  @Test("a fingerprint lockout does not hide DOMAIN_STATE_CHANGED")
  func lockedOut() async throws {
    harness.reader.enrol("left-thumb")
    _ = try await harness.localAuth.setPasscode(
      Secret("till-4711"), old: nil, isReset: true, of: .anna)
    #expect(try await authenticate("flw_1", client: "till", checks: false) == nil)
    harness.reader.enrol("left-thumb", "right-thumb")
    for _ in 1...5 {
      async let outcome = harness.localAuth.scan(.anna) { _ in }
      try await harness.reader.answer(.success(.noMatch))
      _ = await outcome
    }
    let session = try await begin("flw_2", client: "till", checks: true, orPasscode: true)
    try await reached("the fingers have been read") { session.snapshot.view.state != "looking" }
    #expect(session.flow.failure?.provider?.code == "DOMAIN_STATE_CHANGED")
  }
}
