import FoundationEssentials

extension OIDCBackend: SignInBackend {
  /// Answers the client in the response mode of its request, with `iss` (RFC 9207) and the
  /// overrides from the settings.
  func authorizationResponse(
    to target: ResponseTarget, _ call: EndpointCall, _ parameters: [String: String]
  ) async -> Reply {
    var members = parameters.mapValues { JSON.string($0) }
    members["state"] = target.state.map { .string($0) }
    members["iss"] = .string(issuer(call) + settings.responseIssuerSuffix)
    members = members.applying(overrides: settings.authorizeResponse)
    if target.mode.isSigned, settings.signedResponse.omit != true {
      do {
        members = ["response": .string(try await signed(members, for: target.clientID))]
      } catch {
        return .refusal("server_error", "the sandbox failed: \(error)", status: 500)
      }
    }
    return target.mode.isPosted
      ? context.pages.formPost(members, to: target.redirectURI, error: parameters["error"])
      : .redirect(to: target.redirectURI, adding: members, error: parameters["error"])
  }

  /// Signs the parameters of a response (JARM §2.1).
  private func signed(_ members: [String: JSON], for clientID: String) async throws -> String {
    var claims = members
    claims["aud"] = .string(clientID)
    claims["exp"] = .integer(Int(context.clock.now().timeIntervalSince1970) + 600)
    return try await keys.idToken(claims, settings.signing(settings.signedResponse))
  }
}
