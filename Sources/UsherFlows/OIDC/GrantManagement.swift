package import UsherConfig
package import UsherCore

// Grants that the provider names, so that the daemon can extend and delete them (Grant Management
// for OAuth 2.0).

extension OIDCSettings {
  /// Returns the parameters with which an authorization request says what happens to the grant
  /// (§5.1): it extends the grant that the account has, or creates another one.
  ///
  /// - Parameter grantID: The grant of the account that the sign-in names; nil if there is none.
  func grantParameters(_ grantID: Secret?, _ metadata: OIDCMetadata) -> [String: String] {
    guard grantManagement else { return [:] }
    guard let grantID, metadata.grantManagementActions?.contains("merge") ?? true else {
      return ["grant_management_action": "create"]
    }
    return ["grant_management_action": "merge", "grant_id": grantID.revealed()]
  }

  /// Returns why the provider cannot name its grants, as a sentence; nil if it can, or its metadata
  /// does not tell.
  func flaw(ofGrantManagement metadata: OIDCMetadata) -> String? {
    guard grantManagement, let actions = metadata.grantManagementActions,
      !actions.contains("create")
    else { return nil }
    return
      "grant_management is set, but the provider creates no grants that it names: its metadata "
      + "lists \(ProviderText.found(actions.joined(separator: ", ")))"
  }
}

/// Deletes a grant at the provider, with all its tokens (§6.4). An access token of the client
/// itself authorizes the call.
package struct GrantDeletion: ProviderCall {
  var grantID: Secret
  var metadata: OIDCMetadata
  /// The key to which the provider binds the access token (RFC 9449); nil if it binds it to none.
  var dpopKey: Sealed<Secret>?

  package var name: String { "grant_management" }
  package var carriesProof: Bool { dpopKey != nil }
  package var clientToken: (any ClientTokenCall)? {
    GrantManagementToken(metadata: metadata, dpopKey: dpopKey)
  }
  package func refusesClientToken(_ reply: HTTPReply) -> Bool { reply.status == 401 }

  package func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    guard let endpoint = metadata.grantManagementEndpoint, let token = context.clientToken else {
      throw UsherError(.internalError, "the provider deletes no grants, or the token is missing")
    }
    let id = FormEncoding.encode(grantID.revealed()).replacing("+", with: "%20")
    let base = endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint
    var request = HTTPRequest(
      method: .delete, url: "\(base)/\(id)", headers: [.acceptJSON], secrets: [grantID])
    if let dpopKey {
      let proof = try DPoPKey(stored: dpopKey.unsealed()).proof(
        for: .init(
          method: request.method.rawValue, url: request.url, accessToken: token,
          nonce: context.dpopNonces.nonce(for: request.url)), at: context.transition)
      request.headers += [
        .init("Authorization", Secret("DPoP \(token.revealed())")), .init("DPoP", proof),
      ]
    } else {
      request.headers.append(.bearer(token))
    }
    if context.provider.settings.clientAuth.usesCertificate {
      request.certificate = try context.clientCertificate()
    }
    return request
  }
}

/// Requests the access token with which the client deletes grants (RFC 6749 §4.4).
struct GrantManagementToken: ClientTokenCall {
  /// The scope of the access token (§6.1).
  static let scope = "grant_management_revoke"

  private static let noToken = "the provider issues no token with which grants are deleted"

  let metadata: OIDCMetadata
  let dpopKey: Sealed<Secret>?

  private var request: OIDCCall {
    .clientCredentials(scope: Self.scope, metadata).bound(to: dpopKey)
  }

  var name: String { request.name }
  var carriesProof: Bool { request.carriesProof }
  var endpoint: ProviderEndpoint { request.endpoint }
  func secretFiles(_ settings: OIDCSettings) -> [String] { request.secretFiles(settings) }

  func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    try request.render(context)
  }

  func read(_ reply: HTTPReply) -> ClientTokenReply {
    var asked = TokenRequest(provider: ProviderName(""), scope: Self.scope)
    if dpopKey != nil { asked.rules.tokenTypes = TokenReplyRules.dpop }
    let start = Timestamp(milliseconds: 0)
    switch TokenReply(reply, to: asked, at: start) {
    case .granted(let tokens):
      let lifetime = tokens.expiresAt.map { $0 - start } ?? .zero
      return .granted(tokens.accessToken.unsealed(), lifetime: lifetime)
    // The reply stands for that of the deletion, so one that could mean success is not passed on.
    case .dead: return .unreadable(Self.noToken)
    case .misconfigured, .rejected, .retry:
      return reply.status < 300 ? .unreadable(Self.noToken) : .refused
    case .unreadable(let message): return .unreadable(message)
    }
  }
}
