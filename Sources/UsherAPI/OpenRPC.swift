public import JSONRPC
import UsherCore

/// Creates the OpenRPC 1.3 document of the daemon from Swift types.
///
/// The document is the whole contract of the socket: the methods, the objects, the steps with their
/// inputs, the flows of each type of provider, the notifications and the errors. What OpenRPC does
/// not define is in members that begin with `x-`.
public enum OpenRPC {
  /// Returns the document.
  ///
  /// - Parameters:
  ///   - methods: The methods, in any order.
  ///   - flows: The flows of all types of provider, in any order.
  public static func document(
    version: String, methods: [any Method.Type], flows: [FlowDescription]
  ) -> JSONValue {
    var writer = SchemaWriter()
    let flows = flows.sorted { $0.name < $1.name }
    let methods = methods.sorted { $0.name < $1.name }.map { entry($0, &writer) }
    let notifications: JSONValue = [
      notification(EventNotification.self, &writer), notification(EventsLost.self, &writer),
    ]
    let entries = flows.map { entry($0, &writer) }
    defineObjects(flows, &writer)
    return [
      "openrpc": "1.3.2",
      "info": ["title": "usherd", "version": .string(version), "description": .string(overview)],
      "methods": .array(methods),
      "components": ["errors": errors, "schemas": .object(writer.definitions)],
      "x-flows": .array(entries),
      "x-notifications": notifications,
    ]
  }

  private static var overview: String {
    """
    JSON-RPC 2.0 over a Unix stream socket: one JSON value in UTF-8 per line. Parameters travel by \
    name; clients ignore unknown members of results. `x-flows` lists the flows of each type of \
    provider, `x-notifications` what the daemon sends by itself, `components.errors` every error.
    """
  }

  /// Defines the components of the document that no method refers to.
  private static func defineObjects(_ flows: [FlowDescription], _ writer: inout SchemaWriter) {
    writer.define("StepInput") { writer in
      SchemaWriter.described(
        writer.json(FlowInput.documentedSchema, .params),
        "The input that answers a step. Its member `type` is the type of the step.")
    }
    writer.define("FlowParams") { _ in
      anyOf(flows.map(\.paramsName), "The parameters of a flow, one of those in `x-flows`.")
    }
    writer.define("FlowResult") { _ in
      anyOf(flows.map(\.resultName), "The result of a flow, one of those in `x-flows`.")
    }
    _ = writer.json(StrictDecoding.documentedSchema(of: ErrorData.self), .reply)
  }

  private static func anyOf(_ names: [String], _ description: String) -> JSONValue {
    guard !names.isEmpty else { return ["type": "object", "description": .string(description)] }
    return [
      "anyOf": .array(names.map { SchemaWriter.reference(to: $0) }),
      "description": .string(description),
    ]
  }
}

// MARK: - Methods

extension OpenRPC {
  private static func entry(
    _ method: any Method.Type, _ writer: inout SchemaWriter
  ) -> JSONValue {
    var entry: JSONValue = [
      "name": .string(method.name),
      "summary": .string(method.summary),
      "paramStructure": "by-name",
      "params": .array(params(of: method, &writer)),
      "result": ["name": "result", "schema": result(of: method, &writer)],
      "examples": [json(method.example, of: method.name)],
      "x-access": .string(method.access.rawValue),
      "x-repeatable": .string(method.traits.repetition.documentation),
    ]
    if !method.discussion.isEmpty { entry["description"] = .string(method.discussion) }
    return entry
  }

  private static func params(
    of type: any Decodable.Type, _ writer: inout SchemaWriter
  ) -> [JSONValue] {
    let members = StrictDecoding.documentedSchema(of: type).members
    // OpenRPC: "all optional params MUST be positioned after all required params".
    let ordered = members.filter(\.isRequired) + members.filter { !$0.isRequired }
    return ordered.map { descriptor($0, .params, &writer) }
  }

  private static func descriptor(
    _ member: Schema.Member, _ side: SchemaWriter.Side, _ writer: inout SchemaWriter
  ) -> JSONValue {
    var descriptor: JSONValue = [
      "name": .string(member.name), "required": .bool(member.isRequired),
    ]
    if case .annotated(let form, .description(let text)) = member.schema {
      descriptor["description"] = .string(text)
      descriptor["schema"] = writer.json(form, side)
    } else {
      descriptor["schema"] = writer.json(member.schema, side)
    }
    return descriptor
  }

  private static func result<M: Method>(
    of method: M.Type, _ writer: inout SchemaWriter
  ) -> JSONValue {
    writer.json(StrictDecoding.documentedSchema(of: M.Reply.self), .reply)
  }

  private static func json(_ example: MethodExample, of method: String) -> JSONValue {
    let params = (example.params.objectValue ?? [:]).sorted { $0.key < $1.key }
    return [
      "name": .string(method),
      "params": .array(params.map { ["name": .string($0.key), "value": $0.value] }),
      "result": ["name": "result", "value": example.result],
    ]
  }
}

extension MethodTraits.Repetition {
  fileprivate var documentation: String {
    switch self {
    case .always: "always"
    case .never: "never"
    case .ifGiven(let member): "with \(member)"
    case .without(let members): "without \(members.joined(separator: " or "))"
    }
  }
}

// MARK: - Flows, notifications, errors

extension OpenRPC {
  private static func entry(_ flow: FlowDescription, _ writer: inout SchemaWriter) -> JSONValue {
    let params = writer.define(flow.paramsName) { writer in writer.json(flow.params, .params) }
    let result = writer.define(flow.resultName) { writer in writer.json(flow.result, .reply) }
    var entry: JSONValue = [
      "providerType": .string(flow.providerType),
      "kind": .string(flow.kind),
      "summary": .string(flow.summary),
      "params": params,
      "result": result,
      "example": ["params": flow.example.params, "result": flow.example.result],
    ]
    if let mode = flow.mode { entry["mode"] = .string(mode) }
    return entry
  }

  private static func notification<N: DaemonNotification>(
    _ type: N.Type, _ writer: inout SchemaWriter
  ) -> JSONValue {
    let members = StrictDecoding.documentedSchema(of: type).members
    return [
      "name": .string(type.name),
      "summary": .string(type.summary),
      "params": .array(members.map { descriptor($0, .reply, &writer) }),
      "example": type.example,
    ]
  }

  private static var errors: JSONValue {
    let entries = UsherError.Reason.allCases.map { reason in
      (
        reason.rawValue,
        JSONValue.object([
          "code": .integer(Int64(reason.code)),
          "message": .string(reason.meaning),
          "data": ["reason": .string(reason.rawValue), "retryable": .bool(reason.isRetryable)],
        ])
      )
    }
    return .object(Dictionary(entries) { first, _ in first })
  }
}
