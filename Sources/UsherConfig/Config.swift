package import UsherCore

/// The complete configuration. `Config()` has all defaults.
///
/// The configuration never contains a secret: a `…credential` setting is the name of a secret in
/// the credential store.
package struct Config: SettingsSection {
  package var store = StoreSettings()
  package var access = AccessSettings()
  package var limits = Limits()
  package var audit = AuditSettings()
  package var log = LogSettings()
  package var flow = FlowSettings()
  package var token = TokenSettings()
  /// The providers in the order of the files; their names are unique.
  package var providers: [ProviderConfig] = []
  /// The client rules in the order in which they are tried; their names are unique.
  package var clients: [ClientRule] = []
  /// The targets in the order in which they are tried.
  package var targets: [TargetConfig] = []

  /// The positions of the settings in the files, for problems that are found after loading.
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
    table.tables(&targets, "target")
    refuseDuplicates(providers.map(\.name.rawValue), "provider", table)
    refuseDuplicates(clients.map(\.name), "client", table)
    refuseSharedListeners(table)
    refuseUnknownProviders(table)
    refuseUnknownClients(table)
    refuseUnknownTargetProviders(table)
  }

  package func provider(_ name: ProviderName) -> ProviderConfig? {
    providers.first { $0.name == name }
  }

  private func refuseDuplicates(_ names: [String], _ key: String, _ table: SettingsTable) {
    var first: [String: Int] = [:]
    for (place, name) in names.enumerated() where !name.isEmpty {
      guard let duplicate = first[name] else {
        first[name] = place
        continue
      }
      let other = table.position(of: "\(key)[\(duplicate)].name").map { " at \($0)" } ?? ""
      table.reportProblem("\(key)[\(place)].name", "\(key) \"\(name)\" is already defined\(other)")
    }
  }

  /// Reports two providers with the same callback address, because only the address tells which
  /// provider makes a call.
  private func refuseSharedListeners(_ table: SettingsTable) {
    var first: [LoopbackAddress: Int] = [:]
    for (place, provider) in providers.enumerated() {
      guard let address = provider.settings.callbackAddress else { continue }
      guard let other = first[address] else {
        first[address] = place
        continue
      }
      table.reportProblem(
        "provider[\(place)].callback_listen",
        "\(address.settingText) is already the callback address of provider "
          + "\"\(providers[other].name)\""
      )
    }
  }

  /// Reports a rule that names a provider which is not configured, because the rule would silently
  /// allow nothing there.
  private func refuseUnknownProviders(_ table: SettingsTable) {
    guard table.isComplete else { return }
    var known = KnownNames(
      "provider", providers.map(\.name.rawValue) + [ProviderConfig.reservedName])
    for (place, client) in clients.enumerated() {
      for (item, pattern) in client.allow.enumerated() {
        guard let name = pattern.literalProvider, let refusal = known.refusal(of: name) else {
          continue
        }
        table.reportProblem("client[\(place)].allow[\(item)]", refusal)
      }
    }
  }

  /// Reports a rule that names an undefined client or itself, because the entry would silently do
  /// nothing.
  private func refuseUnknownClients(_ table: SettingsTable) {
    guard table.isComplete else { return }
    var known = KnownNames("client", clients.map(\.name))
    for (place, client) in clients.enumerated() {
      for (key, list, selfish) in [
        ("confirms", client.confirms, "a client cannot answer its own questions"),
        ("share", client.share, "a client always has access to its own accounts"),
      ] {
        for (item, name) in list.enumerated() {
          let refusal = name == client.name ? selfish : known.refusal(of: name)
          if let refusal { table.reportProblem("client[\(place)].\(key)[\(item)]", refusal) }
        }
      }
    }
  }
}

/// The defined names of one kind. For a name that is not defined, it suggests the nearest defined
/// one.
struct KnownNames {
  private let kind: String
  private let names: Set<String>
  /// The number of further comparisons of names for suggestions. Without a limit, thousands of
  /// unknown names would each be compared with thousands of defined ones.
  private var comparisons = 20_000

  init(_ kind: String, _ names: [String]) {
    self.kind = kind
    self.names = Set(names)
  }

  /// Returns why a setting must not contain this name: nothing with the name is defined; nil if
  /// something is.
  mutating func refusal(of name: String) -> String? {
    guard !names.contains(name) else { return nil }
    var hint = ""
    if comparisons > 0 {
      comparisons -= names.count
      hint = name.nearest(of: names).map { "; did you mean \($0)?" } ?? ""
    }
    return "\(kind) \"\(name)\" is not defined\(hint)"
  }
}

extension Config {
  /// Loads a configuration: the main file first, then the files that are merged over it, in order.
  ///
  /// Tables of a later file are merged key by key; `[[provider]]`, `[[client]]` and `[[target]]`
  /// entries are appended. The error lists all problems of all files.
  package static func load(
    files: [(path: String, text: String)]
  ) throws(ConfigError) -> Config {
    try load(contents: files.map { (path: $0.path, bytes: Array($0.text.utf8)) })
  }

  /// Loads a configuration like ``load(files:)``, from bytes that need not be valid UTF-8.
  package static func load(
    contents: [(path: String, bytes: [UInt8])]
  ) throws(ConfigError) -> Config {
    var problems: [ConfigProblem] = []
    var root = TomlTable()
    var isComplete = true
    for (path, bytes) in contents {
      do throws(ConfigError) {
        problems += root.merge(try TomlTable.parse(bytes, file: path))
      } catch {
        isComplete = false
        problems += error.problems
      }
    }
    let reading = Reading(isComplete: isComplete)
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

  /// Returns the effective configuration, defaults included, as a TOML document without secrets.
  package func show() -> String { tomlTable.text }

  /// Creates a problem with a setting that is found after loading, such as an unknown user.
  ///
  /// - Parameter key: The path of the setting, as in ``ConfigProblem/key``.
  package func problem(_ key: String, _ message: String) -> ConfigProblem {
    ConfigProblem(sources[key], key: key, message)
  }
}

/// The positions of the settings in the configuration files, by the path of the setting.
///
/// All values of this type compare equal, because the position of a setting is not part of its
/// value.
package struct ConfigSources: Sendable, Equatable {
  /// The files that were read, in the order in which they were merged.
  package let files: [String]
  private let positions: [String: SourcePosition]

  package init() { self.init([:], files: []) }

  init(_ positions: [String: SourcePosition], files: [String]) {
    self.positions = positions
    self.files = files
  }

  /// The position of a setting; nil if no file contains the setting.
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
