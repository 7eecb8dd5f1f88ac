import JSONRPC
package import UsherConfig
package import UsherCore

/// The daemon's registration as a client of a provider, with its secrets (RFC 7591 §3.2.1).
package struct ClientRegistration: Sendable, Equatable {
  /// The issuer at which the client is registered.
  package var issuer: String
  package var clientID: String
  package var auth: OIDCClientAuth
  /// The client secret; nil if the method of authentication needs none.
  package var secret: Secret?
  /// When the client secret expires; nil if it does not.
  package var secretExpiresAt: Timestamp?
  package var redirectURIs: [String]
  /// How the registration is changed and deleted; nil if the provider does not offer that.
  package var management: Management?

  /// The client configuration endpoint (RFC 7592 §3).
  package struct Management: Sendable, Equatable {
    /// `registration_client_uri`.
    package var uri: String
    /// `registration_access_token`.
    package var token: Secret
  }

  /// The registration without its secrets.
  package var client: RegisteredClient {
    RegisteredClient(issuer: issuer, id: clientID, hasSecret: secret != nil, auth: auth)
  }
}

// The form in the store, where the whole text is sealed.
extension ClientRegistration {
  package var stored: Secret {
    var members: [String: JSONValue] = [
      "issuer": .string(issuer), "client_id": .string(clientID),
      "token_endpoint_auth_method": .string(auth.registeredName),
      "redirect_uris": .array(redirectURIs.map { .string($0) }),
    ]
    members["client_secret"] = secret.map { .string($0.revealed()) }
    members["client_secret_expires_at"] = secretExpiresAt.map { .integer($0.milliseconds / 1000) }
    members["registration_client_uri"] = management.map { .string($0.uri) }
    members["registration_access_token"] = management.map { .string($0.token.revealed()) }
    return Secret(String(decoding: JSONValue.object(members).encoded(), as: UTF8.self))
  }

  /// Reads what ``stored`` has written; nil for any other text.
  package init?(stored: Secret) {
    guard let members = try? JSONValue(parsing: stored.revealed()),
      let issuer = members["issuer"]?.stringValue, let id = members["client_id"]?.stringValue,
      let method = members["token_endpoint_auth_method"]?.stringValue,
      let auth = OIDCClientAuth(registeredName: method)
    else { return nil }
    self.issuer = issuer
    clientID = id
    self.auth = auth
    secret = members["client_secret"]?.stringValue.map { Secret($0) }
    secretExpiresAt = members["client_secret_expires_at"]?.integerValue.map {
      Timestamp(seconds: Double($0))
    }
    redirectURIs = members["redirect_uris"]?.arrayValue?.compactMap(\.stringValue) ?? []
    guard let uri = members["registration_client_uri"]?.stringValue,
      let token = members["registration_access_token"]?.stringValue
    else { return }
    management = Management(uri: uri, token: Secret(token))
  }
}

/// The provider's answer to a registration or to a change of it.
package typealias RegistrationReply = OAuthReply<ClientRegistration>

extension OAuthReply where Granted == ClientRegistration {
  /// Reads the answer, and checks that the daemon can be the client that the provider registered.
  ///
  /// - Parameters:
  ///   - request: What the daemon asked for. The provider may register something else.
  ///   - earlier: The registration that was changed; nil for a new one.
  package init(
    _ outcome: CallOutcome, to request: ClientMetadata, at endpoint: String,
    of provider: Provider<OIDCSettings>, replacing earlier: ClientRegistration? = nil
  ) {
    self.init(outcome) { reply in
      OAuthReply(reply, from: provider.name) { members throws(UnusableReply) in
        let reader = RegistrationReader(
          members: members, request: request, endpoint: endpoint, issuer: provider.settings.issuer)
        return try reader.registration(replacing: earlier)
      }
    }
  }
}

/// Reads the client information response (RFC 7591 §3.2.1, RFC 7592 §3).
private struct RegistrationReader {
  let members: [String: JSONValue]
  let request: ClientMetadata
  let endpoint: String
  let issuer: ProviderURL

