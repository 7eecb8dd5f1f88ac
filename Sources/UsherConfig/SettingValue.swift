/// A type that the value of a setting in the configuration can have.
package protocol SettingValue {
  /// Reads the value of a setting. If it is not valid, reports a problem and returns nil.
  static func read(_ field: SettingField) -> Self?

  /// The value as TOML, in the form of a configuration file.
  var toml: TomlValue { get }
}

/// A setting that is written as a string with its own syntax.
package protocol TextSetting: SettingValue {
  init(setting text: String) throws(SettingError)

  var settingText: String { get }
}

/// A text setting that every coder encodes as its text. Decoding applies the same rules as a
/// configuration file.
package protocol CodedAsText: TextSetting, Codable {}

extension CodedAsText {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    do throws(SettingError) {
      try self.init(setting: text)
    } catch {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: error.message)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(settingText)
  }
}

/// Why a setting rejects a text: a message that does not quote the text.
package struct SettingError: Error, Equatable, Sendable {
  package var message: String

  package init(_ message: String) { self.message = message }
}

/// A value in a configuration file that is being read, with the path of its setting.
package struct SettingField {
  let path: String
  let node: TomlNode
  let reading: Reading

  /// Reports a problem with the value, and returns nil as the result of reading it.
  func refuse<Value>(_ message: String) -> Value? {
    reading.reportProblem(node.position, path, message)
    return nil
  }

  /// Reports that the value has another type than the expected one, and returns nil.
  func mismatch<Value>(_ expected: String) -> Value? {
    refuse("expected \(expected), found \(node.value.kind)")
  }

  /// Returns the setting for a text. If the text is not valid, reports a problem and returns nil.
  func setting<Setting: TextSetting>(_ text: String) -> Setting? {
    do throws(SettingError) {
      return try Setting(setting: text)
    } catch {
      return refuse(error.message)
    }
  }

  /// Returns a value within this one, such as an element of an array, and records its position.
  func child(_ suffix: String, _ node: TomlNode) -> SettingField {
    let path = path + suffix
    reading.positions[path] = node.position
    return SettingField(path: path, node: node, reading: reading)
  }
}

extension Int: SettingValue {
  package static func read(_ field: SettingField) -> Int? {
    guard case .integer(let number) = field.node.value else { return field.mismatch("an integer") }
    return Int(number)
  }

  package var toml: TomlValue { .integer(Int64(self)) }
}

extension Bool: SettingValue {
  package static func read(_ field: SettingField) -> Bool? {
    guard case .boolean(let flag) = field.node.value else { return field.mismatch("true or false") }
    return flag
  }

  package var toml: TomlValue { .boolean(self) }
}

extension String: SettingValue {
  package static func read(_ field: SettingField) -> String? {
    guard case .string(let text) = field.node.value else { return field.mismatch("a string") }
    return text
  }

  package var toml: TomlValue { .string(self) }
}

extension TextSetting {
  package static func read(_ field: SettingField) -> Self? {
    String.read(field).flatMap { field.setting($0) }
  }

  package var toml: TomlValue { .string(settingText) }
}

/// A setting whose value is one of several words.
extension TextSetting where Self: RawRepresentable & CaseIterable, RawValue == String {
  package init(setting text: String) throws(SettingError) {
    guard let choice = Self(rawValue: text) else {
      let words = Self.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw SettingError("must be one of \(words)")
    }
    self = choice
  }

  package var settingText: String { rawValue }
}

/// A setting that is a list. One invalid element makes the whole list invalid.
extension Array: SettingValue where Element: SettingValue {
  package static func read(_ field: SettingField) -> [Element]? {
    guard case .array(let nodes) = field.node.value else { return field.mismatch("an array") }
    let values = nodes.enumerated().map { Element.read(field.child("[\($0)]", $1)) }
    let valid = values.compactMap { $0 }
    return valid.count == values.count ? valid : nil
  }

  package var toml: TomlValue { .array(map { TomlNode($0.toml) }) }
}

/// A setting that is a table whose keys are not fixed.
extension Dictionary: SettingValue where Key == String, Value: SettingValue {
  package static func read(_ field: SettingField) -> [String: Value]? {
    guard case .table(let table) = field.node.value else { return field.mismatch("a table") }
    var values: [String: Value] = [:]
    for entry in table.entries {
      guard let value = Value.read(field.child(".\(entry.key)", entry.node)) else { continue }
      values[entry.key] = value
    }
    return values
  }

  package var toml: TomlValue {
    .table(
      TomlTable(
        self.sorted { $0.key < $1.key }.map { TomlTable.Entry($0.key, TomlNode($0.value.toml)) }))
  }
}
