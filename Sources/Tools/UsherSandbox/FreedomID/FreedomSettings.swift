/// The settings of the Freedom ID fake that a test may change while it runs.
///
/// <doc:FreedomID> describes each setting.
package struct FreedomIDBackendSettings: BackendSettings, Hashable {
  /// The answer to each profile request.
  package enum ProfileAnswer: String, Sendable, Codable {
    /// The person decides on the page, or a control call does.
    case ask
    case accept
    case reject
    case fail
    case notFound
    /// There is never an answer, even if the person decides.
    case pending
  }

  package var accessTokenSeconds = 7 * 86_400
  package var refreshTokenSeconds = 28 * 86_400
  package var idTokenSeconds = 7 * 86_400
  package var linkSeconds = 600
  package var codeSeconds = 60
  package var otpSeconds = 300
  package var otpDigits = 6
  package var resendSeconds = 60
  package var attempts = 5
  package var lockSeconds = 300
  package var pendingSeconds = 86_400
  package var answeredSeconds = 3600
  package var errorsInside200 = false
  package var knowsDevices = true
  package var closedAccounts: [String] = []
  package var redirectUrls: [String] = []
  package var codeParameter = "code"
  package var newIdOnRefresh = false
  package var profileAnswer = ProfileAnswer.ask
  package var extraProfileFields = false
  package var grantsNeverAsked = false
  package var otherAccount = false
  package var revokeUri = ""
  package var accountsReply: [String: JSON] = [:]
  package var challengeReply: [String: JSON] = [:]
  package var loginReply: [String: JSON] = [:]
  package var tokenReply: [String: JSON] = [:]
  package var consentReply: [String: JSON] = [:]
  package var linkReply: [String: JSON] = [:]
  package var wayBack: [String: JSON] = [:]
  package var userReply: [String: JSON] = [:]
  package var profileReply: [String: JSON] = [:]
  package var statusReply: [String: JSON] = [:]
  package var changeReply: [String: JSON] = [:]
  package var openIDReply: [String: JSON] = [:]
  package var userinfo: [String: JSON] = [:]
  package var discovery: [String: JSON] = [:]
  package var idToken = IDTokenSettings()

  package init() {}

  /// The allowed range for `otpDigits` and `attempts`.
  static let counts = 1...20

  package func validationError(for changes: [String: JSON]) -> String? {
    let spans = [
      accessTokenSeconds, refreshTokenSeconds, idTokenSeconds, linkSeconds, codeSeconds,
      otpSeconds, resendSeconds, lockSeconds, pendingSeconds, answeredSeconds,
    ]
    return if !spans.allSatisfy(Self.seconds.contains) {
      "seconds must be 0 to \(Self.seconds.upperBound)"
    } else if ![otpDigits, attempts].allSatisfy(Self.counts.contains) {
      "otpDigits and attempts must be 1 to \(Self.counts.upperBound)"
    } else if codeParameter.isEmpty {
      "codeParameter must be a parameter name"
    } else if !revokeUri.isEmpty, CallbackURL(revokeUri) == nil {
      "revokeUri must be like http://127.0.0.1:8791/v1/callback/freedom, or empty"
    } else {
      IDTokenSettings.unknownMember(of: changes, "idToken")
    }
  }
}