  func registration(
    replacing earlier: ClientRegistration?
  ) throws(UnusableReply) -> ClientRegistration {
    guard let id = members["client_id"]?.stringValue, id.isVisible(upTo: 1024) else {
      throw UnusableReply("the provider's answer has no usable client_id")
    }
    if let earlier, !earlier.clientID.hasSameBytes(as: id) {
      throw UnusableReply("the provider's answer is about another client_id")
    }
    try checkUse()
    let auth = try auth()
    let issued = try text("client_secret")
    let secret = issued ?? earlier?.secret
    if auth.needsSecret, secret == nil {
      throw UnusableReply(
        "the provider registered \(auth.registeredName) but its answer has no client_secret")
    }
    return ClientRegistration(
      issuer: issuer.text, clientID: id, auth: auth, secret: auth.needsSecret ? secret : nil,
      secretExpiresAt: auth.needsSecret
        ? try expiry(otherwise: issued == nil ? earlier?.secretExpiresAt : nil) : nil,
      redirectURIs: request.redirectURIs, management: try management(replacing: earlier))
  }

  /// Checks that the flows work with what the provider registered. A member that the answer does
  /// not have counts as registered as requested.
  private func checkUse() throws(UnusableReply) {
    if let uris = list("redirect_uris"),
      !request.redirectURIs.allSatisfy({ uri in uris.contains { $0.hasSameBytes(as: uri) } })
    {
      throw UnusableReply(
        "the provider did not register the redirect URI \(request.redirectURIs.joined())")
    }
    if let grants = list("grant_types"), !grants.contains("authorization_code") {
      throw UnusableReply("the provider did not register the grant type authorization_code")
    }
    if let types = list("response_types"), !types.contains("code") {
      throw UnusableReply("the provider did not register the response type code")
    }
  }

  private func auth() throws(UnusableReply) -> OIDCClientAuth {
    guard let name = try text("token_endpoint_auth_method")?.revealed() else { return request.auth }
    let method = OIDCClientAuth(registeredName: name)
    let canSign = method != .privateKeyJWT || !request.keys.isEmpty
    guard let method, canSign, request.profile.permits(method),
      method == request.auth || request.permitsOtherAuth
    else {
      throw UnusableReply(
        "the provider registered the token_endpoint_auth_method "
          + "\(ProviderText.clean(name, limit: 100)), but usherd asked for "
          + request.auth.registeredName)
    }
    return method
  }

  /// - Parameter kept: The expiry of a secret that the answer does not replace.
  private func expiry(otherwise kept: Timestamp?) throws(UnusableReply) -> Timestamp? {
    guard let value = members["client_secret_expires_at"], !value.isNull else { return kept }
    guard let seconds = value.numberValue, seconds >= 0 else {
      throw UnusableReply("the provider's answer has no usable client_secret_expires_at")
    }
    // RFC 7591 §3.2.1 counts in seconds, and so does the stored form.
    let time = Timestamp(seconds: seconds).milliseconds / 1000 * 1000
    return seconds == 0 ? nil : Timestamp(milliseconds: time)
  }

  /// Returns where the registration is changed. The address must be at the origin of the
  /// registration endpoint or of the issuer, because the daemon sends the registration token there.
  private func management(
    replacing earlier: ClientRegistration?
  ) throws(UnusableReply) -> ClientRegistration.Management? {
    let uri = try text("registration_client_uri")?.revealed() ?? earlier?.management?.uri
    let token = try text("registration_access_token") ?? earlier?.management?.token
    guard let uri, let token else { return nil }
    guard let url = ProviderURL(usable: uri),
      url.isSameOrigin(as: issuer)
        || ProviderURL(usable: endpoint).map(url.isSameOrigin) ?? false
    else {
      throw UnusableReply(
        "the provider's answer has a registration_client_uri at another server than its own")
    }
    return ClientRegistration.Management(uri: uri, token: token)
  }

  private func text(_ name: String) throws(UnusableReply) -> Secret? {
    guard let value = members[name], !value.isNull else { return nil }
    guard let text = value.stringValue, text.isVisible(upTo: 4096) else {
      throw UnusableReply("the provider's answer has no usable \(name)")
    }
    return Secret(text)
  }

  private func list(_ name: String) -> [String]? {
    members[name]?.arrayValue?.compactMap(\.stringValue)
  }
}

extension ProviderURL {
  fileprivate func isSameOrigin(as other: ProviderURL) -> Bool {
    isSecure == other.isSecure && host == other.host && port == other.port
  }
}
