extension TomlTable {
  /// The table as a TOML document: first its plain values, then its tables and arrays of tables.
  package var text: String {
    var lines: [String] = []
    write(to: &lines, path: "")
    return lines.map { $0 + "\n" }.joined()
  }

  private func write(to lines: inout [String], path: String) {
    for entry in entries where !entry.node.value.hasHeader {
      lines.append("\(TomlValue.keyText(entry.key)) = \(entry.node.value.inlineText)")
    }
    for entry in entries {
      let path = (path.isEmpty ? "" : path + ".") + TomlValue.keyText(entry.key)
      for (table, header) in entry.node.value.headed(path) {
        if !lines.isEmpty { lines.append("") }
        lines.append(header)
        table.write(to: &lines, path: path)
      }
    }
  }
}

extension TomlValue {
  fileprivate var hasHeader: Bool { !headed("").isEmpty }

  /// Returns the tables that get a header of their own, each with that header.
  fileprivate func headed(_ path: String) -> [(table: TomlTable, header: String)] {
    if case .table(let table) = self { return [(table, "[\(path)]")] }
    guard case .array(let nodes) = self else { return [] }
    return nodes.compactMap { node in
      if case .table(let table) = node.value { (table, "[[\(path)]]") } else { nil }
    }
  }

  fileprivate var inlineText: String {
    switch self {
    case .string(let text): Self.quoted(text)
    case .integer(let number): String(number)
    case .float(let number): String(number)
    case .boolean(let truth): String(truth)
    case .array(let nodes): "[" + nodes.map(\.value.inlineText).joined(separator: ", ") + "]"
    case .table, .date: "{}"
    }
  }

  fileprivate static func keyText(_ key: String) -> String {
    let isBare = !key.isEmpty && key.utf8.allSatisfy { $0.isWordByte || $0 == UInt8(ascii: "-") }
    return isBare ? key : quoted(key)
  }

  /// Returns a text as a basic string of TOML, with its quotation marks.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      case _ where scalar.value < 32 || scalar.value == 127:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
