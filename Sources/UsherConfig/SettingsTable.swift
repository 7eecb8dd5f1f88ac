/// One table of the configuration, read or written by the same lines.
///
/// A section says in ``SettingsSection/bind(_:)`` which key each of its properties has and what it
/// may be. Reading, strictness, positions, the effective configuration as TOML and as JSON, and the
/// list of all keys follow from those lines.
package final class SettingsTable {
  private enum Work {
    case reading(TomlTable, Reading)
    case writing
  }

  private let work: Work
  private let path: String
  private let position: SourcePosition?
  private var keys: [String] = []
  private var isOpen = false
  private var written = TomlTable()

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

  // MARK: What sections call

  /// A setting that keeps its default where the file does not name it.
  ///
  /// - Parameter complaint: What is wrong with a value of the right type, or nil.
  package func setting<Value: SettingValue>(
    _ value: inout Value, _ key: String, complaint: (Value) -> String? = { _ in nil }
  ) {
    switch work {
    case .writing: write(value.toml, key)
    case .reading: if let read: Value = read(key, complaint) { value = read }
    }
  }

  /// A setting that is absent unless the file names it.
  package func setting<Value: SettingValue>(
    _ value: inout Value?, _ key: String, complaint: (Value) -> String? = { _ in nil }
  ) {
    switch work {
    case .writing: write(value?.toml, key)
    case .reading: if let read: Value = read(key, complaint) { value = read }
    }
  }

  /// A setting the file must name.
  package func required<Value: SettingValue>(
    _ value: inout Value, _ key: String, complaint: (Value) -> String? = { _ in nil }
  ) {
    if case .reading(let table, let reading) = work, table[key] == nil {
      reading.complain(position, path(of: key), "is missing")
    }
    setting(&value, key, complaint: complaint)
  }

  /// A setting the file must name and others hang on; nil where it is missing or not allowed.
  package func required<Value: SettingValue>(_ value: inout Value?, _ key: String) {
    guard case .reading(let table, let reading) = work else { return setting(&value, key) }
    if table[key] == nil { reading.complain(position, path(of: key), "is missing") }
    value = read(key) { _ in nil }
  }

  /// A number between two others.
  package func setting(_ value: inout Int, _ key: String, _ range: ClosedRange<Int>) {
    setting(&value, key) { number in
      range.contains(number)
        ? nil : "must be between \(range.lowerBound) and \(range.upperBound), is \(number)"
    }
  }

  /// A table within this one.
  package func table<Section: SettingsSection>(
    _ section: inout Section, _ key: String, isRequired: Bool = false
  ) {
    switch work {
    case .writing: write(.table(section.tomlTable), key)
    case .reading(_, let reading):
      guard let entry = take(key) else {
        if isRequired { reading.complain(position, path(of: key), "is missing") }
        return
      }
      section = read(entry.node, path(of: key), over: section, for: reading)
    }
  }

  /// An array of tables, such as `[[provider]]`.
  package func tables<Section: SettingsSection>(_ sections: inout [Section], _ key: String) {
    switch work {
    case .writing:
      let tables = sections.map { TomlNode(.table($0.tomlTable)) }
      write(tables.isEmpty ? nil : .array(tables), key)
    case .reading(_, let reading):
      guard let entry = take(key) else { return }
      guard case .array(let nodes) = entry.node.value else {
        reading.complain(
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

  /// Says so when the file names none of the settings bound before.
  package func needsOneSetting() {
    guard case .reading(let table, let reading) = work, !keys.contains(where: { table[$0] != nil })
    else { return }
    let choices = keys.joined(separator: ", ")
    reading.complain(position, path, "must have at least one of \(choices)")
  }

  /// Says that something is wrong beyond one value.
  ///
  /// - Parameter key: Relative to this table, such as `name` or `provider[1].name`.
  package func complain(_ key: String, _ message: String) {
    guard case .reading(_, let reading) = work else { return }
    let path = path(of: key)
    reading.complain(reading.positions[path] ?? position, path, message)
  }

  /// Where a setting was written, relative to this table as in ``complain(_:_:)``.
  package func position(of key: String) -> SourcePosition? {
    guard case .reading(_, let reading) = work else { return nil }
    return reading.positions[path(of: key)]
  }

  /// Whether all files were read as far as here, so that what is missing is really missing.
  package var isWhole: Bool {
    guard case .reading(_, let reading) = work else { return false }
    return reading.isWhole
  }

  /// Whether this is what ``SettingsSection/encode(to:)`` wrote, and no file.
  package var isStored: Bool {
    guard case .reading(_, let reading) = work else { return false }
    return reading.ignoresUnknownKeys
  }

  /// Leaves the keys nobody asked for alone: what they mean could not be told.
  package func ignoreOtherKeys() { isOpen = true }

  // MARK: What this module does with it

  /// What was written so far.
  var output: TomlTable { written }

  /// The keys that were bound, in their order.
  var boundKeys: [String] { keys }

  /// Complains about every key that was not bound.
  func refuseOtherKeys() {
    guard case .reading(let table, let reading) = work, !isOpen else { return }
    let known = Set(keys)
    for entry in table.entries where !known.contains(entry.key) {
      reading.complain(entry.keyPosition, path(of: entry.key), refusal(of: entry.key))
    }
  }

  private func refusal(of key: String) -> String {
    if SecretKey.isOne(key) { return SecretKey.advice }
    guard let meant = key.nearest(of: keys) else { return "unknown key" }
    return "unknown key; did you mean \(meant)?"
  }

  private func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  private func write(_ value: TomlValue?, _ key: String) {
    keys.append(key)
    if let value { written.append(TomlTable.Entry(key, TomlNode(value))) }
  }

  private func take(_ key: String) -> TomlTable.Entry? {
    keys.append(key)
    guard case .reading(let table, let reading) = work, let entry = table[key] else { return nil }
    reading.positions[path(of: key)] = entry.node.position
    return entry
  }

  private func read<Value: SettingValue>(
    _ key: String, _ complaint: (Value) -> String?
  ) -> Value? {
    guard case .reading(_, let reading) = work, let entry = take(key) else { return nil }
    let field = SettingField(path: path(of: key), node: entry.node, reading: reading)
    guard let value = Value.read(field) else { return nil }
    if let message = complaint(value) {
      field.complain(message)
      return nil
    }
    return value
  }

  private func read<Section: SettingsSection>(
    _ node: TomlNode, _ path: String, over section: Section, for reading: Reading
  ) -> Section {
    guard case .table(let table) = node.value else {
      reading.complain(node.position, path, "expected a table, found \(node.value.kind)")
      return section
    }
    let inner = SettingsTable(reading: table, path: path, at: node.position, for: reading)
    var section = section
    section.bind(inner)
    if !reading.ignoresUnknownKeys { inner.refuseOtherKeys() }
    return section
  }
}

/// What one reading of a configuration finds out.
final class Reading {
  var problems: [ConfigProblem] = []
  var positions: [String: SourcePosition] = [:]
  let isWhole: Bool
  let ignoresUnknownKeys: Bool

  init(isWhole: Bool = true, ignoresUnknownKeys: Bool = false) {
    self.isWhole = isWhole
    self.ignoresUnknownKeys = ignoresUnknownKeys
  }

  func complain(_ position: SourcePosition?, _ path: String, _ message: String) {
    problems.append(ConfigProblem(position, key: path, message))
  }
}

/// Keys under which people put secrets by mistake.
private enum SecretKey {
  static let advice =
    "secrets are not kept in this file: store it with `usherctl credential set NAME` "
    + "and write client_credential = \"NAME\""

  static func isOne(_ key: String) -> Bool {
    let words = ["secret", "password", "passwd", "passphrase", "token", "private_key", "api_key"]
    let key = key.lowercased()
    return words.contains { key == $0 || key.hasSuffix("_\($0)") }
  }
}
