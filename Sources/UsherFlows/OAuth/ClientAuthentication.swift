import FoundationEssentials
import UsherConfig
import UsherCore

/// How the daemon identifies and authenticates itself as the client in one request to an OAuth
/// endpoint, by exactly one method (RFC 6749 §2.3).
struct ClientAuthentication {
  var fields: [(name: String, value: String)]
  var headers: [HTTPRequest.Header]

  /// Selects the method and builds the form fields and headers for it.
  ///
  /// A public client sends only its `client_id`.
  ///
  /// - Parameter accepted: The methods that the endpoint's metadata lists. Nil if it lists none,
  ///   which means `client_secret_basic` (RFC 8414 §2).
  /// - Throws: `internalError` if the configured credential is not set.
  init<Settings: ProviderTypeSettings>(
    _ context: RenderContext<Settings>, accepted: [String]?
  ) throws(UsherError) {
    let client = context.provider.config.definition.oauthClient
    guard client.credential != nil else {
      fields = [("client_id", client.id)]
      headers = []
      return
    }
    let secret = try context.requiredCredential()
    if Self.usesPost(client.auth, accepted ?? []) {
      fields = [("client_id", client.id), ("client_secret", secret.revealed())]
      headers = []
    } else {
      fields = []
      headers = [Self.basic(client.id, secret)]
    }
  }

  private static func usesPost(_ configured: OIDCClientAuth, _ accepted: [String]) -> Bool {
    switch configured {
    case .basic: false
    case .post: true
    case .auto, .none:
      !accepted.contains("client_secret_basic") && accepted.contains("client_secret_post")
    }
  }

  /// Returns a Basic header. The client id and the secret are each form-encoded before they are
  /// joined (RFC 6749 §2.3.1).
  private static func basic(_ id: String, _ secret: Secret) -> HTTPRequest.Header {
    let pair = FormEncoding.encode(id) + ":" + FormEncoding.encode(secret.revealed())
    let encoded = Data(pair.utf8).base64EncodedString()
    return HTTPRequest.Header("Authorization", Secret("Basic \(encoded)"))
  }
}
