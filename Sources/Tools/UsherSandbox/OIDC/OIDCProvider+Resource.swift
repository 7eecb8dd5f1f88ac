/// The address of the metadata of the protected resource (RFC 9728 §3.1).
package enum ResourceMetadataPlace: String, Sendable, Hashable, Codable {
  /// The path of the resource follows the well-known path.
  case path
  /// The well-known path alone.
  case root
  /// An address that only the challenge names.
  case custom
}

// A protected resource, such as an MCP server, whose tokens this provider issues (RFC 9728).
extension OIDCBackend {
  static let resourcePath = "/mcp"
  static let wellKnownResource = "/.well-known/oauth-protected-resource"
  static let customResourceMetadata = "/mcp-metadata/location.json"

  /// Serves a request with a token for exactly this resource that has the required scope; refuses
  /// any other.
  func serveResource(_ call: EndpointCall) async -> Reply {
    guard let token = call.bearer else { return challenge(call, nil, status: 401) }
    guard let permission = ledger.tokens.permission(of: token, now: context.clock.now()),
      permission.audience == call.base + Self.resourcePath
    else { return challenge(call, "invalid_token", status: 401) }
    let required = settings.resourceScope.split(separator: " ").map(String.init)
    guard required.allSatisfy(permission.scope.contains) else {
      return challenge(call, "insufficient_scope", status: 403)
    }
    return .json(["sub": .string(permission.user.sub)])
  }

  /// Returns the metadata of the resource (RFC 9728 §2), if the settings have it at this address.
  func resourceMetadata(_ call: EndpointCall) async -> Reply {
    guard call.path == place else {
      return .refusal("invalid_request", "the metadata is elsewhere", status: 404)
    }
    let document: [String: JSON] = [
      "resource": .string(call.base + Self.resourcePath),
      "authorization_servers": [.string(issuer(call))],
      "bearer_methods_supported": ["header"],
    ]
    return .json(.object(document.applying(overrides: settings.resourceMetadata)))
  }

  private var place: String {
    switch settings.resourceMetadataPlace {
    case .path: Self.wellKnownResource + Self.resourcePath
    case .root: Self.wellKnownResource
    case .custom: Self.customResourceMetadata
    }
  }

  /// Returns a challenge (RFC 6750 §3, RFC 9728 §5.1).
  private func challenge(_ call: EndpointCall, _ error: String?, status: Int) -> Reply {
    var parameters = ["realm=\"mcp\""]
    if let error { parameters.append("error=\"\(error)\"") }
    if settings.challengeHasScope, !settings.resourceScope.isEmpty {
      parameters.append("scope=\"\(settings.resourceScope)\"")
    }
    if settings.challengeNamesMetadata {
      parameters.append("resource_metadata=\"\(call.base)\(place)\"")
    }
    return Reply(
      status: status,
      headers: ["WWW-Authenticate": "Bearer " + parameters.joined(separator: ", ")],
      error: error)
  }
}
