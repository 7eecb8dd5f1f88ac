import FoundationEssentials
import JWTKit

extension OIDCBackend {
  /// Ends a person's session, and sends the browser back (RP-Initiated Logout §2). The sandbox has
  /// no sessions, so it only checks the request.
  func endSession(_ call: EndpointCall) async -> Reply {
    do {
      let form = try call.queryForm()
      let id = try await client(ending: form, call)
      guard let client = clients.named(id), form["client_id"] ?? id == id else {
        throw OAuthError("invalid_request", "client_id is unknown, or not that of the ID token")
      }
      guard let address = form["post_logout_redirect_uri"] else {
        return context.pages.message(
          title: "You are signed out", text: "You can close this window.", status: 200)
      }
      guard client.allowsRedirect(to: address) else {
        throw OAuthError("invalid_request", "post_logout_redirect_uri is not registered")
      }
      var members: [String: JSON] = [:]
      members["state"] = form["state"].map { .string($0) }
      return .redirect(to: address, adding: members)
    } catch let refusal as OAuthError {
      return context.pages.failure(refusal)
    } catch {
      return .refusal("server_error", "the sandbox failed: \(error)", status: 500)
    }
  }

  /// Returns the id of the client whose user's session ends. An ID token may have expired, but must
  /// be of this provider (RP-Initiated Logout §4).
  private func client(ending form: Form, _ call: EndpointCall) async throws -> String {
    guard let hint = form["id_token_hint"] else {
      guard !settings.requireIDTokenHint, let id = form["client_id"] else {
        throw OAuthError("invalid_request", "id_token_hint is missing")
      }
      return id
    }
    let collection = JWTKeyCollection()
    try await collection.add(jwks: keys.keySet().decoded(as: JWKS.self))
    guard let claims = try? await collection.verify(hint, as: Claims.self).members,
      claims["iss"] == .string(issuer(call)), case .string(let id)? = claims["aud"]
    else { throw OAuthError("invalid_request", "id_token_hint is not of this provider") }
    return id
  }
}
