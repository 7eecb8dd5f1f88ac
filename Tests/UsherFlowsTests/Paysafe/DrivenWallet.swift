import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

typealias DrivenSCA = DrivenWallet<PaysafeSCA>
typealias DrivenOperation = DrivenWallet<PaysafeOperation>

/// A wallet flow under test, with its clock.
struct DrivenWallet<Machine: FlowMachine>: DrivenMachine where Machine.Call == PaysafeCall {
  var flow: Machine
  private(set) var last: Answer<PaysafeCall>
  /// The latest call, which the next outcome answers.
  private(set) var pending: PaysafeCall?
  var clock = now

  static var account: KnownAccount { KnownAccount(id: AccountID("acc_1"), subject: "c-1") }

  init(
    _ params: Machine.Params, settings: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws {
    let provider = try DrivenPaysafeAuthorize.provider {
      $0.pollSeconds = 3
      $0.operations = try ["GET:/wallets/*", "POST:/wallets/*/payments", "PUT:/wallets/*"].map {
        try OperationPattern(setting: $0)
      }
      try settings(&$0)
    }
    let origin = FlowContext<PaysafeSettings>(
      provider: Provider(provider)!, account: Self.account, requestID: "req-1")
    var moment = moment(clock)
    (flow, last) = try Machine.begin(params, origin, at: &moment)
    pending = calls.last
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<PaysafeCall>) -> Answer<PaysafeCall> {
    var moment = moment(clock)
    last = flow.receive(event, at: &moment)
    if let call = calls.last { pending = call }
    return last
  }

  @discardableResult
  mutating func submit(_ input: FlowInput) -> Answer<PaysafeCall> { receive(.input(input)) }

  /// Answers the latest call with this outcome.
  @discardableResult
  mutating func answer(_ outcome: CallOutcome) -> Answer<PaysafeCall> {
    guard let pending else { return .ignore }
    return receive(.called(pending, outcome))
  }

  @discardableResult
  mutating func answer(_ reply: HTTPReply) -> Answer<PaysafeCall> { answer(.reply(reply)) }

  /// Answers the latest call with five failures. After each one the flow must pause, twice as long
  /// as before, and then repeat the call.
  mutating func waitOutFive(
    _ outcome: CallOutcome, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let call = pending
    let before = state
    for seconds in [1, 2, 4, 8, 16] {
      answer(outcome)
      let told = (wake, problem?.reason, state)
      #expect(
        told == (.seconds(seconds), "provider_unreachable", before), sourceLocation: sourceLocation)
      let early = answer(reply([:]))
      receive(.woken)
      let again = calls
      let twice = receive(.woken)
      #expect(early == .ignore && twice == .ignore, sourceLocation: sourceLocation)
      #expect(again == call.map { [$0] }, sourceLocation: sourceLocation)
    }
  }

  @discardableResult
  mutating func enter(_ code: String = "123456") -> Answer<PaysafeCall> {
    submit(.code(Secret(code), fields: [:]))
  }

  /// Stores and restores the flow, as a restarted daemon does.
  @discardableResult
  mutating func restart() throws -> Answer<PaysafeCall> {
    flow = try storedAndRead(flow)
    return receive(.resumed)
  }
}

// The parts of the last answer and of the view.
extension DrivenWallet {
  var wake: Duration? {
    effects.compactMap { if case .wake(let pause) = $0 { pause } else { nil } }.last
  }

  var result: [String: JSONValue]? { completion?.result }

  var code: Step.EnterCode? {
    if case .enterCode(let step) = flow.view.step { step } else { nil }
  }

  var password: Step.EnterPassword? {
    if case .enterPassword(let step) = flow.view.step { step } else { nil }
  }

  var choice: Step.Choose? {
    if case .choose(let step) = flow.view.step { step } else { nil }
  }

  /// The ids of the offered options.
  var options: [String] { choice?.options.map(\.id) ?? [] }

  /// The verification of the challenge that the flow requests.
  var challenge: PaysafeCall.Verification? {
    if case .challenge(_, let verification, _)? = calls.first { verification } else { nil }
  }

  var isAsking: Bool { calls == [.event(WalletReplies.event)] }
}

extension PaysafeCall.Verification {
  static let sms = Self(method: "OTP", channel: "SMS")
  static let pin = Self(method: "PIN")
  static let push = Self(method: "PUSH_NOTIFICATION")
  static let redirect = Self(method: "BIOMETRIC", channel: "REDIRECT")
}

