/// A table of the configuration. The properties of the conforming type are the settings of the
/// table, with their defaults.
package protocol SettingsSection: Codable, Equatable, Sendable {
  /// The section with all defaults; required settings are empty.
  static var blank: Self { get }

  /// Binds each property to its key and its permitted values.
  mutating func bind(_ table: SettingsTable)
}

extension SettingsSection {
  /// The section as a TOML table for a file, defaults included.
  package var tomlTable: TomlTable { bound().output }

  /// Every key of the section, in the order in which they are bound. The keys of a table inside the
  /// section follow the table's key, as `paths.token`.
  package static var keys: [String] { blank.bound().boundKeys }

  func bound() -> SettingsTable {
    let table = SettingsTable()
    var copy = self
    copy.bind(table)
    return table
  }

  /// Encodes the content of ``tomlTable``, with the keys of a configuration file.
  package func encode(to encoder: any Encoder) throws {
    try TomlValue.table(tomlTable).encode(to: encoder)
  }

  /// Decodes the output of ``encode(to:)``, including that of an earlier version.
  ///
  /// A missing key keeps its default, an unknown key is ignored, and an invalid value is an error.
  package init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

  static func decoded(from decoder: any Decoder) throws -> Self {
    guard case .table(let table) = try TomlValue(from: decoder) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "not a table of settings"))
    }
    let reading = Reading(ignoresUnknownKeys: true)
    var section = Self.blank
    section.bind(SettingsTable(reading: table, path: "", at: nil, for: reading))
    guard reading.problems.isEmpty else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: ConfigError(reading.problems).description))
    }
    return section
  }
}
