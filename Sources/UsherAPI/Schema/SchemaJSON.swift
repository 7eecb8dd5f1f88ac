public import JSONRPC

extension Schema {
  /// The schema as JSON Schema (draft 7, which OpenRPC 1.3 uses), for a value that is sent to the
  /// daemon. Members that it does not list are refused.
  public var json: JSONValue {
    var writer = SchemaWriter()
    return writer.json(self, .params)
  }
}

/// Writes JSON Schemas, and collects the definitions of the components that they refer to.
struct SchemaWriter {
  enum Side {
    /// A value that is sent to the daemon. Objects permit no further members, and contain
    /// everything in place.
    case params
    /// A value that the daemon sends. Objects permit further members, because later versions may
    /// add some and clients ignore unknown ones, and refer to components.
    case reply
  }

  /// The definitions for `components.schemas`, by the name of the component.
  private(set) var definitions: [String: JSONValue] = [:]

  mutating func json(_ schema: Schema, _ side: Side) -> JSONValue {
    switch schema {
    case .anything, .nullable(.anything): return true
    case .string(let words, let format): return Self.json(oneOf: words, format: format)
    case .integer: return ["type": "integer"]
    case .number: return ["type": "number"]
    case .boolean: return ["type": "boolean"]
    case .onlyTrue: return ["type": "boolean", "const": true]
    case .array(let element): return ["type": "array", "items": json(element, side)]
    case .map(let value): return ["type": "object", "additionalProperties": json(value, side)]
    case .object(let members): return json(of: members, side)
    case .tagged(let name, let variants):
      guard side == .reply else { return json(oneOf: variants, side) }
      return define(name) { writer in writer.json(oneOf: variants, .reply) }
    case .either(let forms): return ["oneOf": .array(forms.map { json($0, side) })]
    case .nullable(let form): return ["anyOf": [json(form, side), ["type": "null"]]]
    case .annotated(let form, let annotation): return json(form, annotation, side)
    }
  }

  /// Adds the definition of a component, unless there is one with the name already.
  ///
  /// - Returns: The reference to the definition.
  @discardableResult
  mutating func define(
    _ name: String, _ definition: (inout SchemaWriter) -> JSONValue
  ) -> JSONValue {
    if definitions[name] == nil { definitions[name] = definition(&self) }
    return Self.reference(to: name)
  }

  private mutating func json(oneOf variants: [Schema.Variant], _ side: Side) -> JSONValue {
    ["oneOf": .array(variants.map { json(of: $0, side) })]
  }

  static func reference(to name: String) -> JSONValue {
    ["$ref": .string("#/components/schemas/\(name)")]
  }

  /// Returns a JSON Schema with a description added.
  static func described(_ json: JSONValue, _ text: String) -> JSONValue {
    guard !text.isEmpty else { return json }
    // Draft 7 ignores the members beside a `$ref`.
    if json["$ref"] != nil { return ["allOf": [json], "description": .string(text)] }
    var described = json
    described["description"] = .string(text)
    return described
  }
}

extension SchemaWriter {
  private mutating func json(
    _ form: Schema, _ annotation: Schema.Annotation, _ side: Side
  ) -> JSONValue {
    switch annotation {
    case .description(let text): return Self.described(json(form, side), text)
    case .reference(let name): return Self.reference(to: name)
    case .component(let component):
      guard side == .reply else { return json(form, side) }
      return define(component.name) { writer in
        Self.described(writer.json(form, .reply), component.description)
      }
    }
  }

  private mutating func json(of variant: Schema.Variant, _ side: Side) -> JSONValue {
    guard !variant.description.isEmpty else { return json(of: variant.allMembers, side) }
    let type = Schema.Member(
      "type", .string(oneOf: [variant.type], format: nil), "Always `\(variant.type)`.")
    return Self.described(json(of: [type] + variant.members, side), variant.description)
  }

  private mutating func json(of members: [Schema.Member], _ side: Side) -> JSONValue {
    var properties: [String: JSONValue] = [:]
    for member in members { properties[member.name] = json(member.schema, side) }
    let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
    var schema: JSONValue = ["type": "object", "properties": .object(properties)]
    if !required.isEmpty { schema["required"] = .array(required) }
    if side == .params { schema["additionalProperties"] = false }
    return schema
  }

  private static func json(oneOf words: [String], format: String?) -> JSONValue {
    var schema: JSONValue = ["type": "string"]
    if !words.isEmpty { schema["enum"] = .array(words.map { .string($0) }) }
    if let format { schema["format"] = .string(format) }
    return schema
  }
}
