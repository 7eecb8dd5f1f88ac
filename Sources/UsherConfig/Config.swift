package import UsherCore

/// The whole configuration. `Config()` is what holds without any file.
///
/// It never has a secret in it: a `…credential` setting names one in the credential store.
package struct Config: SettingsSection {
  package var store = StoreSettings()
  package var access = AccessSettings()
  package var limits = Limits()
  package var audit = AuditSettings()
  package var log = LogSettings()
  package var flow = FlowSettings()
  package var token = TokenSettings()
  /// In the order of the files; names are unique.
  package var providers: [ProviderConfig] = []
  /// In the order in which they are tried; names are unique.
  package var clients: [ClientRule] = []

  /// Where the settings were written, for what is found out later.
  package private(set) var sources = ConfigSources()

  package init() {}

  package static var blank: Config { Config() }

  package mutating func bind(_ table: SettingsTable) {
    table.table(&store, "store")
    table.table(&access, "access")
    table.table(&limits, "limits")
    table.table(&audit, "audit")
    table.table(&log, "log")
    table.table(&flow, "flow")
    table.table(&token, "token")
    table.tables(&providers, "provider")
    table.tables(&clients, "client")
    refuseTwins(providers.map(\.name.rawValue), "provider", table)
    refuseTwins(clients.map(\.name), "client", table)
    refuseSharedListeners(table)
    refuseUnknownProviders(table)
    refuseUnknownClients(table)
  }

  package func provider(_ name: ProviderName) -> ProviderConfig? {
    providers.first { $0.name == name }
  }

  private func refuseTwins(_ names: [String], _ key: String, _ table: SettingsTable) {
    var first: [String: Int] = [:]
    for (place, name) in names.enumerated() where !name.isEmpty {
      guard let twin = first[name] else {
        first[name] = place
        continue
      }
      let other = table.position(of: "\(key)[\(twin)].name").map { " at \($0)" } ?? ""
      table.complain("\(key)[\(place)].name", "\(key) \"\(name)\" is already defined\(other)")
    }
  }

  /// Only one provider can be told from who calls at an address.
  private func refuseSharedListeners(_ table: SettingsTable) {
    var first: [LoopbackAddress: Int] = [:]
    for (place, provider) in providers.enumerated() {
      guard let address = provider.settings.callbackAddress else { continue }
      guard let other = first[address] else {
        first[address] = place
        continue
      }
      table.complain(
        "provider[\(place)].callback_listen",
        "provider \"\(providers[other].name)\" is called at \(address.settingText) already")
    }
  }

  /// A rule that names a provider nobody configured would silently allow nothing.
  private func refuseUnknownProviders(_ table: SettingsTable) {
    guard table.isWhole else { return }
    var known = KnownNames(
      "provider", providers.map(\.name.rawValue) + [ProviderConfig.reservedName])
    for (place, client) in clients.enumerated() {
      for (item, pattern) in client.allow.enumerated() {
        guard let name = pattern.literalProvider, let refusal = known.refusal(of: name) else {
          continue
        }
        table.complain("client[\(place)].allow[\(item)]", refusal)
      }
    }
  }

  /// One that names a client nobody defined would silently do nothing, and so would one that names
  /// itself.
  private func refuseUnknownClients(_ table: SettingsTable) {
    guard table.isWhole else { return }
    var known = KnownNames("client", clients.map(\.name))
    for (place, client) in clients.enumerated() {
      for (key, list, selfish) in [
        ("confirms", client.confirms, "a client cannot answer its own questions"),
        ("share", client.share, "a client has its own accounts already"),
      ] {
        for (item, name) in list.enumerated() {
          let refusal = name == client.name ? selfish : known.refusal(of: name)
          if let refusal { table.complain("client[\(place)].\(key)[\(item)]", refusal) }
        }
      }
    }
  }
}

/// The names there are, to refuse any other with the one that may have been meant.
private struct KnownNames {
  private let kind: String
  private let names: Set<String>
  /// How many more names are compared to find that one: each of thousands of unknown names would
  /// else be held against each of thousands of known ones.
  private var comparisons = 20_000

  init(_ kind: String, _ names: [String]) {
    self.kind = kind
    self.names = Set(names)
  }

  /// Nil for a name that is known.
  mutating func refusal(of name: String) -> String? {
    guard !names.contains(name) else { return nil }
    var hint = ""
    if comparisons > 0 {
      comparisons -= names.count
      hint = name.nearest(of: names).map { "; did you mean \($0)?" } ?? ""
    }
    return "there is no \(kind) \"\(name)\"\(hint)"
  }
}

extension Config {
  /// Reads a configuration: the main file first, then what is laid over it, in that order.
  ///
  /// Tables of a later file are laid over those before key by key; `[[provider]]` and `[[client]]`
  /// append. All problems of all files are found, not only the first.
  package static func load(
    files: [(path: String, text: String)]
  ) throws(ConfigError) -> Config {
    try load(contents: files.map { (path: $0.path, bytes: Array($0.text.utf8)) })
  }

  /// Reads a configuration as ``load(files:)`` does, of bytes that need not be UTF-8.
  package static func load(
    contents: [(path: String, bytes: [UInt8])]
  ) throws(ConfigError) -> Config {
    var problems: [ConfigProblem] = []
    var root = TomlTable()
    var isWhole = true
    for (path, bytes) in contents {
      do throws(ConfigError) {
        problems += root.lay(try TomlTable.parse(bytes, file: path))
      } catch {
        isWhole = false
        problems += error.problems
      }
    }
    let reading = Reading(isWhole: isWhole)
    let table = SettingsTable(reading: root, path: "", at: nil, for: reading)
    var config = Config()
    config.bind(table)
    table.refuseOtherKeys()
    problems += reading.problems
    guard problems.isEmpty else {
      throw ConfigError(problems.inOrder(of: contents.map(\.path)))
    }
    config.sources = ConfigSources(reading.positions, files: contents.map(\.path))
    return config
  }

  /// The effective configuration as a TOML document, defaults included: there are no secrets in it.
  package func show() -> String { tomlTable.text }

  /// A problem with a setting of the files this was loaded from, such as a user nobody knows.
  ///
  /// - Parameter key: A path as in ``ConfigProblem/key``.
  package func problem(_ key: String, _ message: String) -> ConfigProblem {
    ConfigProblem(sources[key], key: key, message)
  }
}

/// Where each setting that a file names was written, by its path.
///
/// All are equal: where something was written is not part of what it says.
package struct ConfigSources: Sendable, Equatable {
  /// The files that were read, in the order in which they are laid over each other.
  package let files: [String]
  private let positions: [String: SourcePosition]

  package init() { self.init([:], files: []) }

  init(_ positions: [String: SourcePosition], files: [String]) {
    self.positions = positions
    self.files = files
  }

  /// Nil where the default holds.
  package subscript(key: String) -> SourcePosition? { positions[key] }

  package static func == (left: ConfigSources, right: ConfigSources) -> Bool { true }
}

extension [ConfigProblem] {
  fileprivate func inOrder(of files: [String]) -> [ConfigProblem] {
    let places = Dictionary(files.enumerated().map { ($1, $0) }) { first, _ in first }
    return enumerated().map { place, problem in
      (order: [places[problem.file] ?? -1, problem.line, problem.column, place], problem: problem)
    }
    .sorted { $0.order.lexicographicallyPrecedes($1.order) }
    .map(\.problem)
  }
}
