import UsherConfig

/// The configurations of the simulated machine.
enum SimulatedConfig {
  /// - Parameter denied: The users to whom no tokens are handed out.
  static func load(denying denied: Set<UInt32> = []) throws(ConfigError) -> Config {
    let rules = denied.sorted().map { uid in
      """
      [[client]]
      name = "limited-\(uid)"
      match = { user = "\(SimulatedUsers.names[uid] ?? "")" }
      allow = [
        "account.*", "flow.*", "provider.get", "token.list", "token.revoke",
      ]

      """
    }
    return try Config.load(files: [(path: "usherd.toml", text: provider + rules.joined())])
  }

  /// The credentials that the operator sets after the first start, by their names.
  static let credentials = [
    "bsa-client-key": "s3cret:bsa/client-key", "truecaller-app-key": "s3cret:app/key+=",
  ]

  private static let provider = """
    [[provider]]
    name = "demo"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "usher"
    scopes = ["openid", "profile", "email", "offline_access"]
    redirect = "loopback"

    [[provider]]
    name = "truecaller"
    type = "truecaller"
    app_key_credential = "truecaller-app-key"
    app_link = "https://acme.example.com/truecaller"
    client_id = "acme-oauth"
    validation = "none"
    otp_base_url = "\(SandboxHost.base)/truecaller"
    profile_base_url_eu = "\(SandboxHost.base)/truecaller/eu"
    profile_base_url_noneu = "\(SandboxHost.base)/truecaller/noneu"

    [[provider]]
    name = "bsa"
    type = "bsa"
    base_url = "\(SandboxHost.base)/bsa"
    client_key_credential = "bsa-client-key"
    app_package = "com.example.app"
    app_version = "1.0.0"

    [limits]
    flow_starts_per_minute = 10000

    """
}
