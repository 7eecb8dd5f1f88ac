/// The security profile that the operator demands of an OpenID provider (setting `profile`).
///
/// With a profile the daemon acts as the profile says, and refuses a provider, an answer or another
/// setting that contradicts it. Without one the daemon follows what the provider's metadata demands
/// and the other settings say.
package enum OIDCProfile: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case none
  /// The FAPI 2.0 Security Profile of the OpenID Foundation.
  case fapi2
  /// FAPI 2.0 Message Signing: the Security Profile with signed authorization requests (JAR) and
  /// signed authorization responses (JARM).
  case fapi2MessageSigning = "fapi2_message_signing"

  /// Whether the FAPI 2.0 Security Profile holds.
  package var isFAPI2: Bool {
    switch self {
    case .none: false
    case .fapi2, .fapi2MessageSigning: true
    }
  }

  /// Whether authorization requests and responses must be signed.
  package var signsMessages: Bool {
    switch self {
    case .none, .fapi2: false
    case .fapi2MessageSigning: true
    }
  }

  /// The algorithms with which JWTs may be signed, in the order in which they are preferred (FAPI
  /// 2.0 Security Profile §5.4.1); nil: any.
  package var algorithms: [SigningAlgorithm]? { isFAPI2 ? [.es256, .ps256, .edDSA] : nil }

  /// Whether a client may authenticate itself by a method (FAPI 2.0 Security Profile §5.3.3.1).
  package func permits(_ auth: OIDCClientAuth) -> Bool {
    !isFAPI2 || auth == .privateKeyJWT || auth.usesCertificate
  }

  /// Returns each setting that contradicts the profile, with a message that says what the setting
  /// must be; empty if none does.
  func violations(of settings: OIDCSettings) -> [(key: String, message: String)] {
    guard let algorithms else { return [] }
    var violations: [(key: String, message: String)] = []
    func demand(_ isMet: Bool, _ key: String, _ demand: String) {
      if !isMet { violations.append((key, "must be \(demand), as profile \(rawValue) demands")) }
    }
    demand(
      permits(settings.clientAuth), "client_auth",
      "private_key_jwt, tls_client_auth or self_signed_tls_client_auth")
    demand(settings.assertionAudience == .issuer, "client_assertion_audience", "issuer")
    let signing = [
      ("id_token_signed_response_alg", settings.protection.idTokenSigning),
      ("userinfo_signed_response_alg", settings.protection.userinfoSigning),
    ]
    for (key, algorithm) in signing {
      demand(algorithm.map(algorithms.contains) ?? true, key, "ES256, PS256 or EdDSA")
    }
    let modes: [OIDCResponseMode] = signsMessages ? [.jwt] : [.query, .jwt]
    demand(
      modes.contains(settings.responseMode), "response_mode",
      modes.map(\.rawValue).joined(separator: " or "))
    demand(settings.pushedRequests != .never, "pushed_requests", "auto or always")
    demand(
      settings.signedRequests != .never || !signsMessages, "signed_requests", "auto or always")
    demand(
      settings.dpop || settings.clientAuth.usesCertificate, "dpop",
      "true if no certificate authenticates the client")
    demand(
      settings.endpoints == .blank, "endpoints",
      "absent, because only the provider's metadata may name them")
    return violations
  }

  /// Reports the settings that contradict the profile. Stored settings are not checked again: they
  /// may be those of a client that has registered itself, which is refused at run time.
  func check(_ settings: OIDCSettings, in table: SettingsTable) {
    guard !table.isStored else { return }
    for violation in violations(of: settings) {
      table.reportProblem(violation.key, violation.message)
    }
  }
}
