import JSONRPC
import Testing
import UsherCore
import UsherTestKit

@testable import UsherAPI

@Suite("Descriptions in the API contract")
struct DocumentationTests {
  @Test(
    "each parameter and each member of a method's reply has a description", arguments: Methods.all)
  func members(method: any Method.Type) { check(method) }

  private func check<M: Method>(_ method: M.Type) {
    #expect(StrictDecoding.documentedSchema(of: method).undescribed(method.name) == [])
    #expect(StrictDecoding.documentedSchema(of: M.Reply.self).undescribed("\(method.name) →") == [])
  }

  @Test("each member of a notification, of an error and of a flow input has a description")
  func others() {
    for type in [EventNotification.self, EventsLost.self, ErrorData.self] as [any Decodable.Type] {
      #expect(StrictDecoding.documentedSchema(of: type).undescribed("\(type)") == [])
    }
    #expect(FlowInput.documentedSchema.undescribed("StepInput") == [])
  }

  private struct Silent: Codable {
    var told: Told
    var untold: String

    struct Told: Codable, SchemaDocumented {
      var one: Int
      var other: [Int]?

      static var component: SchemaComponent? { .init("Told", "Something.") }
      static var memberDescriptions: [String: String] { ["one": "The one."] }
    }
  }

  @Test("the documentation check names each API member without a description")
  func undescribed() {
    #expect(
      StrictDecoding.documentedSchema(of: Silent.self).undescribed("Silent")
        == ["Silent.told", "Silent.told.other", "Silent.untold"])
  }

  @Test("a documented schema refuses the same members as a plain one", arguments: Methods.all)
  func sameMisfits(method: any Method.Type) {
    let plain = StrictDecoding.schema(of: method)
    let documented = StrictDecoding.documentedSchema(of: method)
    #expect(plain.members.map(\.name) == documented.members.map(\.name))
    #expect(plain.members.map(\.isRequired) == documented.members.map(\.isRequired))
    for value: JSONValue in [["stray": 1], ["revision": 1e30], ["uid": -9.3e18], [:]] {
      #expect(plain.mismatch(in: value) == documented.mismatch(in: value))
    }
  }

  @Test(
    "each method's example call is accepted, and its result decodes as the reply",
    arguments: Methods.all)
  func example(method: any Method.Type) throws { try checkExample(method) }

  private func checkExample<M: Method>(_ method: M.Type) throws {
    let example = method.example
    let schema = StrictDecoding.documentedSchema(of: method)
    _ = try StrictDecoding.decode(method, from: example.params, schema: schema)
    #expect(schema.complaints(about: example.params, at: method.name) == [])
    _ = try JSONValueDecoder.decode(M.Reply.self, from: example.result)
    let reply = StrictDecoding.documentedSchema(of: M.Reply.self)
    #expect(reply.complaints(about: example.result, at: "\(method.name) →") == [])
  }

  @Test("the example of each notification matches the notification's schema")
  func notifications() {
    check(EventNotification.self)
    check(EventsLost.self)
  }

  private func check<N: DaemonNotification>(_ type: N.Type) {
    let schema = StrictDecoding.documentedSchema(of: type)
    #expect(schema.complaints(about: type.example, at: type.name) == [])
  }

  @Test("each documented form of a flow input is decoded, and each encoded input matches one form")
  func inputs() throws {
    let schema = FlowInput.documentedSchema
    for (input, _) in FlowInputTests.forms {
      #expect(schema.complaints(about: input.json, at: "input") == [], "\(input)")
    }
    guard case .either(let forms) = schema else {
      Issue.record("\(schema)")
      return
    }
    for form in forms {
      var sample: JSONValue = [:]
      for member in form.members where member.isRequired { sample[member.name] = member.sample }
      _ = try FlowInput(sample)
    }
    let numbers: JSONValue = ["type": "exchangeCredential", "success": ["expiresIn": 900]]
    #expect(schema.complaints(about: numbers, at: "input") == [])
    #expect(schema.complaints(about: ["type": "wait"], at: "input") != [])
    #expect(schema.complaints(about: ["type": "enterCode", "resend": false], at: "input") != [])
  }

  @Test(
    "every error reason has a sentence that says when the error occurs",
    arguments: UsherError.Reason.allCases)
  func reasons(reason: UsherError.Reason) {
    #expect(reason.meaning.first?.isUppercase == true && reason.meaning.hasSuffix("."))
  }
}

extension Schema.Member {
  /// The least value that an input's member can have.
  fileprivate var sample: JSONValue { schema.sample }
}

extension Schema {
  fileprivate var sample: JSONValue {
    switch self {
    case .string(let words, format: _): .string(words.first ?? "text")
    case .onlyTrue: true
    case .array(let form): [form.sample]
    case .map(let form): ["a": form.sample]
    case .object(let members):
      .object(Dictionary(members.map { ($0.name, $0.sample) }) { first, _ in first })
    case .annotated(let form, _): form.sample
    case .either(let forms): forms.first?.sample ?? .null
    case .anything, .integer, .number, .boolean, .tagged, .nullable: nil
    }
  }
}
