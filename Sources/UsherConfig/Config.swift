package import UsherCore

/// The whole configuration. `Config()` is what holds without any file.
///
/// It never has a secret in it: a `…credential` setting names one in the credential store.
package struct Config: SettingsSection {
  package var store = StoreSettings()
  package var access = AccessSettings()
  package var limits = Limits()
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
    table.table(&log, "log")
    table.table(&flow, "flow")
    table.table(&token, "token")
    table.tables(&providers, "provider")
    table.tables(&clients, "client")
    refuseTwins(providers.map(\.name.rawValue), "provider", table)
    refuseTwins(clients.map(\.name), "client", table)
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

  /// A rule that names a provider nobody configured would silently allow nothing.
  private func refuseUnknownProviders(_ table: SettingsTable) {
    guard table.isWhole else { return }
    let names = Set(providers.map(\.name.rawValue)).union([ProviderConfig.reservedName])
    for (place, client) in clients.enumerated() {
      for (item, pattern) in client.allow.enumerated() {
        guard let name = pattern.literalProvider, !names.contains(name) else { continue }
        let hint = name.nearest(of: names).map { "; did you mean \($0)?" } ?? ""
        table.complain("client[\(place)].allow[\(item)]", "there is no provider \"\(name)\"\(hint)")
      }
    }
  }

  /// One that names a client nobody defined would silently do nothing.
  private func refuseUnknownClients(_ table: SettingsTable) {
    guard table.isWhole else { return }
    let names = Set(clients.map(\.name))
    for (place, client) in clients.enumerated() {
      for (key, list) in [("confirms", client.confirms), ("share", client.share)] {
        for (item, name) in list.enumerated() where !names.contains(name) {
          let hint = name.nearest(of: names).map { "; did you mean \($0)?" } ?? ""
          table.complain(
            "client[\(place)].\(key)[\(item)]", "there is no client \"\(name)\"\(hint)")
        }
      }
    }
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
    config.sources = ConfigSources(reading.positions)
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
  private let positions: [String: SourcePosition]

  package init() { positions = [:] }

  init(_ positions: [String: SourcePosition]) { self.positions = positions }

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
