package import UsherConfig
package import UsherCore

// What a security profile demands while the daemon runs: of the provider's metadata and answers,
// and of the keys with which the client signs. What it demands of the other settings is
// `OIDCProfile.violations(of:)`.

extension OIDCProfile {
  /// Returns why the provider cannot be used with the profile, as a sentence; nil if it can, or if
  /// its metadata does not tell.
  func flaw(of metadata: OIDCMetadata, for settings: OIDCSettings) -> String? {
    guard isFAPI2 else { return nil }
    let auth = settings.clientAuth
    guard permits(auth) else {
      return "the client is registered for the authentication \(auth.registeredName)"
        + rule("5.3.3.1")
    }
    if let methods = metadata.clientAuthMethods, !methods.contains(auth.registeredName) {
      return "the provider does not offer the client authentication \(auth.registeredName): its "
        + "token_endpoint_auth_methods_supported is \(shown(methods))" + rule("5.3.3.1")
    }
    if auth == .privateKeyJWT, let listed = unusable(metadata.clientAuthAlgorithms) {
      return "the provider's token_endpoint_auth_signing_alg_values_supported is \(listed)"
        + rule("5.4.1")
    }
    if !settings.dpop, metadata.bindsAccessTokensToCertificate != true {
      return "the provider's metadata does not have tls_client_certificate_bound_access_tokens, so "
        + "access tokens may be bound to nothing" + rule("5.3.3.1") + ": set dpop = true"
    }
    return nil
  }

  /// Returns why the authorization code flow cannot be used at the provider with the profile, as
  /// ``flaw(of:for:)``.
  func flaw(ofAuthorizationAt metadata: OIDCMetadata, for settings: OIDCSettings) -> String? {
    guard isFAPI2 else { return nil }
    if metadata.pushedAuthorizationRequestEndpoint == nil {
      return "the provider's metadata has no pushed_authorization_request_endpoint"
        + rule("5.3.3.2")
    }
    let signsRequests = settings.signsRequests(required: metadata.requiresSignedRequests ?? false)
    let lists: [(isUsed: Bool, name: String, listed: [String]?)] = [
      (true, "id_token_signing_alg_values_supported", metadata.idTokenAlgorithms),
      (
        settings.responseMode.isSigned, "authorization_signing_alg_values_supported",
        metadata.responseAlgorithms
      ),
      (
        signsRequests, "request_object_signing_alg_values_supported",
        metadata.requestObjectAlgorithms
      ),
    ]
    for list in lists where list.isUsed {
      guard let listed = unusable(list.listed) else { continue }
      return "the provider's \(list.name) is \(listed)" + rule("5.4.1")
    }
    return nil
  }

  /// Returns why an answer to an authorization request must name its issuer (RFC 9207), as the end
  /// of a sentence; nil if the profile does not demand that.
  var issuerRule: String? { isFAPI2 ? rule("5.3.3.2") : nil }

  /// Returns the algorithms with which the client may sign: those of the profile, else those that
  /// the provider lists; nil if neither limits them.
  func accepted(_ listed: [String]?) -> [String]? { algorithms?.map(\.rawValue) ?? listed }

  /// Returns the algorithms with which the provider may sign.
  ///
  /// - Parameters:
  ///   - accepted: Those that the daemon accepts without a profile.
  ///   - isListed: Whether the metadata lists them; if not, the profile alone decides.
  func accepted(
    _ accepted: Set<SigningAlgorithm>, isListed: Bool
  ) -> Set<SigningAlgorithm> {
    guard let algorithms else { return accepted }
    return isListed ? accepted.intersection(algorithms) : Set(algorithms)
  }

  /// Returns why the profile does not permit a signature algorithm, as the end of a sentence; nil
  /// if it permits the algorithm.
  func refusal(of algorithm: SigningAlgorithm) -> String? {
    guard let algorithms, !algorithms.contains(algorithm) else { return nil }
    return rule("5.4.1")
  }

  /// Returns a list of the metadata that has no algorithm of the profile, for an error message; nil
  /// if it has one, or if there is no list.
  private func unusable(_ listed: [String]?) -> String? {
    guard let algorithms, let listed,
      !listed.contains(where: { name in algorithms.contains { $0.rawValue == name } })
    else { return nil }
    return shown(listed) + ", without " + algorithms.map(\.rawValue).joined(separator: ", ")
  }

  private func shown(_ list: [String]) -> String {
    "[" + ProviderText.clean(list.joined(separator: ", ")) + "]"
  }

  /// The end of a sentence about something that the profile forbids.
  private func rule(_ section: String) -> String {
    "; profile \(rawValue) does not permit that (FAPI 2.0 Security Profile §\(section))"
  }
}

extension OIDCSettings {
  /// Whether the daemon pushes its authorization requests.
  ///
  /// - Parameter required: Whether the provider accepts no others.
  func pushesRequests(required: Bool) -> Bool {
    switch pushedRequests {
    case .auto: required || profile.isFAPI2
    case .always: true
    case .never: false
    }
  }

  /// Whether the daemon signs its authorization requests.
  ///
  /// - Parameter required: Whether the provider accepts no others.
  func signsRequests(required: Bool) -> Bool {
    switch signedRequests {
    case .auto: required || profile.signsMessages
    case .always: true
    case .never: false
    }
  }
}

extension ClientKey {
  /// Reads a key with which the client signs, if the profile permits its algorithm.
  ///
  /// - Throws: The end of a sentence about the credential, which begins with its name.
  package init(pem: Secret, permittedBy profile: OIDCProfile) throws(InvalidValue) {
    guard let key = ClientKey(pem: pem) else { throw InvalidValue(Self.flaw) }
    let algorithm = key.algorithm(accepted: profile.accepted(nil))
    if let known = SigningAlgorithm(rawValue: algorithm), let refusal = profile.refusal(of: known) {
      throw InvalidValue("signs with \(algorithm)\(refusal): set an EC key on P-256")
    }
    self = key
  }
}
