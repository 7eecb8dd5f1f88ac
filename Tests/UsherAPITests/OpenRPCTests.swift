import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

@Suite("OpenRPC document")
struct OpenRPCTests {
  private let document = OpenRPC.document(
    version: "0.0.0", methods: Methods.all, flows: ProviderRegistry.descriptions)

  /// A difference is a change of the protocol that clients will notice.
  @Test("the OpenRPC document equals the golden file")
  func golden() throws {
    let file = try goldenFile("openrpc.json") {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(document) + Data("\n".utf8)
    }
    let golden = try JSONValue(parsing: [UInt8](file))
    #expect(names(document) == names(golden))
    for name in names(document) {
      #expect(method(name, in: document) == method(name, in: golden), "\(name)")
    }
    let schemas = { (document: JSONValue) in document["components"]?["schemas"]?.objectValue }
    #expect(schemas(document)?.keys.sorted() == schemas(golden)?.keys.sorted())
    for (name, schema) in schemas(document) ?? [:] {
      #expect(schema == schemas(golden)?[name], "\(name)")
    }
    #expect(document == golden)
  }

  @Test("the OpenRPC document sorts the methods by name")
  func order() {
    #expect(names(document) == names(document).sorted())
    let reversed = OpenRPC.document(
      version: "0.0.0", methods: Methods.all.reversed(),
      flows: ProviderRegistry.descriptions.reversed())
    #expect(reversed == document)
  }

  @Test("the OpenRPC document has its version, its info and an entry for every error")
  func whole() throws {
    #expect(document["openrpc"] == "1.3.2")
    #expect(document["info"]?["title"] == "usherd" && document["info"]?["version"] == "0.0.0")
    let errors = try #require(document["components"]?["errors"]?.objectValue)
    #expect(errors.count == UsherError.Reason.allCases.count)
    for reason in UsherError.Reason.allCases {
      #expect(errors[reason.rawValue]?["code"] == .integer(Int64(reason.code)))
      #expect(errors[reason.rawValue]?["message"] == .string(reason.meaning))
      let data = errors[reason.rawValue]?["data"]
      #expect(data == ["reason": .string(reason.rawValue), "retryable": .bool(reason.isRetryable)])
    }
  }

