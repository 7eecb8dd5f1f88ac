public import JSONRPC

extension Schema {
  /// The JSON Schema (draft 7, which OpenRPC 1.3 uses) of a value that is sent to the daemon.
  /// Members that it does not list are refused.
  public var json: JSONValue { json(of: .params) }

  /// The JSON Schema of a value that the daemon sends, for the OpenRPC document.
  ///
  /// It permits further members, because later versions may add some and clients ignore unknown
  /// ones. A tagged object becomes a reference to `components.schemas`, which contains its
  /// ``definition``.
  var replyJSON: JSONValue { json(of: .reply) }

  /// The JSON Schema that a reference to a tagged object points to; for other schemas the same as
  /// ``replyJSON``.
  var definition: JSONValue {
    guard case .tagged(name: _, let variants) = self else { return replyJSON }
    return Schema.json(oneOf: variants, in: .reply)
  }

  private enum Side {
    case params
    case reply
  }

  private func json(of side: Side) -> JSONValue {
    switch self {
    case .anything: return true
    case .string(let words, let format): return Schema.json(oneOf: words, format: format)
    case .integer: return ["type": "integer"]
    case .number: return ["type": "number"]
    case .boolean: return ["type": "boolean"]
    case .array(let element): return ["type": "array", "items": element.json(of: side)]
    case .map(let value):
      return ["type": "object", "additionalProperties": value.json(of: side)]
    case .object(let members): return Schema.json(of: members, in: side)
    case .tagged(let name, let variants):
      switch side {
      case .params: return Schema.json(oneOf: variants, in: side)
      case .reply: return ["$ref": "#/components/schemas/\(name)"]
      }
    case .either(let forms): return ["oneOf": .array(forms.map { $0.json(of: side) })]
    case .nullable(.anything): return true
    case .nullable(let form): return ["anyOf": [form.json(of: side), ["type": "null"]]]
    }
  }

  private static func json(oneOf variants: [Variant], in side: Side) -> JSONValue {
    ["oneOf": .array(variants.map { json(of: $0.allMembers, in: side) })]
  }

  private static func json(oneOf words: [String], format: String?) -> JSONValue {
    var schema: JSONValue = ["type": "string"]
    if !words.isEmpty { schema["enum"] = .array(words.map { .string($0) }) }
    if let format { schema["format"] = .string(format) }
    return schema
  }

  private static func json(of members: [Member], in side: Side) -> JSONValue {
    let properties = members.map { ($0.name, $0.schema.json(of: side)) }
    let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
    var schema: JSONValue = ["type": "object"]
    schema["properties"] = .object(Dictionary(properties) { first, _ in first })
    if !required.isEmpty { schema["required"] = .array(required) }
    if side == .params { schema["additionalProperties"] = false }
    return schema
  }
}
