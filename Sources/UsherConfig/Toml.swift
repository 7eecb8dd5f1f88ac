/// A position in a configuration file.
///
/// Lines and columns (in characters) count from 1; both are 0 for the file as a whole.
package struct SourcePosition: Sendable, Hashable, CustomStringConvertible {
  package var file: String
  package var line: Int
  package var column: Int

  package var description: String { "\(file):\(line):\(column)" }
}

/// A value of a TOML document with its position; the position is nil if the value does not come
/// from a file.
package struct TomlNode: Sendable, Hashable {
  package var value: TomlValue
  package var position: SourcePosition?

  package init(_ value: TomlValue, at position: SourcePosition? = nil) {
    self.value = value
    self.position = position
  }
}

package enum TomlValue: Sendable, Hashable {
  case table(TomlTable)
  case array([TomlNode])
  case string(String)
  case integer(Int64)
  case float(Double)
  case boolean(Bool)
  /// A date, a time or both. No setting has this type, so the value itself is not stored.
  case date

  /// The type of the value in words, for messages such as "expected …, found …".
  package var kind: String {
    switch self {
    case .table: "a table"
    case .array: "an array"
    case .string: "a string"
    case .integer: "an integer"
    case .float: "a number with a fraction"
    case .boolean: "a boolean"
    case .date: "a date or time"
    }
  }
}

/// A table that keeps its keys in the order in which they were written.
package struct TomlTable: Sendable, Hashable {
  package struct Entry: Sendable, Hashable {
    package var key: String
    package var keyPosition: SourcePosition?
    package var node: TomlNode

    package init(_ key: String, _ node: TomlNode, at keyPosition: SourcePosition? = nil) {
      self.key = key
      self.keyPosition = keyPosition
      self.node = node
    }
  }

  package private(set) var entries: [Entry] = []
  private var index: [String: Int] = [:]

  package init() {}

  package init(_ entries: [Entry]) {
    for entry in entries { append(entry) }
  }

  package subscript(key: String) -> Entry? { index[key].map { entries[$0] } }

  package mutating func append(_ entry: Entry) {
    index[entry.key] = entries.count
    entries.append(entry)
  }
}

extension TomlTable {
  /// Merges the root table of a later configuration file into this one.
  ///
  /// Tables are merged key by key, arrays at the root are appended, other values are replaced.
  /// - Returns: A problem for each key with a table or array on one side and another type on the
  ///   other side, because one of the two values would be lost.
  package mutating func merge(_ later: TomlTable) -> [ConfigProblem] { merge(later, path: "") }

  private mutating func merge(_ later: TomlTable, path: String) -> [ConfigProblem] {
    later.entries.flatMap { entry -> [ConfigProblem] in
      guard let place = index[entry.key] else {
        append(entry)
        return []
      }
      let path = path.isEmpty ? entry.key : "\(path).\(entry.key)"
      let earlier = entries[place].node
      switch (earlier.value, entry.node.value) {
      case (.table(var table), .table(let overlay)):
        let problems = table.merge(overlay, path: path)
        entries[place].node.value = .table(table)
        return problems
      case (.array(let first), .array(let second)) where path == entry.key:
        entries[place].node.value = .array(first + second)
      case (let first, let second) where !first.hasShape(of: second):
        return [Self.conflict(earlier, entry, path)]
      case (_, _):
        entries[place] = entry
      }
      return []
    }
  }

  private static func conflict(_ earlier: TomlNode, _ entry: Entry, _ path: String) -> ConfigProblem
  {
    let place = earlier.position.map { " at \($0)" } ?? ""
    return ConfigProblem(
      entry.keyPosition, key: path,
      "\(entry.node.value.kind) cannot override \(earlier.value.kind)\(place)")
  }
}

extension TomlValue {
  /// Whether both values are tables, both are arrays, or both are neither.
  fileprivate func hasShape(of other: TomlValue) -> Bool {
    switch (self, other) {
    case (.table, .table), (.array, .array): true
    case (.table, _), (.array, _), (_, .table), (_, .array): false
    case (_, _): true
    }
  }
}
