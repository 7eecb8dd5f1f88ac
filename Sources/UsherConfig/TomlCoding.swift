/// Encodes a value with any coder, so that the same tree can be written as JSON.
extension TomlValue: Codable {
  package init(from decoder: any Decoder) throws {
    if let table = try? decoder.container(keyedBy: AnyKey.self) {
      let entries = try table.allKeys.map { key in
        TomlTable.Entry(key.stringValue, TomlNode(try table.decode(TomlValue.self, forKey: key)))
      }
      self = .table(TomlTable(entries))
      return
    }
    let container = try decoder.singleValueContainer()
    if let truth = try? container.decode(Bool.self) {
      self = .boolean(truth)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .float(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else {
      self = .array(try container.decode([TomlValue].self).map { TomlNode($0) })
    }
  }

  package func encode(to encoder: any Encoder) throws {
    if case .table(let table) = self {
      var container = encoder.container(keyedBy: AnyKey.self)
      for entry in table.entries {
        try container.encode(entry.node.value, forKey: AnyKey(entry.key))
      }
      return
    }
    var container = encoder.singleValueContainer()
    switch self {
    case .string(let text): try container.encode(text)
    case .integer(let number): try container.encode(number)
    case .float(let number): try container.encode(number)
    case .boolean(let truth): try container.encode(truth)
    case .array(let nodes): try container.encode(nodes.map(\.value))
    case .table, .date: try container.encodeNil()
    }
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ text: String) { stringValue = text }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}
