import FoundationEssentials

/// The only registered partner and its credentials.
enum FreedomPartner {
  static let name = "Acme"
  /// The API key for the device API.
  static let apiKey = "s3cret:freedom/api-key"
  /// A valid API key for another kind of client.
  static let otherKey = "s3cret:freedom/partner-key"
  static let client = Client(id: "acme", name: name, secret: "s3cret:freedom/client+=")
  static let clients = ClientRegistry([client])

  /// Whether the address is `http` on loopback with the path `/callback` and at most one further
  /// segment, or is in `redirectUrls`.
  static func allowsRedirect(to uri: String, _ settings: FreedomIDBackendSettings) -> Bool {
    if settings.redirectUrls.contains(uri) { return true }
    guard let url = ReturnURL(uri), url.isLoopback, uri.hasPrefix("http://"),
      let path = URLComponents(string: uri)?.path
    else { return false }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    return segments.first == "callback" && segments.count <= 2
  }
}

extension FreedomIDBackend {
  package nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "freedom"
    type = "freedomid"
    mode = "device"
    base_url = "\(base)\(Self.path)"
    api_key_credential = "freedom-api-key"

    # The API key is \(FreedomPartner.apiKey)

    # For mode = "oauth2" or "oidc"; the secret is \(FreedomPartner.client.secret ?? "")
    # client_id = "\(FreedomPartner.client.id)"
    # client_credential = "freedom-secret"
    # redirect = "loopback"

    # For mode = "oauth2"
    # api_base_url = "\(base)\(Self.path)"

    # To receive log-outs, POST {"revokeUri": "http://127.0.0.1:8791/…"}
    # to /_control\(Self.path)/settings
    # callback_listen = "127.0.0.1:8791"
    """
  }
}
