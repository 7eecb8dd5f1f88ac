import JSONRPC
import Testing
import UsherCore

@testable import UsherAPI

extension Method {
  /// What the parameters' form lists.
  static var members: [Schema.Member] {
    if case .object(let members) = StrictDecoding.schema(of: Self.self) { members } else { [] }
  }

  static var replySchema: Schema { StrictDecoding.schema(of: Reply.self) }
}

@Suite("The form of a type")
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

  @Test("is read member by member, in order, whatever stands in it")
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

  @Test("ends the process where it cannot be read, rather than to refuse calls that are right")
  func unreadable() async {
    await #expect(processExitsWith: .failure) {
      _ = StrictDecoding.schema(of: [Picky].self)
    }
  }

  @Test("A method's parameters are the contract's, and required where it says so")
  func parameters() {
    let forms = Dictionary(
      uniqueKeysWithValues: allMethods.map { method in
        (method.name, method.members.map { $0.isRequired ? $0.name : "\($0.name)?" })
      })
    #expect(
      forms == [
        "account.forget": ["account?", "provider?", "revoke?"],
        "account.get": ["account"],
        "account.list": ["provider?"],
        "audit.list": [
          "since?", "until?", "client?", "uid?", "account?", "method?", "provider?", "denied?",
          "after?", "limit?",
        ],
        "audit.verify": [],
        "client.clear": ["provider"],
        "confirm.answer": ["confirmation", "allow", "remember?"],
        "confirm.forget": ["answer"],
        "confirm.list": [],
        "consent.list": ["account?", "provider?"],
        "consent.revoke": ["account?", "provider?", "client?", "grant?"],
        "credential.delete": ["name"],
        "credential.list": [],
        "credential.set": ["name", "value"],
        "events.subscribe": ["topics", "since?"],
        "events.unsubscribe": ["subscription"],
        "flow.cancel": ["flow"],
        "flow.get": ["flow"],
        "flow.list": ["provider?", "kind?", "key?", "status?"],
        "flow.start": ["provider", "kind", "params", "requestId?", "waitMs?"],
        "flow.submit": ["flow", "revision", "input", "waitMs?"],
        "flow.wait": ["flow", "revision", "timeoutMs"],
        "key.createRecovery": ["replace?"],
        "localAuth.setPasscode": ["old?", "new", "uid?"],
        "localAuth.status": [],
        "owner.accept": ["uid"],
        "owner.forget": ["uid"],
        "owner.list": [],
        "policy.check": [
          "client?", "user?", "groups?", "unit?", "executable?", "method", "provider?", "kind?",
          "operation?", "account?", "subject?", "scope?", "at?",
        ],
        "policy.list": [],
        "provider.check": ["provider"],
        "provider.get": ["provider"],
        "provider.list": [],
        "registration.checkDuplicate": ["provider", "verifyType", "verifyData"],
        "registration.checkUserKey": ["provider", "userKey"],
        "rpc.cancel": ["id"],
        "rpc.discover": [],
        "rpc.hello": ["protocol?", "client?"],
        "system.backup": [],
        "system.lock": [],
        "system.reload": [],
        "system.status": [],
        "system.unlock": ["passcode?"],
        "token.get": [
          "account?", "provider?", "scope?", "audience?", "minValidSeconds?", "forceRefresh?",
        ],
        "token.list": ["account?", "provider?"],
        "token.revoke": ["account?", "provider?"],
        "totp.code": ["account?", "provider?"],
        "totp.list": ["provider?"],
      ])
  }

  @Test("Anything goes only where the contract leaves the form open")
  func anything() {
    let open = allMethods.flatMap { method in
      StrictDecoding.schema(of: method).open(at: method.name)
        + method.replySchema.open(at: "\(method.name) →")
    }
    let flows = ["cancel", "get", "start", "submit", "wait"].map { "flow.\($0) → flow.result" }
    let account = ["account.attributes.*", "account.profile.*"].map { "account.get → \($0)" }
    let accounts = ["attributes.*", "profile.*"].map { "account.list → accounts.[].\($0)" }
    let others = [
      "flow.list → flows.[].result", "flow.start params", "flow.submit input",
      "provider.get → flows.[].params", "provider.list → providers.[].flows.[].params",
      "policy.list → rules.[].settings", "rpc.cancel id", "rpc.discover →",
    ]
    #expect(open.sorted() == (flows + account + accounts + others).sorted())
  }

  @Test("A flow's step tells each type's members, and null")
  func step() throws {
    guard case .object(let members) = StrictDecoding.schema(of: Flow.self) else {
      Issue.record("a flow is no object")
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
    #expect(variants.last?.members == [.init("for", .text), .init("pollAfterMs?", .integer)])
  }

  @Test("Parameters are closed, replies open, in JSON Schema")
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
    #expect(schema.replyJSON == (try json(open)))
    #expect(
      Schema.tagged(name: "T", [.init(type: "t", members: [.init("f?", .boolean)])]).definition
        == (try json(tagged.replacing("CLOSED", with: ""))))
    #expect(Schema.object([]).replyJSON == ["type": "object", "properties": [:]])
  }
}

extension Schema.Member {
  /// A name with `?` is not required.
  fileprivate init(_ name: String, _ schema: Schema) {
    self.init(
      name: name.last == "?" ? String(name.dropLast()) : name, schema: schema,
      isRequired: name.last != "?")
  }
}

extension Schema {
  /// Where it holds what may be anything.
  fileprivate func open(at path: String) -> [String] {
    func below(_ name: String, _ schema: Schema) -> [String] {
      let isWithin = path.contains(" ") && !path.hasSuffix("→")
      return schema.open(at: path + (isWithin ? "." : " ") + name)
    }
    switch self {
    case .anything: return [path]
    case .string, .integer, .number, .boolean: return []
    case .array(let element): return below("[]", element)
    case .map(let value): return below("*", value)
    case .nullable(let value): return value.open(at: path)
    case .either(let forms): return forms.flatMap { $0.open(at: path) }
    case .object(let members): return members.flatMap { below($0.name, $0.schema) }
    case .tagged(name: _, let variants):
      return variants.flatMap { $0.members.flatMap { below($0.name, $0.schema) } }
    }
  }
}
