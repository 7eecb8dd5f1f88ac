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

private let right = Secret("till-4711")

@Suite("Local authentication flows", .timeLimit(.minutes(10)))
struct LocalAuthFlowTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func begin(
    _ type: LocalAuthType = .biometric, orPasscode: Bool = false, id: String = "flw_1"
  ) async throws -> LiveFlow {
    var params = LocalAuthenticate.Params(localAuthType: type, reason: "open the till")
    params.usePasscodeWhenFailed = orPasscode
    var moment = harness.dependencies.transitionContext()
    let (flow, answer) = try LocalAuthenticate.begin(
      params, FlowContext(provider: Provider(.local)!, requestID: id), at: &moment)
    return try await harness.open(flow, answer, id: id, at: ProviderConfig.local.name)
  }

  private func scanning(orPasscode: Bool = false) async throws -> LiveFlow {
    harness.reader.enrol("left-thumb")
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await begin(orPasscode: orPasscode)
    try await reached("a scan") { harness.reader.waiting == 1 }
    return session
  }

  private func ended(_ session: LiveFlow) async throws -> FlowEnding {
    try await reached("the flow has ended") { session.snapshot.isFinished }
    return session.snapshot.ending
  }

  @Test("a local authentication flow succeeds with a finger of the flow's owner")
  func match() async throws {
    let session = try await scanning()
    try await harness.reader.answer(.success(.match))
    let ending = try await ended(session)
    #expect(ending.status == .succeeded && ending.result?["method"] == "biometric")
    #expect(harness.reader.users == ["anna"])
  }

  @Test("a local authentication flow shows the reader's hint while the scan continues")
  func hints() async throws {
    let session = try await scanning()
    harness.reader.hint(.swipeTooShort)
    try await reached("the flow shows the hint") { session.snapshot.view.problem != nil }
    #expect(session.flow.problem?.message == "that was too short: swipe again")
    #expect(harness.reader.waiting == 1, "the scan continues")
    try await harness.reader.answer(.success(.match))
    _ = try await ended(session)
  }

  @Test("a local authentication flow scans again after a wrong finger and fails after the third")
  func missed() async throws {
    let session = try await scanning()
    for scan in 1...2 {
      try await harness.reader.answer(.success(.noMatch))
      try await reached("the next scan has begun") { harness.reader.users.count == scan + 1 }
    }
    try await harness.reader.answer(.success(.noMatch))
    #expect(try await ended(session).failure?.provider?.code == "AUTH_FAILED")
  }

  @Test("a cancelled or expired flow releases the fingerprint reader", arguments: [true, false])
  func released(isCancelled: Bool) async throws {
    let session = try await scanning()
    if isCancelled {
      #expect(await harness.cancel(session) == nil)
      #expect(session.flow.failure?.provider?.code == "USER_CANCEL")
    } else {
      harness.scheduler.advance(by: FlowHarness.deadline)
      #expect(try await ended(session).status == .expired)
    }
    try await reached("the reader is released") { harness.reader.released == 1 }
  }

  @Test("a flow releases the reader when its user cancels or switches to the passcode")
  func leaves() async throws {
    let session = try await scanning()
    #expect(await harness.submit(.cancelLocalAuth, session) == nil)
    try await reached("the reader is released") { harness.reader.released == 1 }
    #expect(session.flow.failure?.reason == .cancelled)

    let other = try await begin(orPasscode: true, id: "flw_2")
    try await reached("a scan") { harness.reader.waiting == 1 }
    #expect(await harness.submit(.fallback, other) == nil)
    try await reached("the reader is released") { harness.reader.released == 2 }
    #expect(await harness.submit(.passcode(right), other) == nil)
    #expect(try await ended(other).result?["method"] == "passcode")
  }

  @Test("a flow starts the next scan after the previous one released the reader")
  func afterEachOther() async throws {
    let session = try await scanning(orPasscode: true)
    #expect(await harness.submit(.passcode(Secret("wrong")), session) == nil)
    try await reached("the passcode is wrong") { session.flow.problem?.reason == "wrong_passcode" }
    #expect(await harness.submit(.biometric, session) == nil)
    try await reached("a scan") { harness.reader.waiting == 1 }
    #expect(harness.reader.released == 1)
    try await harness.reader.answer(.success(.match))
    #expect(try await ended(session).status == .succeeded)
  }

  @Test("a flow by passcode does not query the fingerprint reader")
  func byPasscode() async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await begin(.passcode)
    try await reached("the flow asks for the passcode") { session.flow.step?.kind == .localAuth }
    #expect(await harness.submit(.passcode(right), session) == nil)
    #expect(try await ended(session).result?["method"] == "passcode")
    #expect(harness.reader.looks == 0 && harness.reader.users.isEmpty)
  }

  @Test("the passcode is not in the flow's row")
  func canary() async throws {
    let session = try await scanning(orPasscode: true)
    #expect(await harness.submit(.passcode(right), session) == nil)
    _ = try await ended(session)
    let row = try harness.row(session)
    #expect(!String(decoding: row.payload.bytes, as: UTF8.self).contains(right.revealed()))
    #expect(try harness.journal().last == "done")
  }

  @Test("a local authentication flow is read back from disk with its provider and state")
  func restored() async throws {
    let session = try await scanning()
    let flow = try RestoredFlow(try harness.row(session), by: FlowCoder(nonce: "known_"))
    #expect(flow.machine?.config == .local && flow.stored.state == "scanning")
    #expect(await harness.cancel(session) == nil)
  }
}
