/// The settings of the GoPay fake that a test may change while it runs.
///
/// <doc:GoPay> describes each setting.
package struct GoPayBackendSettings: BackendSettings, Hashable {
  /// The verdict that each submission gets without a control call.
  package enum Verdict: String, Sendable, Codable {
    case none
    case valid = "VALID"
    case invalid = "INVALID"
    case error = "ERROR"
  }

  /// The `authorization` of a callback.
  package enum CallbackAuthorization: String, Sendable, Codable {
    case token
    case credential
    case bearer
    case otherPerson
    case wrong
    case absent
  }

  package var authCodeSeconds = 360
  package var otpSeconds = 300
  package var sessionSeconds = 3600
  package var b2bSeconds = 900
  package var skewSeconds = 300
  package var shortTermSeconds = 3600
  package var captureTokenSeconds = 900
  package var captureSeconds = 1800
  package var closedAccounts: [String] = []
  package var redirectUrls: [String] = []
  package var verdict = Verdict.none
  package var verdictSeconds = 5
  package var reasonCode = ""
  package var pullsError = false
  package var callbackUrl = ""
  package var callbackAuthorization = CallbackAuthorization.token
  package var callbackTimes = 1
  package var callbackBody: [String: JSON] = [:]
  package var loginReply: [String: JSON] = [:]
  package var b2bReply: [String: JSON] = [:]
  package var bindingReply: [String: JSON] = [:]
  package var unbindingReply: [String: JSON] = [:]
  package var authCodeReply: [String: JSON] = [:]
  package var sessionTokenReply: [String: JSON] = [:]
  package var temporaryTokenReply: [String: JSON] = [:]
  package var captureReply: [String: JSON] = [:]
  package var submissionReply: [String: JSON] = [:]
  package var currentReply: [String: JSON] = [:]
  package var exchangeReply: [String: JSON] = [:]

  package init() {}

  /// The allowed range for the number of callbacks.
  static let times = 0...10

  package func validationError(for changes: [String: JSON]) -> String? {
    let lifetimes = [
      authCodeSeconds, otpSeconds, sessionSeconds, b2bSeconds, skewSeconds, shortTermSeconds,
      captureTokenSeconds, captureSeconds, verdictSeconds,
    ]
    return if !lifetimes.allSatisfy(Self.seconds.contains) {
      "seconds must be 0 to \(Self.seconds.upperBound)"
    } else if !Self.times.contains(callbackTimes) {
      "callbackTimes must be 0 to \(Self.times.upperBound)"
    } else if !callbackUrl.isEmpty, CallbackURL(callbackUrl) == nil {
      "callbackUrl must be like http://127.0.0.1:8790/v1/callback/partner, or empty"
    } else {
      nil
    }
  }
}
