// Grants with names (Grant Management for OAuth 2.0).
extension OIDCBackend {
  /// Returns the name of the grant that an authorization request creates or extends; nil if it says
  /// nothing about grants (§5.1).
  func grantID(_ form: Form, _ client: Client) throws(OAuthError) -> String? {
    switch form["grant_management_action"] {
    case nil:
      guard !form.has("grant_id") else {
        throw OAuthError("invalid_request", "grant_id goes with grant_management_action")
      }
      return nil
    case "create":
      guard !form.has("grant_id") else {
        throw OAuthError("invalid_request", "a new grant has no grant_id")
      }
      let id = ledger.tokenGenerator.token("grt")
      namedGrants[id] = client.id
      return id
    case "merge":
      guard let id = form["grant_id"], namedGrants[id] == client.id else {
        throw OAuthError("invalid_grant_id", "the client has no such grant")
      }
      return id
    default: throw OAuthError("invalid_request", "grant_management_action is unknown")
    }
  }

  /// Deletes a grant with all its tokens (§6.4), with an access token of the client itself.
  func deleteGrant(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let token = call.bearer ?? call.dpopToken,
        let permission = ledger.tokens.permission(of: token, now: context.clock.now()),
        permission.user.sub == permission.clientID
      else {
        throw OAuthError("invalid_token", "the access token is not valid here", status: 401)
      }
      try checkBinding(of: permission, token, call)
      guard permission.scope.contains("grant_management_revoke") else {
        throw OAuthError("insufficient_scope", "the scope is not enough", status: 403)
      }
      guard let id = call.id, namedGrants[id] == permission.clientID else {
        throw OAuthError("invalid_request", "the client has no such grant", status: 404)
      }
      namedGrants[id] = nil
      ledger.tokens.revokeGrants(named: id)
      return Reply(status: 204, headers: ["Cache-Control": "no-store"])
    }
  }
}
