public import JSONRPC
import UsherCore

/// Creates the OpenRPC 1.3 document of a list of methods from their Swift types.
public enum OpenRPC {
  public static func document(version: String, methods: [any Method.Type]) -> JSONValue {
    [
      "openrpc": "1.3.2",
      "info": ["title": "usherd", "version": .string(version)],
      "methods": .array(methods.sorted { $0.name < $1.name }.map(entry)),
      "components": ["errors": errors, "schemas": ["Step": Step.schema.definition]],
    ]
  }

  private static func entry(_ method: any Method.Type) -> JSONValue {
    [
      "name": .string(method.name),
      "summary": .string(method.summary),
      "paramStructure": "by-name",
      "params": .array(params(of: StrictDecoding.schema(of: method))),
      "result": ["name": "result", "schema": resultSchema(of: method).replyJSON],
      "x-access": .string(method.access.rawValue),
    ]
  }

  private static func params(of schema: Schema) -> [JSONValue] {
    guard case .object(let members) = schema else { return [] }
    // OpenRPC: "all optional params MUST be positioned after all required params".
    let ordered = members.filter(\.isRequired) + members.filter { !$0.isRequired }
    return ordered.map { member in
      [
        "name": .string(member.name), "required": .bool(member.isRequired),
        "schema": member.schema.json,
      ]
    }
  }

  private static func resultSchema<M: Method>(of method: M.Type) -> Schema {
    StrictDecoding.schema(of: M.Reply.self)
  }

  private static var errors: JSONValue {
    let entries = UsherError.Reason.allCases.map { reason in
      (
        reason.rawValue,
        JSONValue.object([
          "code": .integer(Int64(reason.code)), "message": .string(reason.rawValue),
        ])
      )
    }
    return .object(Dictionary(entries) { first, _ in first })
  }
}
