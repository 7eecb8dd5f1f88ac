/// A table of the configuration: its properties are the settings, with their defaults and meanings.
package protocol SettingsSection: Codable, Equatable, Sendable {
  /// All defaults; what is required is empty.
  static var blank: Self { get }

  /// Binds each property to its key and says what it may be.
  mutating func bind(_ table: SettingsTable)
}

extension SettingsSection {
  /// The section as it would be written in a file, defaults included.
  package var tomlTable: TomlTable { bound().output }

  /// Every key the section knows, in the order it binds them.
  package static var keys: [String] { blank.bound().boundKeys }

  private func bound() -> SettingsTable {
    let table = SettingsTable()
    var copy = self
    copy.bind(table)
    return table
  }

  /// Encodes what ``tomlTable`` has, so with the keys of the file.
  package func encode(to encoder: any Encoder) throws {
    try TomlValue.table(tomlTable).encode(to: encoder)
  }

  /// Decodes what ``encode(to:)`` wrote, also by an earlier version.
  ///
  /// A key that is missing keeps its default, one that is unknown is ignored, and a value that is
  /// not allowed is an error.
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
