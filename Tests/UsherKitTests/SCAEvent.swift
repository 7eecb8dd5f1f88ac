import JSONRPC
import UsherKit

/// The SCA event `e` of the wallet operation `w`, with requests and daemon calls about it.
enum SCAEvent {
  typealias IdentityVerification = Wallet.SCAAuthenticationEventAttemptVerification
  typealias Challenge = Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  typealias Attempt = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest

  static let sms = IdentityVerification(method: .otp, channel: .sms)
  static let pin = IdentityVerification(method: .pin)
  static let pinByPage = IdentityVerification(method: .pin, channel: .redirect)
  static let push = IdentityVerification(method: .pushNotification, channel: .pushNotification)

  static func challenge(_ verification: IdentityVerification) -> Challenge {
    Challenge(walletOperationID: "w", verification: verification)
  }

  static func attempt(_ verification: IdentityVerification = sms, _ value: String = "123456")
    -> Attempt
  {
    Attempt(walletOperationID: "w", verification: verification, value: value)
  }
}

extension Turn {
  static let found = Turn.ask(
    "flow.list", PaysafeFlow.scaFlows("e"), PaysafeFlow.list("sca", "flw_1"))

  /// The search for a flow of any status.
  static let foundAny = Turn.ask(
    "flow.list", PaysafeFlow.anyFlows, PaysafeFlow.list("sca", "flw_1"))

  static let foundNone = Turn.ask(
    "flow.list", PaysafeFlow.anyFlows, PaysafeFlow.none)

  /// The call that starts a flow for a challenge by SMS that was sent elsewhere.
  static let startsChallenged = Turn.starts(
    ["method": "OTP", "channel": "SMS"],
    PaysafeFlow.snapshot("sca", 2, "challenged", id: "flw_2", step: PaysafeFlow.enterCode()),
    with: ["isChallenged": true])

  static let notFound = Turn.ask("flow.list", PaysafeFlow.scaFlows("e"), PaysafeFlow.none)

  /// Returns the call that reads the found flow, with `step` at revision 5.
  static func returnsStep(_ step: String) -> Turn {
    .ask(
      "flow.get", PaysafeFlow.flow(), PaysafeFlow.snapshot("sca", 5, "challenged", step: step))
  }

  /// Returns the call that starts a flow for the event.
  static func starts(
    _ verification: JSONValue, _ reply: String, with more: [String: JSONValue] = [:]
  ) -> Turn {
    let params: [String: JSONValue] = [
      "eventId": "e", "walletOperationId": "w", "verification": verification,
    ]
    return .ask("flow.start", PaysafeFlow.start("sca", .object(params.merging(more) { $1 })), reply)
  }

  /// Returns the call that answers the step at revision 5.
  static func answers(_ input: JSONValue, _ reply: String) -> Turn {
    .ask("flow.submit", PaysafeFlow.answer(input, at: 5), reply)
  }
}
