extension OIDCBackend {
  /// Returns the metadata of OIDC Discovery §3 and RFC 8414 §2 as one document.
  func discovery(_ call: EndpointCall) async -> Reply {
    guard settings.discoveryDocuments != .oauth else { return Self.noDocument }
    return document(call)
  }

  /// Returns the metadata at the address of RFC 8414.
  func oauthDiscovery(_ call: EndpointCall) async -> Reply {
    guard settings.discoveryDocuments != .openid else { return Self.noDocument }
    return document(call)
  }

  private static let noDocument = Reply.refusal(
    "invalid_request", "the metadata is elsewhere", status: 404)

  private func document(_ call: EndpointCall) -> Reply {
    .json(.object(metadata(issuer: issuer(call))))
  }

  /// - Parameter issuer: The issuer, below which the endpoints are.
  func metadata(issuer: String) -> [String: JSON] {
    func url(_ name: String) -> JSON { .string("\(issuer)/\(name)") }
    let methods: JSON = [
      "none", "client_secret_basic", "client_secret_post", "tls_client_auth",
      "self_signed_tls_client_auth",
    ]
    let encryptions: JSON = ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"]
    var document: [String: JSON] = [
      "issuer": .string(issuer),
      "authorization_endpoint": url("authorize"),
      "token_endpoint": url("token"),
      "pushed_authorization_request_endpoint": url("par"),
      "require_pushed_authorization_requests": .bool(settings.demandsPushedRequests),
      "registration_endpoint": url("register"),
      "jwks_uri": url("jwks"),
      "userinfo_endpoint": url("userinfo"),
      "revocation_endpoint": url("revoke"),
      "introspection_endpoint": url("introspect"),
      "device_authorization_endpoint": url("device_authorization"),
      "end_session_endpoint": url("logout"),
      "backchannel_authentication_endpoint": url("bc-authorize"),
      "backchannel_token_delivery_modes_supported": ["poll"],
      "response_types_supported": ["code"],
      "response_modes_supported": .array(ResponseMode.allCases.map { .string($0.rawValue) }),
      "grant_types_supported": [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
        .string(Self.tokenExchangeGrant), .string(Self.jwtBearerGrant),
        .string(Self.backchannelGrant),
      ],
      "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256"],
      "userinfo_signing_alg_values_supported": ["RS256", "ES256", "HS256"],
      "id_token_encryption_alg_values_supported": encryptions,
      "userinfo_encryption_alg_values_supported": encryptions,
      "scopes_supported": ["openid", "profile", "email", "phone", "address", "offline_access"],
      "claims_supported": [
        "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "name",
        "given_name", "family_name", "gender", "picture", "preferred_username", "email",
        "email_verified", "phone_number", "phone_number_verified", "address",
      ],
      "token_endpoint_auth_methods_supported": methods,
      "revocation_endpoint_auth_methods_supported": methods,
      "introspection_endpoint_auth_methods_supported": [
        "client_secret_basic", "client_secret_post",
      ],
      "code_challenge_methods_supported": ["S256"],
      "authorization_signing_alg_values_supported": ["RS256", "ES256"],
      "dpop_signing_alg_values_supported": .array(DPoPProof.algorithms),
      "authorization_response_iss_parameter_supported": true,
      "claims_parameter_supported": true,
    ]
    describeRequestObjects(&document)
    describeProfile(&document)
    describeDrafts(&document, url)
    if let base = context.tls?.base { describeTLS(&document, at: base + path) }
    if let service { document = document.filter { service.metadata.contains($0.key) } }
    return document.applying(overrides: settings.discovery)
  }

  /// Adds what RFC 9101 defines: how clients sign their authorization requests.
  private func describeRequestObjects(_ document: inout [String: JSON]) {
    document["request_parameter_supported"] = true
    document["require_signed_request_object"] = .bool(settings.requireSignedRequests)
    document["request_object_signing_alg_values_supported"] = [
      "RS256", "PS256", "ES256", "ES384", "EdDSA",
    ]
    document["request_uri_parameter_supported"] = false
  }

  /// Adds what specifications define that are still drafts.
  private func describeDrafts(_ document: inout [String: JSON], _ url: (String) -> JSON) {
    document["client_id_metadata_document_supported"] = true
    document["grant_management_endpoint"] = url("grants")
    document["grant_management_actions_supported"] = ["create", "merge"]
  }

  /// Adds what RFC 8705 defines: the addresses for clients with certificates, and whether tokens
  /// are bound to them.
  private func describeTLS(_ document: inout [String: JSON], at issuer: String) {
    let names = [
      "token_endpoint", "revocation_endpoint", "introspection_endpoint", "userinfo_endpoint",
      "device_authorization_endpoint", "pushed_authorization_request_endpoint",
      "backchannel_authentication_endpoint",
    ]
    let plain = document
    let aliases = names.compactMap { name -> (String, JSON)? in
      guard case .string(let url)? = plain[name], let last = url.split(separator: "/").last else {
        return nil
      }
      return (name, .string("\(issuer)/\(last)"))
    }
    document["mtls_endpoint_aliases"] = .object(Dictionary(uniqueKeysWithValues: aliases))
    document["tls_client_certificate_bound_access_tokens"] =
      .bool(settings.bindsTokensToCertificate)
  }

  func jwks(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      .json(try keys.keySet(rsaAlgorithm: settings.fapi2 ? "PS256" : "RS256"))
    }
  }

  /// Returns the same key set at a path of the client's, as Truecaller does.
  func jwksOfClient(_ call: EndpointCall) async -> Reply {
    guard let id = call.parameters["client"], clients.named(id) != nil else {
      return .refusal("invalid_request", "there is no such client", status: 404)
    }
    return await jwks(call)
  }
}
