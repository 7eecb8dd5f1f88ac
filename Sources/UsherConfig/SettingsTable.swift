/// A table of the configuration that is read or written.
///
/// A section declares the key and the permitted values of each property once, in
/// ``SettingsSection/bind(_:)``. Parsing, strict checks, positions, the effective configuration as
/// TOML and as JSON, and the list of all keys derive from those declarations.
package final class SettingsTable {
  private enum Work {
    case reading(TomlTable, Reading)
    case writing
  }

  private var work: Work
  private let path: String
  private let position: SourcePosition?
  private var keys: [String] = []
  /// The nested tables of this table that were written so far, by their keys.
  private var inner: [String: SettingsTable] = [:]
  private var isOpen = false
  private var written = TomlTable()

  /// The problems and positions that are found while reading; nil if the table is being written.
  private var reading: Reading? {
    if case .reading(_, let reading) = work { reading } else { nil }
  }

  init(reading table: TomlTable, path: String, at position: SourcePosition?, for reading: Reading) {
    work = .reading(table, reading)
    self.path = path
    self.position = position
  }

  init() {
    work = .writing
    path = ""
    position = nil
  }

  // MARK: For sections

  /// Binds a setting that keeps its default if the file does not contain it.
  ///
  /// - Parameter violation: Returns a description of the error in a value of the right type, or
  ///   nil.
  package func setting<Value: SettingValue>(
    _ value: inout Value, _ key: String, violation: (Value) -> String? = { _ in nil }
  ) {
    switch work {
    case .writing: write(value.toml, key)
    case .reading: if let read: Value = read(key, violation) { value = read }
    }
  }

  /// Binds a setting that is nil if the file does not contain it.
  package func setting<Value: SettingValue>(
    _ value: inout Value?, _ key: String, violation: (Value) -> String? = { _ in nil }
  ) {
    switch work {
    case .writing: write(value?.toml, key)
    case .reading: if let read: Value = read(key, violation) { value = read }
    }
  }

  /// Binds a setting that the file must contain.
  package func required<Value: SettingValue>(
    _ value: inout Value, _ key: String, violation: (Value) -> String? = { _ in nil }
  ) {
    if case .reading(let table, let reading) = work, table[key] == nil {
      reading.reportProblem(position, path(of: key), "is missing")
    }
    setting(&value, key, violation: violation)
  }

  /// Binds a setting that the file must contain and on which other settings depend. The value is
  /// nil if the setting is missing or invalid.
  package func required<Value: SettingValue>(_ value: inout Value?, _ key: String) {
    guard case .reading(let table, let reading) = work else { return setting(&value, key) }
    if table[key] == nil { reading.reportProblem(position, path(of: key), "is missing") }
    value = read(key) { _ in nil }
  }

  /// Binds a number that must be within a range.
  package func setting(_ value: inout Int, _ key: String, _ range: ClosedRange<Int>) {
    setting(&value, key) { number in
      range.contains(number)
        ? nil : "must be between \(range.lowerBound) and \(range.upperBound), is \(number)"
    }
  }

  /// Binds a nested table.
  package func table<Section: SettingsSection>(
    _ section: inout Section, _ key: String, isRequired: Bool = false
  ) {
    switch work {
    case .writing:
      let table = section.bound()
      inner[key] = table
      write(.table(table.output), key)
    case .reading(_, let reading):
      guard let entry = entry(for: key) else {
        if isRequired { reading.reportProblem(position, path(of: key), "is missing") }
        return
      }
      section = read(entry.node, path(of: key), over: section, for: reading)
    }
  }

  /// Binds an array of tables, such as `[[provider]]`.
  package func tables<Section: SettingsSection>(_ sections: inout [Section], _ key: String) {
    switch work {
    case .writing:
      let tables = sections.map { TomlNode(.table($0.tomlTable)) }
      write(tables.isEmpty ? nil : .array(tables), key)
    case .reading(_, let reading):
      guard let entry = entry(for: key) else { return }
      guard case .array(let nodes) = entry.node.value else {
        reading.reportProblem(
          entry.keyPosition, path(of: key),
          "expected [[\(key)]], found \(entry.node.value.kind)")
        return
      }
      sections = nodes.enumerated().map { place, node in
        let path = "\(path(of: key))[\(place)]"
        reading.positions[path] = node.position
        return read(node, path, over: .blank, for: reading)
      }
    }
  }

  /// Reports a problem if the file contains none of the settings that were bound so far.
  package func needsOneSetting() {
    guard case .reading(let table, let reading) = work, !keys.contains(where: { table[$0] != nil })
    else { return }
    let choices = keys.joined(separator: ", ")
    reading.reportProblem(position, path, "must have at least one of \(choices)")
  }

  /// Reports a problem that does not concern only one value.
  ///
  /// - Parameter key: A path relative to this table, such as `name` or `provider[1].name`.
  package func reportProblem(_ key: String, _ message: String) {
    guard let reading else { return }
    let path = path(of: key)
    reading.reportProblem(reading.positions[path] ?? position, path, message)
  }

  /// Returns the position of a setting in its file; the key is relative to this table, as in
  /// ``reportProblem(_:_:)``.
  package func position(of key: String) -> SourcePosition? { reading?.positions[path(of: key)] }

  /// Reads the settings of a preset, too: those that the file does not contain itself.
  func read(preset: ProviderPreset) {
    guard case .reading(let table, let reading) = work else { return }
    work = .reading(table.over(preset.settings(for: table)), reading)
  }

  /// Whether every file could be parsed. If not, a setting that seems to be missing may be in the
  /// rest of a file.
  package var isComplete: Bool { reading?.isComplete ?? false }

  /// Whether the input was written by ``SettingsSection/encode(to:)`` and does not come from a
  /// file.
  package var isStored: Bool { reading?.ignoresUnknownKeys ?? false }

  /// Accepts all keys that are not bound, because their meaning cannot be determined.
  package func ignoreOtherKeys() { isOpen = true }

  // MARK: For this module

  /// The settings that were written so far.
  var output: TomlTable { written }

  /// The keys that were bound, in order. The keys of a nested table have its key as a prefix.
  var boundKeys: [String] {
    keys.flatMap { key in [key] + (inner[key]?.boundKeys ?? []).map { "\(key).\($0)" } }
  }

  /// Reports a problem for every key that was not bound.
  func refuseOtherKeys() {
    guard case .reading(let table, let reading) = work, !isOpen else { return }
    let known = Set(keys)
    for entry in table.entries where !known.contains(entry.key) {
      reading.reportProblem(entry.keyPosition, path(of: entry.key), refusal(of: entry.key))
    }
  }

  private func refusal(of key: String) -> String {
    if SecretKey.isOne(key) { return SecretKey.advice }
    guard let suggestion = key.nearest(of: keys) else { return "unknown key" }
    return "unknown key; did you mean \(suggestion)?"
  }

  private func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  private func write(_ value: TomlValue?, _ key: String) {
    keys.append(key)
    if let value { written.append(TomlTable.Entry(key, TomlNode(value))) }
  }

  private func entry(for key: String) -> TomlTable.Entry? {
    keys.append(key)
    guard case .reading(let table, let reading) = work, let entry = table[key] else { return nil }
    reading.positions[path(of: key)] = entry.node.position
    return entry
  }

  private func read<Value: SettingValue>(
    _ key: String, _ violation: (Value) -> String?
  ) -> Value? {
    guard let reading, let entry = entry(for: key) else { return nil }
    let field = SettingField(path: path(of: key), node: entry.node, reading: reading)
    guard let value = Value.read(field) else { return nil }
    return if let message = violation(value) { field.refuse(message) } else { value }
  }

  private func read<Section: SettingsSection>(
    _ node: TomlNode, _ path: String, over section: Section, for reading: Reading
  ) -> Section {
    guard case .table(let table) = node.value else {
      reading.reportProblem(node.position, path, "expected a table, found \(node.value.kind)")
      return section
    }
    let inner = SettingsTable(reading: table, path: path, at: node.position, for: reading)
    var section = section
    section.bind(inner)
    if !reading.ignoresUnknownKeys { inner.refuseOtherKeys() }
    return section
  }
}

/// The state of reading a configuration: the problems found so far, and the positions of the
/// settings.
final class Reading {
  var problems: [ConfigProblem] = []
  var positions: [String: SourcePosition] = [:]
  let isComplete: Bool
  let ignoresUnknownKeys: Bool

  init(isComplete: Bool = true, ignoresUnknownKeys: Bool = false) {
    self.isComplete = isComplete
    self.ignoresUnknownKeys = ignoresUnknownKeys
  }

  func reportProblem(_ position: SourcePosition?, _ path: String, _ message: String) {
    problems.append(ConfigProblem(position, key: path, message))
  }
}

/// Recognizes keys under which users write secrets into the file by mistake.
private enum SecretKey {
  static let advice =
    "secrets must not be stored in this file; run `usherctl credential set NAME` "
    + "and write client_credential = \"NAME\""

  static func isOne(_ key: String) -> Bool {
    let words = ["secret", "password", "passwd", "passphrase", "token", "private_key", "api_key"]
    let key = key.lowercased()
    return words.contains { key == $0 || key.hasSuffix("_\($0)") }
  }
}
