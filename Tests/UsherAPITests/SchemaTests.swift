import JSONRPC
import Testing
import UsherCore

@testable import UsherAPI

extension Method {
  /// The members of the parameters' schema.
  static var members: [Schema.Member] {
    if case .object(let members) = StrictDecoding.schema(of: Self.self) { members } else { [] }
  }
}

@Suite("Schemas of types")
struct SchemaTests {
  private enum Colour: String, Codable, CaseIterable {
    case red
    case green = "g"
  }

  private struct Everything: Codable {
    var text: String
    var integers: Integers
    var double: Double
    var float: Float
    var flag: Bool
    var colour: Colour
    var maybeColour: Colour?
    var id: FlowID
    var at: Timestamp
    var secret: WireSecret?
    var any: JSONValue
    var maybeAny: JSONValue?
    var list: [Inner]
    var lists: [[Int]]?
    var set: Set<String>
    var table: [String: Inner]
    var tables: [String: [Int]]?
    var maybe: Inner?
    @Nullable var null: Inner?
    @Nullable var nullText: String?
    @Nullable var nullAny: JSONValue?

    struct Inner: Codable, Equatable { var id: String }

    struct Integers: Codable {
      var a: Int
      var b: UInt8?
      var c: Int64
    }
  }

  @Test("the schema of a type has every member, in order, with its type")
  func everything() {
    let inner = Schema.object([.init("id", .text)])
    let colour = Schema.string(oneOf: ["red", "g"], format: nil)
    #expect(
      StrictDecoding.schema(of: Everything.self)
        == .object([
          .init("text", .text),
          .init(
            "integers",
            .object([.init("a", .integer), .init("b?", .integer), .init("c", .integer)])),
          .init("double", .number),
          .init("float", .number),
          .init("flag", .boolean),
          .init("colour", colour),
          .init("maybeColour?", colour),
          .init("id", .text),
          .init("at", .string(oneOf: [], format: "date-time")),
          .init("secret?", .text),
          .init("any", .anything),
          .init("maybeAny?", .anything),
          .init("list", .array(of: inner)),
          .init("lists?", .array(of: .array(of: .integer))),
          .init("set", .array(of: .text)),
          .init("table", .map(of: inner)),
          .init("tables?", .map(of: .array(of: .integer))),
          .init("maybe?", inner),
          .init("null", .nullable(inner)),
          .init("nullText", .nullable(.text)),
          .init("nullAny", .nullable(.anything)),
        ]))
  }

  private struct Picky: Codable {
    var name: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      name = try container.decode(String.self)
      guard !name.isEmpty else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "empty")
      }
    }
  }

  @Test("a parameter type whose schema cannot be read ends the process")
  func unreadable() async {
    await #expect(processExitsWith: .failure) {
      _ = StrictDecoding.schema(of: [Picky].self)
    }
  }

  @Test("the schema of a flow's step has the members of each step kind, and allows null")
  func step() throws {
    guard case .object(let members) = StrictDecoding.schema(of: Flow.self) else {
      Issue.record("the schema of Flow is not an object")
      return
    }
    let step = try #require(members.first { $0.name == "step" })
    #expect(step.isRequired)
    guard case .nullable(.tagged(name: _, let variants)) = step.schema else {
      Issue.record("\(step.schema)")
      return
    }
    #expect(variants.map(\.type) == Step.Kind.allCases.map(\.rawValue))
    #expect(variants.allSatisfy { !$0.members.isEmpty })
    #expect(
      variants.last?.members.map(\.name) == [
        "for", "pollAfterMs", "option", "alternatives", "resendAt", "takesConfirmation",
      ])
    #expect(variants.last?.members.filter(\.isRequired).map(\.name) == ["for"])
  }

  @Test("the JSON Schema of parameters forbids unknown members, and that of replies allows them")
  func jsonSchema() throws {
    let schema = Schema.object([
      .init("a", .text), .init("b?", .nullable(.array(of: .integer))),
      .init("c", .string(oneOf: ["x"], format: "date-time")), .init("d?", .map(of: .number)),
      .init("e?", .tagged(name: "T", [.init(type: "t", members: [.init("f?", .boolean)])])),
      .init("g?", .anything), .init("h", .nullable(.anything)),
      .init("i?", .either([.string(oneOf: ["y"], format: nil), .integer])),
    ])
    let tagged = """
      {"oneOf":[{"type":"object","required":["type"]CLOSED,
         "properties":{"type":{"type":"string","enum":["t"]},"f":{"type":"boolean"}}}]}
      """
    func whole(_ tagged: String) -> String {
      """
      {"type":"object","required":["a","c","h"]CLOSED,"properties":
        {"a":{"type":"string"},
         "b":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},
         "c":{"type":"string","enum":["x"],"format":"date-time"},
         "d":{"type":"object","additionalProperties":{"type":"number"}},
         "e":\(tagged),"g":true,"h":true,
         "i":{"oneOf":[{"type":"string","enum":["y"]},{"type":"integer"}]}}}
      """
    }
    let closed = whole(tagged).replacing("CLOSED", with: #","additionalProperties":false"#)
    let open = whole(##"{"$ref":"#/components/schemas/T"}"##).replacing("CLOSED", with: "")
    #expect(schema.json == (try json(closed)))
    var writer = SchemaWriter()
    let (reply, empty) = (writer.json(schema, .reply), writer.json(.object([]), .reply))
    #expect(reply == (try json(open)))
    #expect(writer.definitions == ["T": try json(tagged.replacing("CLOSED", with: ""))])
    #expect(empty == ["type": "object", "properties": [:]])
  }
}

extension Schema.Member {
  /// Creates a member, which is optional if its name ends with `?`.
  fileprivate init(_ name: String, _ schema: Schema) {
    self.init(
      name: name.last == "?" ? String(name.dropLast()) : name, schema: schema,
      isRequired: name.last != "?")
  }
}
