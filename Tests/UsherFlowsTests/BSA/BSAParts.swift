import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// Fixture values for the tests of BSA's flows: a person, a device, secrets and provider replies.
enum BSAParts {
  static let name = ProviderName("bsa")
  static let clientKey = Secret("client-key-secret")
  static let email = "ada@example.com"
  static let phone = "+447700900123"
  static let userKey = "ada.1815"
  static let account = AccountID("acc_1")
  static let device = "dev-1"
  /// The device id that BSA's flows derive from ``userKey`` and the tests' installation.
  static let registeredDevice = BSADevice.id(userKey, at: installation)
  static let number = Secret("739146")
  static let dispose = Sealed(Secret("dispose-secret"))
  /// A TOTP secret of 160 bits (RFC 4226 appendix D), in Base32.
  static let secretKey = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
  static let handle = "dsp_0123456789abcdef"

  /// Texts that must not occur in any message, description or dump.
  static let secrets = [
    "client-key-secret", "739146", "dispose-secret", secretKey, handle, "site-key-secret",
    "channel-secret", "token-secret", "482613", "1234-passcode",
  ]

  static func provider(_ change: (inout BSASettings) -> Void = { _ in }) -> ProviderConfig {
    var settings = BSASettings(
      clientKeyCredential: "bsa-client-key", appPackage: "com.example.app", appVersion: "1.0.0")
    // The operator's limits in the stored forms of flows. ``withoutLimits(_:)`` removes them.
    (settings.otpSeconds, settings.resendSeconds) = (180, 30)
    (settings.allowNoLocalAuth, settings.registrationChecks) = (false, false)
    change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  /// Sets the settings that limit the user to their defaults.
  static func withoutLimits(_ settings: inout BSASettings) {
    let defaults = BSASettings(clientKeyCredential: "x", appPackage: "x", appVersion: "x")
    (settings.otpSeconds, settings.resendSeconds) = (defaults.otpSeconds, defaults.resendSeconds)
    (settings.maxCodes, settings.maxWrongCodes) = (defaults.maxCodes, defaults.maxWrongCodes)
    settings.allowNoLocalAuth = defaults.allowNoLocalAuth
  }

  static func contact(_ channel: BSAContact.Channel = .email) -> BSAContact {
    do {
      return try BSAContact(channel, channel == .email ? email : phone)
    } catch {
      fatalError("the tests' own contact \(error.message)")
    }
  }

  static func origin(
    handoffSecrets: [HandoffSecret] = [], _ change: (inout BSASettings) -> Void = { _ in }
  ) -> FlowContext<BSASettings> {
    FlowContext<BSASettings>(
      provider: Provider(provider(change))!, requestID: "req-1", installationID: installation,
      credential: CredentialCheck(clientKey), handoffSecrets: handoffSecrets)
  }

  /// The handoff secret that a finished `verifyContact` leaves for a later flow.
  static func kept(
    _ contact: BSAContact = contact(), handle: String = handle, token: String = "dispose-secret"
  ) -> HandoffSecret {
    HandoffSecret(
      handle: handle, purpose: contact.key, secret: Sealed(Secret(token)),
      expiresAt: now + .seconds(1800))
  }

  /// Returns a reply with rtCode 0 (success).
  static func said(_ data: JSONValue? = nil, status: Int = 200) -> CallOutcome {
    var members: [String: JSONValue] = ["rtCode": 0, "rtMsg": ""]
    members["data"] = data
    return .reply(reply(.object(members), status: status))
  }

  static func refusal(_ code: Int64, status: Int = 200) -> CallOutcome {
    .reply(reply(["rtCode": .integer(code), "rtMsg": "the vendor's words"], status: status))
  }

  static func failing(_ status: Int, after: Int? = nil) -> CallOutcome {
    let headers = after.map { ["retry-after": String($0)] } ?? [:]
    return .reply(reply(text: "<html>", status: status, headers: headers))
  }

  static let gone = CallOutcome.unreachable(message: "gone", sent: false)
  static let lost = CallOutcome.unreachable(message: "lost", sent: true)
}

/// Drives one BSA flow and keeps its last answer.
struct DrivenBSA<Machine: FlowMachine> where Machine.Call == BSACall {
  var flow: Machine
  private(set) var last: Answer<BSACall>
  /// The call in progress, or the latest one if no call is in progress.
  private(set) var pending: BSACall?
  /// The answer when the flow asks the daemon whether the account still exists.
  var hasAccount: Bool? = true

