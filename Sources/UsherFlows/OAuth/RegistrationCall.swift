import JSONRPC
package import UsherConfig
package import UsherCore

/// A call that registers the daemon as a client of a provider (RFC 7591), or changes or deletes its
/// registration (RFC 7592).
package enum RegistrationCall: ProviderCall {
  /// - Parameter token: The initial access token, if the provider demands one.
  case register(ClientMetadata, endpoint: String, token: Secret?)
  case update(ClientMetadata, ClientRegistration, ClientRegistration.Management)
  case delete(ClientRegistration.Management)

  package var name: String { "registration" }

  package func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    switch self {
    case .register(let metadata, let endpoint, let token):
      return .json(
        .post, endpoint, metadata.members,
        [token.map { HTTPRequest.Header.bearer($0) }].compactMap(\.self))
    case .update(let metadata, let registration, let management):
      var members = metadata.members
      members["client_id"] = .string(registration.clientID)
      members["client_secret"] = registration.secret.map { .string($0.revealed()) }
      return .json(
        .put, management.uri, members, [.bearer(management.token)],
        hiding: [registration.secret].compactMap(\.self))
    case .delete(let management):
      return HTTPRequest(
        method: .delete, url: management.uri, headers: [.acceptJSON, .bearer(management.token)])
    }
  }
}
