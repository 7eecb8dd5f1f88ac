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
    let providers = Workloads.all.map { $0.configuration + "\n\n" }
    let text = providers.joined() + limits + rules.joined()
    return try Config.load(files: [(path: "usherd.toml", text: text)])
  }

  /// The credentials that the operator sets after the first start, by their names.
  static var credentials: [String: String] {
    Workloads.all.reduce(into: [:]) { $0.merge($1.credentials) { $1 } }
  }

  private static let limits = """
    [limits]
    flow_starts_per_minute = 10000


    """
}
