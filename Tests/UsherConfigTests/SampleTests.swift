import FoundationEssentials
import Testing
import UsherConfig

/// The commented configuration that is installed, held against what the program knows.
@Suite("The sample configuration")
struct SampleTests {
  private func sample() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Packaging/config/usherd.toml").path
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  /// With every setting in force: a `#` right before a key or a table is taken away.
  private func everything() throws -> String {
    try sample().split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard let second = line.dropFirst().first, line.hasPrefix("#") else { return String(line) }
      return second == " " ? String(line) : String(line.dropFirst())
    }.joined(separator: "\n")
  }

  /// A table of the sample with everything in force.
  ///
  /// - Parameter place: Which one where the path goes through an array of several.
  private func table(_ path: [String], _ place: Int = 0) throws -> TomlTable {
    let root = try TomlTable.parse(Array(everything().utf8), file: "usherd.toml")
    return try path.reduce(root) { table, key in
      switch try #require(table[key]).node.value {
      case .table(let inner): return inner
      case .array(let nodes):
        guard case .table(let inner) = nodes.dropFirst(place).first?.value else {
          return TomlTable()
        }
        return inner
      case .string, .integer, .float, .boolean, .date: return TomlTable()
      }
    }
  }

  private func keys(_ path: String..., place: Int = 0) throws -> [String] {
    try table(path, place).entries.map(\.key)
  }

  @Test("as it is installed it changes nothing")
  func installed() throws {
    #expect(try load(sample()) == Config())
  }

  @Test("with every setting in force it is read, and still has every default")
  func uncommented() throws {
    var config = try load(everything())
    #expect(config.providers.map(\.settings.type) == ProviderType.configurable)
    #expect(config.clients.map(\.name) == ["till", "kiosk"])
    config.providers = []
    config.clients = []
    #expect(config == Config())
  }

  @Test("it has every key there is, in the program's order within a section")
  func complete() throws {
    #expect(try keys() == Config.keys)
    #expect(try keys("store") == StoreSettings.keys)
    #expect(try keys("access") == AccessSettings.keys)
    #expect(try keys("limits") == Limits.keys)
    #expect(try keys("audit") == AuditSettings.keys)
    #expect(try keys("log") == LogSettings.keys)
    #expect(try keys("flow") == FlowSettings.keys)
    #expect(try keys("token") == TokenSettings.keys)
    let common = ["name", "type"] + HTTPSettings.keys
    #expect(try keys("provider") == common + OIDCSettings.keys)
    #expect(try keys("provider") == ProviderConfig.keys)
    #expect(try keys("provider", "endpoints") == OIDCEndpoints.keys)
    #expect(try keys("provider", place: 1) == common + PaysafeSettings.keys)
    #expect(try keys("provider", "paths", place: 1) == PaysafePaths.keys)
    #expect(try keys("provider", place: 2) == common + TruecallerSettings.keys)
    #expect(try keys("provider", "paths", place: 2) == TruecallerPaths.keys)
    #expect(try keys("provider", place: 3) == common + GoPaySettings.keys)
    #expect(try keys("provider", "paths", place: 3) == GoPayPaths.keys)
    #expect(try keys("provider", place: 4) == common + FreedomIDSettings.keys)
    #expect(try keys("provider", "paths", place: 4) == FreedomIDPaths.keys)
    #expect(try keys("provider", "endpoints", place: 4) == OIDCEndpoints.keys)
    #expect(try keys("provider", place: 5) == common + BSASettings.keys)
    #expect(try keys("provider", "totp", place: 5) == TOTPSettings.keys)
    #expect(try keys("provider", "paths", place: 5) == BSAPaths.keys)
    #expect(try Set(keys("client")) == Set(ClientRule.keys))
    #expect(try keys("client", "match") == ClientMatch.keys)
  }

  @Test(
    "each provider in it has the default wherever there is one",
    arguments: [
      (provider, 0), (wallet, 1), (phones, 2), (identities, 3), (people, 4), (members, 5),
    ])
  func providerDefaults(least: String, place: Int) throws {
    let least = try #require(load(least).providers.first).tomlTable
    let examples: Set = [
      "name", "issuer", "client_id", "base_url", "endpoints", "extra_authorize",
      "app_key_credential", "app_link", "merchant_id",
    ]
    let shown = try table(["provider"], place)
    let defaults = least.entries.filter { !examples.contains($0.key) }
    #expect(!defaults.isEmpty)
    for entry in defaults {
      #expect(shown[entry.key]?.node.value.shows(entry.node.value) ?? false, "\(entry.key)")
    }
  }

  @Test("the operation in the explanation of rules is one that a rule can have")
  func ruleExample() throws {
    let quoted = try sample().split(separator: "\"").first { $0.hasPrefix("flow.start paysafe/") }
    let pattern = try AccessPattern(setting: String(try #require(quoted)))
    let request = PolicyRequest(
      method: "flow.start", provider: "paysafe", kind: "operation", operation: "GET:/wallets/7")
    #expect(pattern.allows(request))
  }

  @Test("every setting in it is explained by a comment right above")
  func explained() throws {
    let lines = try sample().split(separator: "\n", omittingEmptySubsequences: false)
    let settings = zip(lines, lines.dropFirst()).filter { _, line in
      line.hasPrefix("#") && !line.hasPrefix("# ") && line.count > 1
    }
    // The loop below proves something only if the settings are found.
    #expect(Limits.keys.allSatisfy { key in settings.contains { $0.1.hasPrefix("#\(key) = ") } })
    for (above, line) in settings {
      #expect(above.hasPrefix("# ") || above == "#[provider.extra_authorize]", "\(line)")
    }
  }
}

extension TomlValue {
  /// A table may show more than has a default.
  fileprivate func shows(_ least: TomlValue) -> Bool {
    guard case .table(let shown) = self, case .table(let least) = least else {
      return bare == least.bare
    }
    return least.entries.allSatisfy { shown[$0.key]?.node.value.shows($0.node.value) ?? false }
  }

  /// The value as it would be written, wherever it stands.
  fileprivate var bare: String {
    TomlTable([TomlTable.Entry("x", TomlNode(self))]).text
  }
}
