import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

private let right = Secret("till-4711")

@Suite("A flow at the local authenticator")
struct LocalAuthFlowTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func begin(
    _ type: LocalAuthType = .biometric, orPasscode: Bool = false, id: String = "flw_1"
  ) async throws -> FlowSession {
    var params = LocalAuthenticate.Params(localAuthType: type, reason: "open the till")
    params.usePasscodeWhenFailed = orPasscode
    var moment = harness.dependencies.moment()
    let (flow, answer) = try LocalAuthenticate.begin(
      params, FlowContext(provider: Provider(.local)!, requestID: id), at: &moment)
    return try await harness.open(flow, answer, id: id, at: ProviderConfig.local.name)
  }

  private func scanning(orPasscode: Bool = false) async throws -> FlowSession {
    harness.reader.enrol("left-thumb")
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await begin(orPasscode: orPasscode)
    try await reached("a scan") { harness.reader.waiting == 1 }
    return session
  }

  private func ended(_ session: FlowSession) async throws -> FlowEnding {
    try await reached("the end") { session.standing.isFinished }
    return session.standing.ending
  }

  @Test("succeeds with a finger of its owner's")
  func match() async throws {
    let session = try await scanning()
    try await harness.reader.answer(.success(.match))
    let ending = try await ended(session)
    #expect(ending.status == .succeeded && ending.result?["method"] == "biometric")
    #expect(harness.reader.users == ["anna"])
  }

  @Test("shows what the reader says as it says it")
  func hints() async throws {
    let session = try await scanning()
    harness.reader.hint(.swipeTooShort)
    try await reached("the hint") { session.standing.view.problem != nil }
    #expect(session.flow.problem?.message == "that was too short: swipe again")
    #expect(harness.reader.waiting == 1, "the scan goes on")
    try await harness.reader.answer(.success(.match))
    _ = try await ended(session)
  }

  @Test("scans again after a wrong finger")
  func missed() async throws {
    let session = try await scanning()
    for scan in 1...2 {
      try await harness.reader.answer(.success(.noMatch))
      try await reached("the next scan") { harness.reader.users.count == scan + 1 }
    }
    try await harness.reader.answer(.success(.noMatch))
    #expect(try await ended(session).failure?.provider?.code == "AUTH_FAILED")
  }

  @Test("lets the reader go when it is cancelled, or its time is over", arguments: [true, false])
  func released(isCancelled: Bool) async throws {
    let session = try await scanning()
    if isCancelled {
      #expect(await harness.cancel(session) == nil)
      #expect(session.flow.failure?.provider?.code == "USER_CANCEL")
    } else {
      harness.scheduler.advance(by: FlowHarness.deadline)
      #expect(try await ended(session).status == .expired)
    }
    try await reached("the reader is free") { harness.reader.released == 1 }
  }

  @Test("lets the reader go when the person cancels, or goes on to the passcode")
  func leaves() async throws {
    let session = try await scanning()
    #expect(await harness.submit(.cancelLocalAuth, session) == nil)
    try await reached("the reader is free") { harness.reader.released == 1 }
    #expect(session.flow.failure?.reason == .cancelled)

    let other = try await begin(orPasscode: true, id: "flw_2")
    try await reached("a scan") { harness.reader.waiting == 1 }
    #expect(await harness.submit(.fallback, other) == nil)
    try await reached("the reader is free") { harness.reader.released == 2 }
    #expect(await harness.submit(.passcode(right), other) == nil)
    #expect(try await ended(other).result?["method"] == "passcode")
  }

  @Test("begins the next scan when the last one has let the reader go")
  func afterEachOther() async throws {
    let session = try await scanning(orPasscode: true)
    #expect(await harness.submit(.passcode(Secret("wrong")), session) == nil)
    try await reached("the answer") { session.flow.problem?.reason == "wrong_passcode" }
    #expect(await harness.submit(.biometric, session) == nil)
    try await reached("a scan") { harness.reader.waiting == 1 }
    #expect(harness.reader.released == 1)
    try await harness.reader.answer(.success(.match))
    #expect(try await ended(session).status == .succeeded)
  }

  @Test("by passcode, the reader is not even looked for")
  func byPasscode() async throws {
    _ = try await harness.localAuth.setPasscode(right, old: nil, isReset: true, of: .anna)
    let session = try await begin(.passcode)
    try await reached("the step") { session.flow.step?.kind == .localAuth }
    #expect(await harness.submit(.passcode(right), session) == nil)
    #expect(try await ended(session).result?["method"] == "passcode")
    #expect(harness.reader.looks == 0 && harness.reader.users.isEmpty)
  }

  @Test("a passcode is in no row of it")
  func canary() async throws {
    let session = try await scanning(orPasscode: true)
    #expect(await harness.submit(.passcode(right), session) == nil)
    _ = try await ended(session)
    let row = try harness.row(session)
    #expect(!String(decoding: row.payload.bytes, as: UTF8.self).contains(right.revealed()))
    #expect(try harness.journal().last == "done")
  }

  @Test("is found again on disk, with its provider")
  func restored() async throws {
    let session = try await scanning()
    let flow = try RestoredFlow(try harness.row(session), by: FlowCoder(nonce: "known_"))
    #expect(flow.machine?.provider == .local && flow.state == "scanning")
    #expect(await harness.cancel(session) == nil)
  }
}
