import FoundationEssentials

/// A client that has registered itself (RFC 7591).
struct Registration: Sendable {
  /// The members of the registration, with those that the server has chosen.
  var members: [String: JSON]
  var secret: String?
  var secretExpiresAt: Date?
  /// The registration access token (RFC 7592 §3). Each answer has a new one.
  var token: String

  var method: String { members["token_endpoint_auth_method"]?.text ?? "" }
  var keys: JSON? { members["jwks"] }
}

extension OIDCBackend {
  private static let secretMethods: Set = [
    "client_secret_basic", "client_secret_post", "client_secret_jwt",
  ]
  /// The members that only the server writes (RFC 7592 §2.2).
  private static let serverMembers = [
    "registration_access_token", "registration_client_uri", "client_secret_expires_at",
    "client_id_issued_at",
  ]

  /// Handles the registration endpoint (RFC 7591 §3).
  func register(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let expected = settings.registrationToken
      guard expected.isEmpty || call.bearer == expected else {
        throw OAuthError("invalid_token", "an initial access token is needed", status: 401)
      }
      let members = try metadata(call)
      guard members["client_id"] == nil, members["client_secret"] == nil else {
        throw OAuthError("invalid_client_metadata", "the server chooses client_id and its secret")
      }
      let id = ledger.tokenGenerator.token("cl")
      return answer(set(members, for: id, earlier: nil), id, call, status: 201)
    }
  }

  /// Returns a registration (RFC 7592 §2.1).
  func readRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let (id, registration) = try registration(call)
      return answer(registration, id, call, status: 200)
    }
  }

  /// Replaces a registration (RFC 7592 §2.2).
  func updateRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let (id, earlier) = try registration(call)
      var members = try metadata(call)
      guard members.removeValue(forKey: "client_id") == .string(id) else {
        throw OAuthError("invalid_client_metadata", "client_id is missing or another one")
      }
      let secret = members.removeValue(forKey: "client_secret")
      guard secret == nil || secret == earlier.secret.map({ .string($0) }) else {
        throw OAuthError("invalid_client_metadata", "client_secret is not the current one")
      }
      return answer(set(members, for: id, earlier: earlier), id, call, status: 200)
    }
  }

  /// Deletes a client with all its tokens (RFC 7592 §2.3).
  func deleteRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let (id, _) = try registration(call)
      registrations[id] = nil
      clients.remove(id)
      ledger.tokens.revokeGrants(of: id)
      return Reply(status: 204, headers: ["Cache-Control": "no-store"])
    }
  }

  /// Lists the clients that have registered themselves, with their secrets.
  func readRegistrations(_ call: EndpointCall) async -> Reply {
    let clients = registrations.sorted { $0.key < $1.key }.map { id, registration in
      var members = registration.members
      members["client_id"] = .string(id)
      members["client_secret"] = registration.secret.map { .string($0) }
      members["registration_access_token"] = .string(registration.token)
      return JSON.object(members)
    }
    return .json(["clients": .array(clients)])
  }

  private func registration(_ call: EndpointCall) throws(OAuthError) -> (String, Registration) {
    guard let id = call.id, let registration = registrations[id], call.bearer == registration.token
    else {
      throw OAuthError("invalid_token", "the registration access token is wrong", status: 401)
    }
    return (id, registration)
  }

  /// Reads and checks the client's metadata (RFC 7591 §2).
  private func metadata(_ call: EndpointCall) throws(OAuthError) -> [String: JSON] {
    guard call.contentType == "application/json",
      case .object(let members)? = try? JSON(parsing: call.body)
    else { throw OAuthError("invalid_client_metadata", "the body is not a JSON object") }
    if let name = Self.serverMembers.first(where: { members[$0] != nil }) {
      throw OAuthError("invalid_client_metadata", "only the server writes \(name)")
    }
    guard let uris = members["redirect_uris"]?.texts, !uris.isEmpty,
      uris.allSatisfy({ $0.hasPrefix("http://127.0.0.1") || $0.hasPrefix("http://localhost") })
    else { throw OAuthError("invalid_redirect_uri", "redirect_uris must be loopback addresses") }
    guard members["application_type"] == "native" else {
      throw OAuthError("invalid_client_metadata", "a loopback address is for native clients only")
    }
    guard members["grant_types"]?.texts?.contains("authorization_code") == true,
      members["response_types"] == ["code"]
    else { throw OAuthError("invalid_client_metadata", "grant_types or response_types is wrong") }
    let methods =
      settings.clientAuthMethods.isEmpty
      ? Self.secretMethods.union(["none", "private_key_jwt"]) : Set(settings.clientAuthMethods)
    guard let method = members["token_endpoint_auth_method"]?.text, methods.contains(method) else {
      throw OAuthError("invalid_client_metadata", "token_endpoint_auth_method is not offered")
    }
    guard method != "private_key_jwt" || members["jwks"] != nil else {
      throw OAuthError("invalid_client_metadata", "jwks is missing")
    }
    return members
  }

  private func set(
    _ members: [String: JSON], for id: String, earlier: Registration?
  ) -> Registration {
    var registration = Registration(
      members: members, secret: earlier?.secret, secretExpiresAt: earlier?.secretExpiresAt,
      token: ledger.tokenGenerator.token("reg"))
    if !Self.secretMethods.contains(registration.method) {
      registration.secret = nil
    } else if registration.secret == nil || registration.secretExpiresAt != nil {
      registration.secret = ledger.tokenGenerator.token("cs")
      registration.secretExpiresAt =
        settings.registrationSecretSeconds == 0
        ? nil
        : context.clock.now().addingTimeInterval(Double(settings.registrationSecretSeconds))
    }
    registrations[id] = registration
    clients.set(
      Client(
        id: id, name: members["client_name"]?.text ?? id, secret: registration.secret,
        redirectURIs: members["redirect_uris"]?.texts ?? []))
    return registration
  }

  /// Returns the client information response (RFC 7591 §3.2.1), with the overrides from the
  /// settings.
  private func answer(
    _ registration: Registration, _ id: String, _ call: EndpointCall, status: Int
  ) -> Reply {
    var members = registration.members
    members["client_id"] = .string(id)
    members["registration_client_uri"] = .string("\(issuer(call))/register/\(id)")
    members["registration_access_token"] = .string(registration.token)
    if let secret = registration.secret {
      members["client_secret"] = .string(secret)
      members["client_secret_expires_at"] = .integer(
        registration.secretExpiresAt.map { Int($0.timeIntervalSince1970) } ?? 0)
    }
    return .json(
      .object(members.applying(overrides: settings.registrationReply)), status: status)
  }

  /// Checks that a client that has registered itself uses the method that it has registered, and a
  /// secret that is still valid.
  func checkRegistration(of client: String, method: String) throws(OAuthError) {
    guard let registration = registrations[client] else { return }
    let isAssertion = method == "private_key_jwt"
    let isRegistered =
      registration.method == method || (isAssertion && registration.method == "client_secret_jwt")
    guard isRegistered else {
      throw .client("the client has registered another method than \(method)")
    }
    guard registration.secretExpiresAt.map({ $0 > context.clock.now() }) ?? true else {
      throw .client("the client secret has expired")
    }
  }
}

extension JSON {
  /// The texts of an array; nil if this is not an array.
  fileprivate var texts: [String]? {
    guard case .array(let values) = self else { return nil }
    return values.compactMap(\.text)
  }
}
