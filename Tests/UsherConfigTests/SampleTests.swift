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

  /// A table of the sample with everything in force; the first where there are several.
  private func table(_ path: [String]) throws -> TomlTable {
    let root = try TomlTable.parse(Array(everything().utf8), file: "usherd.toml")
    return try path.reduce(root) { table, key in
      switch try #require(table[key]).node.value {
      case .table(let inner): return inner
      case .array(let nodes):
        guard case .table(let inner) = nodes.first?.value else { return TomlTable() }
        return inner
      case .string, .integer, .float, .boolean, .date: return TomlTable()
      }
    }
  }

  private func keys(_ path: String...) throws -> [String] { try table(path).entries.map(\.key) }

  @Test("as it is installed it changes nothing")
  func installed() throws {
    #expect(try load(sample()) == Config())
  }

  @Test("with every setting in force it is read, and still has every default")
  func uncommented() throws {
    var config = try load(everything())
    #expect(config.providers.count == 1)
    #expect(config.clients.count == 1)
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
    #expect(try keys("log") == LogSettings.keys)
    #expect(try keys("flow") == FlowSettings.keys)
    #expect(try keys("token") == TokenSettings.keys)
    #expect(try keys("provider") == ProviderConfig.keys)
    #expect(try keys("provider", "endpoints") == OIDCEndpoints.keys)
    #expect(try Set(keys("client")) == Set(ClientRule.keys))
    #expect(try keys("client", "match") == ClientMatch.keys)
  }

  @Test("the provider in it has the default wherever there is one")
  func providerDefaults() throws {
    let least = try #require(load(provider).providers.first).tomlTable
    let shown = try table(["provider"])
    for entry in least.entries where !["name", "issuer", "client_id"].contains(entry.key) {
      switch entry.node.value {
      case .table: continue
      case .array(let nodes):
        guard case .array(let found) = shown[entry.key]?.node.value else {
          #expect(Bool(false), "\(entry.key)")
          continue
        }
        #expect(found.map(\.value) == nodes.map(\.value), "\(entry.key)")
      case .string, .integer, .float, .boolean, .date:
        #expect(shown[entry.key]?.node.value == entry.node.value, "\(entry.key)")
      }
    }
  }

  @Test("every setting in it is explained by a comment right above")
  func explained() throws {
    let lines = try sample().split(separator: "\n", omittingEmptySubsequences: false)
    for (above, line) in zip(lines, lines.dropFirst())
    where line.hasPrefix("#") && !line.hasPrefix("# ") && line.count > 1 {
      #expect(above.hasPrefix("# ") || above == "#[provider.extra_authorize]", "\(line)")
    }
  }
}
