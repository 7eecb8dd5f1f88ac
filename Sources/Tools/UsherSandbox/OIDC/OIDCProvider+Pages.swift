extension OIDCBackend: SignInBackend {
  /// Redirects to the client, with `iss` (RFC 9207) and the overrides from the settings.
  func authorizationResponse(
    to redirectURI: String, state: String?, _ call: EndpointCall, _ parameters: [String: String]
  ) -> Reply {
    var members = parameters.mapValues { JSON.string($0) }
    members["state"] = state.map { .string($0) }
    members["iss"] = .string(issuer(call))
    return .redirect(
      to: redirectURI, adding: members.applying(overrides: settings.authorizeResponse),
      error: parameters["error"])
  }
}
