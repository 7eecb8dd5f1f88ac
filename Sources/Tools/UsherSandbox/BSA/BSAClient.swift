/// The holder of a client key.
enum BSAClient: String, Sendable, Hashable, CaseIterable {
  /// usherd, which is the only registered app.
  case app
  /// A site to which the app is linked.
  case acme
  /// A site of another app.
  case other

  /// The client key in the examples of the vendor's documentation: another key of the app.
  private static let exampleKey = "a1hrg2xv..."

  init?(key: String?) {
    if key == Self.exampleKey {
      self = .app
    } else if let client = Self.allCases.first(where: { $0.key == key }) {
      self = client
    } else {
      return nil
    }
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
