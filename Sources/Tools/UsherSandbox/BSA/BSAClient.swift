/// The holder of a client key.
enum BSAClient: String, Sendable, Hashable, CaseIterable {
  /// usherd, which is the only registered app.
  case app
  /// A site to which the app is linked.
  case acme
  /// A site of another app.
  case other

  init?(key: String?) {
    guard let client = Self.allCases.first(where: { $0.key == key }) else { return nil }
    self = client
  }

  var key: String {
    switch self {
    case .app: "s3cret:bsa/client-key"
    case .acme: "s3cret:bsa/site-acme"
    case .other: "s3cret:bsa/site-other"
    }
  }

  /// The name to display.
  var name: String {
    switch self {
    case .app: "the app"
    case .acme: "Acme"
    case .other: "Other"
    }
  }
}

extension BSABackend {
  package nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "bsa"
    type = "bsa"
    base_url = "\(base)\(Self.path)"
    client_key_credential = "bsa-client-key"
    app_package = "com.example.app"
    app_version = "1.0.0"
    site_url = "\(base)\(Self.path)/site"

    # The client key is \(BSAClient.app.key)
    """
  }
}
