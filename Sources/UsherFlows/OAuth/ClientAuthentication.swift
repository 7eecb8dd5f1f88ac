import FoundationEssentials
import UsherConfig
import UsherCore

/// How the daemon identifies and authenticates itself as the client in one request to an OAuth
/// endpoint, by exactly one method (RFC 6749 §2.3, OIDC Core §9).
struct ClientAuthentication {
  var fields: [(name: String, value: String)]
  var headers: [HTTPRequest.Header]

  /// What the provider's metadata says about the authentication of clients at an endpoint.
  struct Terms {
    /// The methods that the endpoint accepts; nil if the metadata lists none, which means
    /// `client_secret_basic` (RFC 8414 §2).
    var methods: [String]?
    /// The algorithms of signed assertions that the endpoint accepts; nil if the metadata lists
    /// none.
    var algorithms: [String]?
    /// The audience of signed assertions.
    var audience = ""
  }

  /// Selects the method and builds the form fields and headers for it.
  ///
  /// A public client sends only its `client_id`.
  ///
  /// - Throws: `internalError` if the client has no id yet, or if the configured credential is not
  ///   set or is not a key that can sign; an error that names the file if the client's assertion in
  ///   a file cannot be used.
  init<Settings: ProviderTypeSettings>(
    _ context: RenderContext<Settings>, _ terms: Terms
  ) throws(UsherError) {
    let client = context.provider.config.definition.oauthClient
    guard !client.id.isEmpty else {
      throw UsherError(.internalError, .unregistered(context.provider.name))
    }
    guard client.profile.permits(client.auth) else {
      throw UsherError(
        .internalError,
        "provider \(context.provider.name): its client is registered for client_auth "
          + "\(client.auth.settingText), which profile \(client.profile.rawValue) does not permit; "
          + "set client_credential, the name of a private key, and run: usherctl provider register "
          + "\(context.provider.name) --update")
    }
    if let file = client.assertionFile {
      (fields, headers) = (Self.fields(client.id, try context.assertion(inFile: file)), [])
      return
    }
    guard client.credential != nil else {
      (fields, headers) = ([("client_id", client.id)], [])
      return
    }
    let secret = try context.requiredCredential()
    let methods = client.auth.methods(accepted: terms.methods, hasKey: ClientKey.isPEM(secret))
    let method = methods[context.clientAuthAttempt % methods.count]
    if let flaw = method.flaw(of: secret) {
      throw UsherError(.internalError, "credential \(client.credential ?? "") \(flaw)")
    }
    switch method {
    case .basic: (fields, headers) = ([], [Self.basic(client.id, secret)])
    case .post:
      fields = [("client_id", client.id), ("client_secret", secret.revealed())]
      headers = []
    case .clientSecretJWT:
      let assertion = ClientAssertion(
        clientID: client.id, audience: terms.audience, at: context.transition)
      (fields, headers) = (Self.fields(client.id, assertion.signed(with: secret)), [])
    case .privateKeyJWT:
      let assertion = ClientAssertion(
        clientID: client.id, audience: terms.audience, at: context.transition)
      do throws(InvalidValue) {
        let signed = try assertion.signed(
          by: secret, profile: client.profile, accepted: terms.algorithms)
        (fields, headers) = (Self.fields(client.id, signed), [])
      } catch {
        throw UsherError(.internalError, "credential \(client.credential ?? "") \(error.message)")
      }
    // RFC 8705 §2: the TLS connection authenticates the client that `client_id` names.
    case .tlsClientAuth, .selfSignedTLSClientAuth, .auto, .none:
      (fields, headers) = ([("client_id", client.id)], [])
    }
  }

  private static func fields(
    _ clientID: String, _ assertion: Secret
  ) -> [(name: String, value: String)] {
    [
      ("client_id", clientID), ("client_assertion_type", ClientAssertion.type),
      ("client_assertion", assertion.revealed()),
    ]
  }

  /// Returns a Basic header. The client id and the secret are each form-encoded before they are
  /// joined (RFC 6749 §2.3.1).
  static func basic(_ id: String, _ secret: Secret) -> HTTPRequest.Header {
    let pair = FormEncoding.encode(id) + ":" + FormEncoding.encode(secret.revealed())
    let encoded = Data(pair.utf8).base64EncodedString()
    return HTTPRequest.Header("Authorization", Secret("Basic \(encoded)"))
  }
}

extension OIDCClientAuth {
  /// Returns why a credential must not be sent by this method, as the end of a sentence that begins
  /// with its name: it is a private key. Nil for a client secret, and for a method that sends none.
  func flaw(of credential: Secret) -> String? {
    switch self {
    case .basic, .post, .clientSecretJWT:
      ClientKey.isPEM(credential)
        ? "is a private key, which must not be used as a client secret: client_auth must be auto "
          + "or private_key_jwt, or the credential another one" : nil
    case .auto, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth, .none: nil
    }
  }

  /// Returns the methods to try, in this order: one, unless the method is chosen automatically. A
  /// provider may refuse a method that its metadata lists, or accept one that it does not list.
  ///
  /// - Parameters:
  ///   - accepted: The methods that the endpoint's metadata lists; nil if it lists none.
  ///   - hasKey: Whether the credential is a private key, which serves one method only.
  fileprivate func methods(accepted: [String]?, hasKey: Bool) -> [OIDCClientAuth] {
    guard self == .auto else { return [self] }
    if hasKey { return [.privateKeyJWT] }
    let accepted = accepted ?? []
    let known: [(name: String, method: OIDCClientAuth)] = [
      ("client_secret_basic", .basic), ("client_secret_post", .post),
      ("client_secret_jwt", .clientSecretJWT),
    ]
    let listed = known.filter { accepted.contains($0.name) }.map(\.method)
    return listed + [.basic, .post].filter { !listed.contains($0) }
  }
}