  init(_ params: Machine.Params, _ origin: FlowContext<BSASettings>) throws {
    var moment = UsherFlowsTests.moment()
    (flow, last) = try Machine.begin(params, origin, at: &moment)
    pending = calls.first
    tellPresence(at: now)
  }

  private mutating func tellPresence(at time: Timestamp) {
    guard last == .proceed([.ask(.presence(of: BSAParts.account))]) else { return }
    receive(.answered(.presence(hasAccount)), at: time)
  }

  @discardableResult
  mutating func receive(
    _ event: FlowEvent<BSACall>, at time: Timestamp = now
  ) -> Answer<BSACall> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    if let call = calls.first { pending = call }
    tellPresence(at: time)
    return last
  }

  @discardableResult
  mutating func say(_ input: FlowInput, at time: Timestamp = now) -> Answer<BSACall> {
    receive(.input(input), at: time)
  }

  /// Delivers `outcome` as the outcome of the call in progress.
  @discardableResult
  mutating func answered(_ outcome: CallOutcome, at time: Timestamp = now) -> Answer<BSACall> {
    guard let pending else { return .ignore }
    return receive(.called(pending, outcome), at: time)
  }

  @discardableResult
  mutating func said(_ data: JSONValue? = nil, at time: Timestamp = now) -> Answer<BSACall> {
    answered(BSAParts.said(data), at: time)
  }

  @discardableResult
  mutating func refused(_ code: Int64, at time: Timestamp = now) -> Answer<BSACall> {
    answered(BSAParts.refusal(code), at: time)
  }

  @discardableResult
  mutating func answer(_ answer: LocalAuthAnswer, at time: Timestamp = now) -> Answer<BSACall> {
    receive(.answered(.localAuth(answer)), at: time)
  }

  @discardableResult
  mutating func answer(
    _ code: OneTimeCodeAnswer, at time: Timestamp = now
  ) -> Answer<BSACall> {
    receive(.answered(.oneTimeCode(code)), at: time)
  }

  /// Reports that this machine has a passcode and no fingerprint reader.
  mutating func look(_ latest: [LocalAuthProof] = [], at time: Timestamp = now) {
    answer(
      .availability(.init(biometric: .noReader, passcode: .ready, latest: latest)), at: time)
  }

  /// Completes local authentication with the passcode.
  mutating func prove(at time: Timestamp = now) {
    look(at: time)
    say(.passcode(Secret("1234-passcode")), at: time)
    answer(.checked(.accepted), at: time)
  }

  /// Stores the flow, reads it back and resumes it, as after `kill -9`.
  mutating func restart(at time: Timestamp = now) throws {
    flow = try storedAndRead(flow)
    receive(.resumed, at: time)
  }

  var state: String { flow.view.state }
  var step: Step { flow.view.step }
  var problem: Problem? { flow.view.problem }
}

// MARK: - The last answer

extension DrivenBSA {
  private var effects: [Effect<BSACall>] {
    if case .proceed(let effects) = last { effects } else { [] }
  }

  var calls: [BSACall] {
    effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
  }

  var questions: [DaemonQuestion] {
    effects.compactMap { if case .ask(let question) = $0 { question } else { nil } }
  }

  /// The pause, if the answer asks for a wake-up and for nothing else.
  var pause: Duration? {
    guard effects.count == 1, case .wake(let pause) = effects[0] else { return nil }
    return pause
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  /// The reason of the failure, with its rtCode or the SDK's error code.
  var end: End? {
    failure.map { End($0.reason, $0.provider?.code) }
  }

  var cleared: [BSACall] {
    if case .fail(_, let calls) = last { calls } else { [] }
  }

  var completion: Completion? { Machine.completion(in: last) }

  /// The name of the input field that the flow refused.
  var refusedField: String? {
    if case .refuse(let field, _) = last { field } else { nil }
  }

  var enterCode: Step.EnterCode? {
    if case .enterCode(let step) = step { step } else { nil }
  }

  var isWaiting: Bool { step.kind == .wait }
}

/// The reason and the provider code of a failure.
struct End: Equatable, Sendable {
  var reason: Failure.Reason
  var code: String?

  init(_ reason: Failure.Reason, _ code: String? = nil) {
    self.reason = reason
    self.code = code
  }
}
