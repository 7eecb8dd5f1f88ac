import FoundationEssentials
import JSONRPC
import Testing

@testable import UsherAPI

/// Compares the encoders with the schemas. The schemas are read from the decoders and pinned by the
/// golden file of the OpenRPC document. Types with custom coding have further tests.
@Suite("Wire forms of all types")
struct WireFormTests {
  @Test(
    "parameters and replies of each method survive decoding and encoding unchanged",
    arguments: Methods.all)
  func methods(method: any Method.Type) throws { try check(method) }

  @Test("events and error data survive decoding and encoding unchanged")
  func others() throws {
    try check(EventNotification.self)
    try check(EventsLost.self)
    try check(ErrorData.self)
  }

  private func check<M: Method>(_ method: M.Type) throws {
    try check(method as any Codable.Type)
    try check(M.Reply.self)
  }

  private func check(_ form: any Codable.Type) throws {
    let samples = StrictDecoding.schema(of: form).samples
    #expect(!samples.isEmpty, "\(form)")
    for sample in samples { try check(form, sample) }
  }

  private func check<Form: Codable>(_ form: Form.Type, _ sample: JSONValue) throws {
    let read = try JSONDecoder().decode(form, from: Data(sample.encoded()))
    let written = try JSONValue(parsing: [UInt8](JSONEncoder().encode(read)))
    #expect(written == sample, "\(form)")
  }
}

extension Schema {
  /// Values with every word and variant; objects both with all members and with the required ones.
  fileprivate var samples: [JSONValue] {
    switch self {
    case .anything: [["a": [1, nil, "b", 2.5, true]]]
    case .string(oneOf: let words, format: "date-time") where words.isEmpty:
      ["2027-01-15T08:01:00.500Z"]
    case .string(oneOf: let words, format: _) where words.isEmpty: ["text"]
    case .string(oneOf: let words, format: _): words.map { .string($0) }
    case .integer: [7]
    case .number: [1.5]
    case .boolean: [true, false]
    case .onlyTrue: [true]
    case .annotated(let form, _): form.samples
    case .array(of: let element): [[], .array(element.samples)]
    case .map(of: let value): [[:]] + value.samples.map { ["a": $0] }
    case .nullable(let value): [nil] + value.samples
    case .either(let forms): forms.flatMap(\.samples)
    case .object(let members): Self.samples(of: members)
    case .tagged(name: _, let variants):
      variants.flatMap { variant in
        Self.samples(of: variant.members, with: ["type": .string(variant.type)])
      }
    }
  }

  private static func samples(
    of members: [Member], with others: [String: JSONValue] = [:]
  ) -> [JSONValue] {
    let all = members.map { ($0.name, $0.schema.samples) }
    let whole = (0..<(all.map(\.1.count).max() ?? 0)).map { number in
      all.reduce(into: others) { $0[$1.0] = $1.1[number % $1.1.count] }
    }
    let least = members.filter(\.isRequired).reduce(into: others) {
      $0[$1.name] = $1.schema.samples.first
    }
    return (whole + [least]).map { .object($0) }
  }
}
