import JSONRPC
import UsherCore

extension ProviderText {
  /// Returns a value of an ID token for an error message, cleaned and cut to 200 characters.
  static func found(_ value: JSONValue?) -> String {
    guard let value else { return "nothing" }
    let text = value.stringValue ?? String(decoding: value.encoded(), as: UTF8.self)
    return shown(text) ?? "nothing"
  }

  static func found(_ text: String) -> String { found(.string(text)) }
}

extension IDTokenClaims.Rule {
  /// The message about a broken rule, with the expected and the actual value.
  ///
  /// Nonces and hashes are secrets, and a subject is personal data. The message contains none of
  /// them.
  ///
  /// - Parameter now: The time of the check; nil if times were not checked.
  func explanation(
    about claims: [String: JSONValue], issuer: String, clientID: String, now: Timestamp?
  ) -> String {
    let found: (String) -> String = { "found \($0) \(ProviderText.found(claims[$0]))" }
    let time = now.map { "; the time is \($0.milliseconds / 1000), " } ?? "; "
    return switch self {
    case .issuer: "\(message): expected \(issuer), \(found("iss"))"
    case .audience, .otherAudience: "\(message): expected \(clientID), \(found("aud"))"
    case .authorizedParty: "\(message): expected \(clientID), \(found("azp"))"
    case .expiry: message + time + found("exp")
    case .issuedInFuture, .issuedLongAgo: message + time + found("iat")
    case .notYetValid: message + time + found("nbf")
    case .authTime: message + time + found("auth_time")
    case .authenticationClass: "\(message): \(found("acr"))"
    case .otherAuthorizedParty: "\(message): \(found("azp"))"
    case .unreadable, .subject, .nonce, .accessTokenHash, .codeHash, .stateHash, .otherSubject,
      .otherNonce:
      message
    }
  }
}