/// Replies of a wallet, with these members changed; a nil value removes the member.
enum WalletReplies {
  static let event = PaysafeCall.Event(
    account: AccountID("acc_1"), id: "evt-1", walletOperationID: "wop-1")
  static let returnURL = "https://shop.example/back"
  static let page = "https://wallet.example.com/approve/1"
  static let gone = CallOutcome.unreachable(message: "gone", sent: true)
  static let unsent = CallOutcome.unreachable(message: "no way", sent: false)

  static func challenge(
    _ changes: [String: JSONValue?] = [:], status: Int = 201
  ) -> HTTPReply {
    answer(
      [
        "authenticationMode": "EMBEDDED",
        "verification": ["method": "OTP", "channel": "SMS", "target": "+44 ••• 123"],
        "expirationTime": .string((now + .seconds(300)).description), "digits": 6,
        "currentChallenges": 1, "allowableChallenges": 3, "currentAttempts": 0,
        "allowableAttempts": 3,
      ], changes, status)
  }

  static func verdict(
    _ word: JSONValue, _ changes: [String: JSONValue?] = [:], status: Int = 200
  ) -> HTTPReply {
    answer(
      [
        "id": "att-1", "status": word, "statusReason": "BECAUSE", "currentAttempts": 1,
        "allowableAttempts": 3,
      ], changes, status)
  }

  static func standing(_ word: JSONValue, _ changes: [String: JSONValue?] = [:]) -> HTTPReply {
    answer(
      [
        "status": word, "statusReason": "BECAUSE",
        "availableVerifications": [
          ["method": "OTP", "channel": "SMS", "target": "+44 ••• 123"],
          ["method": "PASSKEYS"], ["method": "PIN"],
          ["method": "BIOMETRIC", "channel": "REDIRECT"],
        ],
        "expirationTime": .string((now + .seconds(900)).description),
        "currentChallenges": 0, "allowableChallenges": 3, "currentAttempts": 0,
        "allowableAttempts": 3,
      ], changes, 200)
  }

  /// Returns an open challenge, as the event reports it.
  static func open(_ verification: JSONValue, seconds: Int = 300) -> JSONValue {
    [
      "verification": verification, "digits": 6,
      "expirationTime": .string((now + .seconds(seconds)).description),
    ]
  }

  static func refusal(
    _ status: Int, _ code: String, message: JSONValue = "so it is", retryAfter: String? = nil
  ) -> HTTPReply {
    reply(
      ["error": ["code": .string(code), "message": message]], status: status,
      headers: retryAfter.map { ["retry-after": $0] } ?? [:])
  }

  private static func answer(
    _ members: [String: JSONValue], _ changes: [String: JSONValue?], _ status: Int
  ) -> HTTPReply {
    var members = members
    members["eventId"] = "evt-1"
    members["walletOperationId"] = "wop-1"
    for (name, value) in changes { members[name] = value }
    return reply(.object(members), status: status)
  }
}

// Flows in the states that most tests need.
extension DrivenSCA {
  /// Starts a flow about the event, with or without a wanted verification.
  init(
    wanting verification: PaysafeCall.Verification?,
    _ change: (inout PaysafeSCA.Params) -> Void = { _ in }
  ) throws {
    var params = PaysafeSCA.Params(eventId: "evt-1", walletOperationId: "wop-1")
    params.verification = verification
    change(&params)
    try self.init(params)
  }

  /// A flow that waits for a code by SMS.
  static func challenged(
    _ changes: [String: JSONValue?] = [:],
    _ change: (inout PaysafeSCA.Params) -> Void = { _ in }
  ) throws -> DrivenSCA {
    var driven = try DrivenSCA(wanting: .sms, change)
    driven.answer(WalletReplies.challenge(changes))
    return driven
  }

  /// A flow that waits for the PIN.
  static func withPIN(offering available: [PaysafeSCA.Available]? = nil) throws -> DrivenSCA {
    var driven = try DrivenSCA(wanting: .pin) { $0.availableVerifications = available }
    driven.answer(
      WalletReplies.challenge(["verification": ["method": "PIN"], "digits": nil]))
    return driven
  }

  /// A flow that waits for the confirmation on another device.
  static func pushed() throws -> DrivenSCA {
    var driven = try DrivenSCA(wanting: .push)
    driven.answer(
      WalletReplies.challenge(["verification": ["method": "PUSH_NOTIFICATION"]]))
    return driven
  }

  /// A flow that shows the provider's page.
  static func redirected(_ page: String = WalletReplies.page) throws -> DrivenSCA {
    var driven = try DrivenSCA(wanting: .redirect) { $0.returnUrl = WalletReplies.returnURL }
    driven.answer(
      WalletReplies.challenge([
        "verification": [
          "method": "BIOMETRIC", "channel": "REDIRECT", "action": ["redirectUrl": .string(page)],
        ]
      ]))
    return driven
  }
}
