extension OIDCBackend: SignInBackend {
  /// Answers the client in the response mode of its request, with `iss` (RFC 9207) and the overrides
  /// from the settings.
  func authorizationResponse(
    to target: ResponseTarget, _ call: EndpointCall, _ parameters: [String: String]
  ) async -> Reply {
    var members = parameters.mapValues { JSON.string($0) }
    members["state"] = target.state.map { .string($0) }
    members["iss"] = .string(issuer(call))
    members = members.applying(overrides: settings.authorizeResponse)
    switch target.mode {
    case .query:
      return .redirect(to: target.redirectURI, adding: members, error: parameters["error"])
    case .formPost:
      return context.pages.formPost(members, to: target.redirectURI, error: parameters["error"])
    }
  }
}
