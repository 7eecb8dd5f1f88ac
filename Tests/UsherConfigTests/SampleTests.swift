import FoundationEssentials
import Testing
import UsherConfig

/// Compares the installed, commented configuration with the keys and defaults of the program.
@Suite("Sample configuration usherd.toml")
struct SampleTests {
  private func sample() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Packaging/config/usherd.toml").path
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  /// Returns the sample with every setting enabled: without the `#` right before a key or table.
  private func everything() throws -> String {
    try sample().split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard let second = line.dropFirst().first, line.hasPrefix("#") else { return String(line) }
      return second == " " ? String(line) : String(line.dropFirst())
    }.joined(separator: "\n")
  }

  /// Returns a table of the sample with every setting enabled.
  ///
  /// - Parameter place: The index of the element if the path leads through an array.
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

  /// Returns the keys of a table of the sample, in the form of ``SettingsSection/keys``.
  private func keys(_ path: [String], _ place: Int = 0, known: [String]) throws -> [String] {
    try table(path, place).entries.flatMap { entry in
      guard case .table(let inner) = entry.node.value,
        known.contains(where: { $0.hasPrefix("\(entry.key).") })
      else { return [entry.key] }
      return [entry.key] + inner.entries.map { "\(entry.key).\($0.key)" }
    }
  }

  @Test("the sample configuration as installed loads as the default configuration")
  func installed() throws {
    #expect(try load(sample()) == Config())
  }

  /// The settings that stand in place of others, so that a configuration has one or the other.
  private static let alternatives = ["assertion_file", "client_assertion_file"]

  @Test("the sample configuration with every setting enabled loads with every default value")
  func uncommented() throws {
    let lines = try everything().split(separator: "\n", omittingEmptySubsequences: false)
    let compatible = lines.filter { line in
      !Self.alternatives.contains { line.hasPrefix("\($0) = ") }
    }
    #expect(lines.count - compatible.count == Self.alternatives.count)
    var config = try load(compatible.joined(separator: "\n"))
    #expect(config.providers.map(\.settings.type) == ProviderType.configurable)
    #expect(config.clients.map(\.name) == ["till", "kiosk"])
    #expect(config.targets.map(\.kind.text) == ["git", "kubernetes"])
    #expect(config.warnings == [])
    config.providers = []
    config.clients = []
    config.targets = []
    #expect(config == Config())
  }

  @Test("the sample configuration has every key that the program knows, in the program's order")
  func complete() throws {
    #expect(try keys([], known: Config.keys) == Config.keys)
    for (place, type) in ProviderType.configurable.enumerated() {
      let known = ["name", "type"] + HTTPSettings.keys + type.settings.keys
      #expect(
        try keys(["provider"], place, known: known).filter { $0 != "preset" } == known, "\(type)")
    }
    #expect(try Set(keys(["client"], known: ClientRule.keys)) == Set(ClientRule.keys))
    let target = try keys(["target"], known: TargetConfig.keys)
    #expect(target == TargetConfig.keys.filter { $0 != "account" })
  }

  @Test("the sample's comment on the type of a provider names every type that it can have")
  func types() throws {
    let comment = try #require(
      sample().split(separator: "#type = ").first?.split(separator: "#name = ").last)
    for type in ProviderType.configurable { #expect(comment.contains(type.rawValue)) }
  }

  @Test(
    "each provider in the sample configuration shows the default of every optional key",
    arguments: ProviderType.configurable)
  func providerDefaults(type: ProviderType) throws {
    let place = try #require(ProviderType.configurable.firstIndex(of: type))
    let shown = try table(["provider"], place)
    let missing = problems("[[provider]]\nname = \"x\"\ntype = \"\(type.rawValue)\"\n")
    let settings = HTTPSettings.blank.tomlTable.entries + type.settings.blank.tomlTable.entries
    let defaults = settings.filter { !missing.contains(".\($0.key): is missing") }
    #expect(!missing.isEmpty && !defaults.isEmpty)
    for entry in defaults {
      #expect(shown[entry.key]?.node.value.shows(entry.node.value) ?? false, "\(entry.key)")
    }
  }

  @Test("the operation pattern in the sample's explanation of rules is valid")
  func ruleExample() throws {
    let quoted = try sample().split(separator: "\"").first { $0.hasPrefix("flow.start paysafe/") }
    let pattern = try AccessPattern(setting: String(try #require(quoted)))
    let request = PolicyRequest(
      method: "flow.start", provider: "paysafe", kind: "operation", operation: "GET:/wallets/7")
    #expect(pattern.allows(request))
  }

  @Test("every setting in the sample configuration has a comment right above it")
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
  /// Whether the value equals `least`; a table may have further keys.
  fileprivate func shows(_ least: TomlValue) -> Bool {
    guard case .table(let shown) = self, case .table(let least) = least else {
      return bare == least.bare
    }
    return least.entries.allSatisfy { shown[$0.key]?.node.value.shows($0.node.value) ?? false }
  }

  /// The value as TOML text, without its position in the file.
  fileprivate var bare: String {
    TomlTable([TomlTable.Entry("x", TomlNode(self))]).text
  }
}
