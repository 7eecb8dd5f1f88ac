import FoundationEssentials

// The provider with the setting `fapi2`: it demands of its clients what the FAPI 2.0 Security
// Profile says for authorization servers (§5.3.2, §5.4), and refuses everything else.
extension OIDCBackend {
  /// The algorithms with which clients may sign.
  private static let clientAlgorithms: [JSON] = ["PS256", "ES256", "EdDSA"]
  private static let methods: [JSON] = [
    "private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth",
  ]

  /// Checks how the client authenticates itself.
  ///
  /// - Parameter method: The name of the method in OIDC Core §9.
  func checkProfile(method: String, _ form: Form) throws(OAuthError) {
    guard settings.fapi2 else { return }
    guard Self.methods.contains(.string(method)) else {
      throw .client("FAPI 2.0 does not permit the method \(method)")
    }
    guard let assertion = form["client_assertion"] else { return }
    guard Self.hasPermittedAlgorithm(assertion) else {
      throw .client("FAPI 2.0 does not permit the alg of the assertion")
    }
  }

  /// Checks a request that was pushed.
  func checkProfile(_ request: AuthorizationRequest) throws(OAuthError) {
    guard settings.fapi2, ![.query, .jwt].contains(request.responseMode) else { return }
    throw OAuthError("invalid_request", "FAPI 2.0 does not permit this response_mode")
  }

  /// Checks the form that the browser carries: it must have a reference, and nothing beside it but
  /// the client.
  func checkProfile(ofBrowser form: Form) throws(OAuthError) {
    guard settings.fapi2, form.names != ["client_id", "request_uri"] else { return }
    throw OAuthError(
      "invalid_request", "FAPI 2.0 permits only client_id and request_uri in the browser")
  }

  /// Checks a signed authorization request (FAPI 2.0 Message Signing).
  func checkProfile(of object: String, _ claims: [String: JSON]) throws(OAuthError) {
    guard settings.fapi2 else { return }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard Self.hasPermittedAlgorithm(object) else {
      throw OAuthError("invalid_request_object", "FAPI 2.0 does not permit the alg of the object")
    }
    guard case .integer(let start)? = claims["nbf"], (now - 3600...now).contains(start) else {
      throw OAuthError("invalid_request_object", "nbf is missing, or more than an hour ago")
    }
  }

  private static func hasPermittedAlgorithm(_ token: String) -> Bool {
    guard let header = token.split(separator: ".").first, let bytes = Base64.decodedURL(header),
      let algorithm = (try? JSON(parsing: bytes))?["alg"]
    else { return false }
    return clientAlgorithms.contains(algorithm)
  }

  /// Changes the metadata to what the profile permits.
  func describeProfile(_ document: inout [String: JSON]) {
    guard settings.fapi2 else { return }
    for endpoint in ["token", "revocation", "introspection"] {
      document["\(endpoint)_endpoint_auth_methods_supported"] = .array(Self.methods)
      document["\(endpoint)_endpoint_auth_signing_alg_values_supported"] =
        .array(Self.clientAlgorithms)
    }
    for kind in ["id_token", "userinfo", "authorization"] {
      document["\(kind)_signing_alg_values_supported"] = ["PS256", "ES256"]
    }
    document["request_object_signing_alg_values_supported"] = .array(Self.clientAlgorithms)
    document["response_modes_supported"] = ["query", "jwt"]
    document["grant_types_supported"] = [
      "authorization_code", "refresh_token", "client_credentials", .string(Self.backchannelGrant),
    ]
    document["device_authorization_endpoint"] = nil
  }
}

extension OIDCBackendSettings {
  /// Whether only pushed authorization requests are accepted.
  var demandsPushedRequests: Bool { requirePushedRequests || fapi2 }

  /// Whether tokens are bound to the certificate of the connection.
  var bindsTokensToCertificate: Bool { certificateBoundTokens || fapi2 }

  /// Returns how a token is signed: with an algorithm of the profile if nothing else is set.
  func signing(_ token: IDTokenSettings) -> IDTokenSettings {
    guard fapi2, token.alg == nil else { return token }
    var token = token
    token.alg = .ps256
    return token
  }
}
