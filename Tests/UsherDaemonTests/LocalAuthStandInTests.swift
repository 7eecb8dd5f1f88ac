import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

private let right = Secret("till-4711")

/// The order in the BSA SDK: `startSimpleAuth` succeeds, then `requestSignUp` follows.
@Suite("Passcodes in place of a finger", .timeLimit(.minutes(10)))
struct LocalAuthStandInTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  /// Authenticates by passcode as the request allows. No finger is enrolled.
  private func authenticate(
    _ request: LocalAuthRequest, _ session: LiveFlow
  ) async throws -> LocalAuthProof {
    var authentication = LocalAuthentication(request)
    let event = FlowEvent<NoCall>.daemon(
      .answered(.localAuth(await harness.ask(try #require(authentication.begin().first), session))))
    guard case .ask = authentication.receive(event, at: harness.clock.now()),
      case .ask(let questions) = authentication.receive(
        FlowEvent<NoCall>.input(.passcode(right)), at: harness.clock.now())
    else { throw TestError("the flow does not ask for the passcode") }
    let checked = FlowEvent<NoCall>.daemon(
      .answered(.localAuth(await harness.ask(try #require(questions.first), session))))
    guard case .authenticated(let proof) = authentication.receive(checked, at: harness.clock.now())
    else { throw TestError("the flow does not accept the passcode") }
    return proof
  }

  /// Returns whether a sign-up by finger needs no further step.
  private func isProof(_ session: LiveFlow) async throws -> Bool {
    var authentication = LocalAuthentication(
      LocalAuthRequest(localAuthType: .biometric, reason: "register", goodForSeconds: 300))
    let event = FlowEvent<NoCall>.daemon(
      .answered(.localAuth(await harness.ask(try #require(authentication.begin().first), session))))
    if case .authenticated = authentication.receive(event, at: harness.clock.now()) { return true }
    return false
  }

  @Test("a passcode in place of a finger satisfies a later sign-up by finger of the same client")
  func standIn() async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await harness.open(id: "flw_1", client: "till")
    let other = try await harness.open(id: "flw_2", client: "desk")
    let proof = try await authenticate(
      LocalAuthRequest(localAuthType: .biometric, reason: "you", usePasscodeWhenFailed: true),
      session)
    #expect(proof.method == .passcode)
    #expect(try await isProof(session))
    #expect(try await !isProof(other), "another client's flow must not use the passcode")
  }

  @Test("a passcode in a flow that asked for a passcode does not satisfy a sign-up by finger")
  func passcode() async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await harness.open(id: "flw_1", client: "till")
    _ = try await authenticate(LocalAuthRequest(localAuthType: .passcode, reason: "you"), session)
    #expect(try await !isProof(session))
  }
}