  @Test("each method has a complete entry in the OpenRPC document", arguments: Methods.all)
  func entry(type: any Method.Type) throws {
    let entry = try #require(method(type.name, in: document))
    #expect(entry["summary"] == .string(type.summary))
    #expect(type.summary.first?.isUppercase == true && type.summary.hasSuffix("."))
    #expect(entry["paramStructure"] == "by-name")
    #expect(entry["x-access"] == .string(type.access.rawValue))
    let params = try #require(entry["params"]?.arrayValue)
    #expect(Set(params.compactMap { $0["name"]?.stringValue }) == Set(type.members.map(\.name)))
    let required = params.map { $0["required"]?.boolValue }
    let optional = required.drop { $0 == true }
    #expect(optional.allSatisfy { $0 == false }, "the required ones come first")
    for param in params {
      #expect(param["schema"] != true, "\(type.name) has a parameter without a type")
      check(try #require(param["schema"]), "\(type.name)")
    }
    let result = try #require(entry["result"])
    #expect(result["name"]?.stringValue?.isEmpty == false)
    check(try #require(result["schema"]), "\(type.name) →")
  }

  @Test("the OpenRPC document defines every component that its schemas refer to")
  func components() throws {
    let schemas = try #require(document["components"]?["schemas"]?.objectValue)
    let objects: Set = [
      "Account", "Confirmation", "ErrorData", "Event", "Failure", "Field", "Flow", "FlowParams",
      "FlowResult", "LivingToken", "Operation", "Option", "Problem", "Provider", "ProviderError",
      "Revocation", "Step", "StepInput", "TokenSummary",
    ]
    #expect(objects.subtracting(schemas.keys) == [])
    for (name, schema) in schemas { check(schema, name) }
    let forms = try #require(schemas["Step"]?["oneOf"]?.arrayValue)
    #expect(
      forms.map { $0["properties"]?["type"]?["enum"]?[0]?.stringValue }
        == Step.Kind.allCases.map(\.rawValue))
  }

  @Test("the OpenRPC document has schemas for the parameters, inputs and results of flows")
  func typed() throws {
    let reference = { (name: String) -> JSONValue in
      ["$ref": .string("#/components/schemas/\(name)")]
    }
    let start = method("flow.start", in: document)?["params"]?.arrayValue ?? []
    let params = start.first { $0["name"] == "params" }
    #expect(params?["schema"] == reference("FlowParams"))
    let submit = method("flow.submit", in: document)?["params"]?.arrayValue ?? []
    #expect(submit.first { $0["name"] == "input" }?["schema"] == reference("StepInput"))
    let schemas = try #require(document["components"]?["schemas"]?.objectValue)
    let result = schemas["Flow"]?["properties"]?["result"]?["anyOf"]?[0]
    #expect(result == reference("FlowResult"))
    let flows = try #require(document["x-flows"]?.arrayValue)
    #expect(schemas["FlowParams"]?["anyOf"] == .array(flows.compactMap { $0["params"] }))
    #expect(schemas["FlowResult"]?["anyOf"] == .array(flows.compactMap { $0["result"] }))
  }

  @Test("the OpenRPC document lists the notifications with the schemas of their parameters")
  func notifications() throws {
    let notifications = try #require(document["x-notifications"]?.arrayValue)
    #expect(notifications.map { $0["name"] } == ["events.notify", "events.lost"])
    for notification in notifications {
      for param in notification["params"]?.arrayValue ?? [] {
        check(try #require(param["schema"]), "\(notification)")
      }
    }
  }

  private func names(_ document: JSONValue) -> [String] {
    document["methods"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
  }

  private func method(_ name: String, in document: JSONValue) -> JSONValue? {
    document["methods"]?.arrayValue?.first { $0["name"] == .string(name) }
  }

  /// Checks a schema against the part of JSON Schema draft 7 that the document uses.
  private func check(_ schema: JSONValue, _ path: String) {
    guard schema != true else { return }
    let words: Set = [
      "type", "enum", "format", "items", "additionalProperties", "properties", "required", "oneOf",
      "anyOf", "allOf", "$ref", "const", "description",
    ]
    guard let members = schema.objectValue, words.isSuperset(of: members.keys) else {
      Issue.record("\(path): \(schema)")
      return
    }
    let types = ["string", "integer", "number", "boolean", "array", "object", "null"]
    if let name = members["$ref"]?.stringValue?.split(separator: "/").last {
      #expect(members["$ref"] == .string("#/components/schemas/\(name)"), "\(path)")
      #expect(document["components"]?["schemas"]?[String(name)] != nil, "\(path)")
    }
    // A member that may be anything has only a description.
    if members.count == 1, members["description"] != nil { return }
    let isAlternative = ["oneOf", "anyOf", "allOf", "$ref"].contains { members[$0] != nil }
    #expect(isAlternative != types.contains(members["type"]?.stringValue ?? ""), "\(path)")
    #expect((members["type"] == "array") == (members["items"] != nil), "\(path)")
    let properties = members["properties"]?.objectValue ?? [:]
    for name in members["required"]?.arrayValue ?? [] {
      #expect(properties[name.stringValue ?? ""] != nil, "\(path)")
    }
    for (name, property) in properties { check(property, "\(path).\(name)") }
    if let items = members["items"] { check(items, "\(path).[]") }
    if let more = members["additionalProperties"], more != false { check(more, "\(path).*") }
    for key in ["oneOf", "anyOf", "allOf"] {
      for form in members[key]?.arrayValue ?? [] { check(form, "\(path).\(key)") }
    }
  }
}

@Suite("Source files of the methods")
struct SourceTests {
  @Test("every source file of a method is in Methods.all")
  func listed() throws {
    let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    let folder = tests.dropLast(3).joined(separator: "/") + "/Sources/UsherAPI/Methods"
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(files.sorted() == Methods.all.map { "\($0).swift" }.sorted())
  }
}
