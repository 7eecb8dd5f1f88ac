import JSONRPC

/// Encodes a value with any coder as the JSON value of the same form.
extension TomlValue: Codable {
  package init(from decoder: any Decoder) throws { self.init(try JSONValue(from: decoder)) }

  package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

  private init(_ json: JSONValue) {
    switch json {
    case .object(let members):
      self = .table(
        TomlTable(members.map { TomlTable.Entry($0.key, TomlNode(TomlValue($0.value))) }))
    case .array(let elements): self = .array(elements.map { TomlNode(TomlValue($0)) })
    case .string(let text): self = .string(text)
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .float(number)
    case .bool(let truth): self = .boolean(truth)
    case .null: self = .date
    }
  }

  /// The JSON value of the same form; null for a date.
  var json: JSONValue {
    switch self {
    case .table(let table):
      .object(Dictionary(table.entries.map { ($0.key, $0.node.value.json) }) { _, last in last })
    case .array(let nodes): .array(nodes.map(\.value.json))
    case .string(let text): .string(text)
    case .integer(let number): .integer(number)
    case .float(let number): .number(number)
    case .boolean(let truth): .bool(truth)
    case .date: .null
    }
  }
}
