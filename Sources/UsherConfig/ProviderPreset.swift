/// The settings of a well-known service: the value of `preset` in a `[[provider]]`.
///
/// A preset is data, a table of `Presets/presets.toml`. Settings in the operator's own entry
/// override it key by key.
package struct ProviderPreset: TextSetting, Equatable, Sendable {
  package let name: String
  /// The type of the provider.
  let type: ProviderType
  /// The settings of the preset. They have no positions, because no configuration file has them.
  private let settings: TomlTable

  package init(setting text: String) throws(SettingError) {
    guard let settings = Self.tables[text],
      case .string(let word)? = settings["type"]?.node.value,
      let type = ProviderType(rawValue: word)
    else {
      let hint = text.nearest(of: Self.names).map { "; did you mean \($0)?" } ?? ""
      throw SettingError("unknown preset; known: \(Self.names.joined(separator: ", "))\(hint)")
    }
    name = text
    self.type = type
    self.settings = settings
  }

  package var settingText: String { name }

  /// Returns the settings for an entry with the given settings of its own.
  ///
  /// If the entry has another `base_url` or `issuer`, the preset's absolute URLs are left out: they
  /// name another company's host, to which the tokens of this server must not go.
  func settings(for entry: TomlTable) -> TomlTable {
    TomlTable(
      settings.entries.map { setting in
        guard let server = Self.servers[setting.key], entry[server] != nil,
          case .table(let paths) = setting.node.value
        else { return setting }
        var setting = setting
        setting.node.value = .table(
          TomlTable(
            paths.entries.filter { entry in
              guard case .string(let path) = entry.node.value else { return true }
              return path.hasPrefix("/")
            }))
        return setting
      })
  }

  /// The settings that name a server, by the tables with addresses at that server.
  private static let servers = ["paths": "base_url", "endpoints": "issuer"]

  /// The names of all presets, in alphabetical order.
  package static let names = tables.keys.sorted()

  private static let tables: [String: TomlTable] = {
    do {
      let root = try TomlTable.parse(PackageResources.presets_toml, file: "presets.toml")
      let tables = root.entries.compactMap { entry -> (String, TomlTable)? in
        guard case .table(let table) = entry.node.value else { return nil }
        return (entry.key, table.withoutPositions)
      }
      return Dictionary(uniqueKeysWithValues: tables)
    } catch {
      fatalError("presets.toml is not valid TOML: \(error)")
    }
  }()
}

extension TomlTable {
  fileprivate var withoutPositions: TomlTable {
    TomlTable(entries.map { Entry($0.key, TomlNode($0.node.value.withoutPositions)) })
  }

  /// Returns this table with the entries of `defaults` that it does not have, also in the tables
  /// within it.
  func over(_ defaults: TomlTable) -> TomlTable {
    let own = entries.map { entry -> Entry in
      guard case .table(let table) = entry.node.value,
        case .table(let inner)? = defaults[entry.key]?.node.value
      else { return entry }
      var entry = entry
      entry.node.value = .table(table.over(inner))
      return entry
    }
    return TomlTable(own + defaults.entries.filter { self[$0.key] == nil })
  }
}

extension TomlValue {
  fileprivate var withoutPositions: TomlValue {
    switch self {
    case .table(let table): .table(table.withoutPositions)
    case .array(let nodes): .array(nodes.map { TomlNode($0.value.withoutPositions) })
    case .string, .integer, .float, .boolean, .date: self
    }
  }
}
