import JSONRPC

@testable import UsherConfig

extension FuzzTarget {
  /// A TOML document that is accepted has the same values after writing and reading; an error has a
  /// position within the document and can be shown on a terminal.
  static let toml = FuzzTarget("toml", words: ["UsherConfig"]) { document in
    let table: TomlTable
    do throws(ConfigError) {
      table = try TomlTable.parse(document, file: "fuzz.toml")
    } catch {
      return try requireShowable(error, document)
    }
    guard TomlValue.table(table).isWritable else { return }
    let again = try TomlTable.parse(Array(table.text.utf8), file: "written.toml")
    try require(
      TomlValue.table(again).json == TomlValue.table(table).json,
      "another document after writing: \(table.text)")
  }

  /// A configuration that is accepted is equal after showing and loading; an error has a position,
  /// can be shown on a terminal and quotes no value that may be a misplaced secret.
  static let config = FuzzTarget("config", words: ["UsherConfig"]) { document in
    let name = "fuzz.toml"
    var config: Config?
    do throws(ConfigError) {
      config = try Config.load(contents: [(name, document)])
    } catch {
      try requireShowable(error, document)
    }
    if let config {
      let shown = config.show()
      let again = try Config.load(files: [(name, shown)])
      try require(again == config && again.show() == shown, "another configuration: \(shown)")
    }
    guard let table = try? TomlTable.parse(document, file: name) else { return }
    let secret = "misplaced-secret-4711"
    let masked = TomlValue.table(table).replacingTexts(by: secret)
    guard case .table(let maskedTable) = masked else { return }
    do throws(ConfigError) {
      _ = try Config.load(files: [(name, maskedTable.text)])
    } catch {
      for problem in error.problems {
        try requireShowable(problem.message, without: [secret], "the problem of \(problem.key)")
      }
    }
  }
}

private func requireShowable(
  _ error: ConfigError, _ document: [UInt8]
) throws(PropertyViolation) {
  try require(!error.problems.isEmpty, "an error without a problem")
  for problem in error.problems {
    try requireShowable(problem.description, "the problem")
    try require(
      problem.line <= document.count { $0 == 0x0A } + 1 && problem.column <= document.count + 1,
      "a problem outside of the document: \(problem)")
  }
}

extension TomlValue {
  /// Whether ``TomlTable/text`` can write the value: dates, and tables in an array with other
  /// values, occur in no configuration. A number that is not equal to itself cannot be compared.
  fileprivate var isWritable: Bool {
    switch self {
    case .date: false
    case .float(let number): !number.isNaN && !number.isInfinite
    case .string, .integer, .boolean: true
    case .table(let table): table.entries.allSatisfy { $0.node.value.isWritable }
    case .array(let nodes):
      nodes.allSatisfy { $0.value.isWritable }
        && (nodes.allSatisfy { $0.value.isTable } || !nodes.contains { $0.value.hasTable })
    }
  }

  private var isTable: Bool {
    if case .table = self { true } else { false }
  }

  private var hasTable: Bool {
    switch self {
    case .table: true
    case .array(let nodes): nodes.contains { $0.value.hasTable }
    case .string, .integer, .float, .boolean, .date: false
    }
  }

  /// The settings whose values stay: an error message may repeat the names of providers, clients,
  /// users and groups, and without its type and mode a provider has no other settings.
  private static let named: Set = [
    "name", "type", "mode", "user", "group", "admin_group", "share", "confirms", "allow",
  ]

  /// Returns the value with another text in place of every text that no error message may repeat.
  fileprivate func replacingTexts(by text: String) -> TomlValue {
    switch self {
    case .string: return .string(text)
    case .integer, .float, .boolean, .date: return self
    case .array(let nodes):
      return .array(nodes.map { TomlNode($0.value.replacingTexts(by: text)) })
    case .table(let table):
      return .table(
        TomlTable(
          table.entries.map { entry in
            let isNamed = Self.named.contains(entry.key)
            let value = entry.node.value
            return .init(
              entry.key, TomlNode(isNamed ? value : value.replacingTexts(by: text)))
          }))
    }
  }
}
