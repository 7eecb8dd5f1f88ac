import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

/// The scanner decides whether a line is a call, and Foundation's decoder reads its parameters.
/// Every line that the scanner accepts must decode, with the same meaning.
@Suite("Agreement of scanner and decoders")
struct DecoderAgreementTests {
  @Test("the scanner and the decoders agree on damaged token.get calls", arguments: 0..<8)
  func agreement(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let schema = StrictDecoding.schema(of: TokenGet.self)
    var (accepted, decoded) = (0, 0)
    for _ in 0..<2500 {
      let line = CallMutator.line(&random)
      let scanned = Scanner().scan(line)
      if case .refused(let refusal) = scanned, case .syntax = refusal.reason { continue }
      if scanned == .looksLikeHTTP { continue }
      accepted += 1
      let text = String(decoding: line, as: UTF8.self)
      guard let value = try Self.value(line, text) else { continue }
      #expect((try? Self.foundation(line)) == value, "\(text)")
      guard case .call(let call) = scanned else { continue }
      let (method, params) = line.withUnsafeBytes { line in
        (call.method(in: line), call.paramsBytes(in: line).map { [UInt8]($0) })
      }
      guard method == TokenGet.name, let params, params.first == UInt8(ascii: "{") else { continue }
      if try Self.compare(params, schema) { decoded += 1 }
    }
    #expect(accepted > 600 && decoded > 200, "\(accepted) lines accepted, \(decoded) decoded")
  }

  /// Returns the line as ``JSONValue`` reads it; nil if ``JSONValue`` refuses valid JSON: a number
  /// out of range, or names that Swift strings compare as equal.
  private static func value(_ line: [UInt8], _ text: String) throws -> [UInt8]? {
    do {
      return normal(try JSONValue(parsing: line)).encoded()
    } catch {
      #expect(error.problem == .numberOutOfRange || error.problem == .duplicateMember, "\(text)")
      return nil
    }
  }

  private static func foundation(_ line: [UInt8]) throws -> [UInt8] {
    normal(try JSONDecoder().decode(JSONValue.self, from: Data(line))).encoded()
  }

  /// Returns the value with whole numbers as integers: Foundation reads `1.0` and `1` alike.
  private static func normal(_ value: JSONValue) -> JSONValue {
    switch value {
    case .number(let number):
      Int64(exactly: number).map { .integer($0) } ?? .number(number)
    case .array(let elements): .array(elements.map(normal))
    case .object(let members): .object(members.mapValues(normal))
    case .null, .bool, .integer, .string: value
    }
  }

  /// - Returns: Whether both decoders accept the parameters.
  private static func compare(_ params: [UInt8], _ schema: Schema) throws -> Bool {
    let text = String(decoding: params, as: UTF8.self)
    let theirs = try? JSONDecoder().decode(TokenGet.self, from: Data(params))
    do {
      let ours = try StrictDecoding.decode(
        TokenGet.self, from: try JSONValue(parsing: params), schema: schema)
      #expect(try theirs.map(members) == members(ours), "\(text)")
      return true
    } catch let error as UsherError {
      // Foundation's decoder ignores unknown members.
      #expect(theirs == nil || error.message.hasSuffix("is not a parameter"), "\(text): \(error)")
      return false
    }
  }

  /// Returns the members as bytes, because Swift strings ignore Unicode composition.
  private static func members(_ call: TokenGet) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(call)
  }

  @Test(
    "an RPC call with invalid UTF-8 in any member is refused as a parse error",
    arguments: [
      [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88],
      [0x80], [0xC3], [0xFF], [0xEF, 0xBB],
    ] as [[UInt8]])
  func noText(bytes: [UInt8]) {
    for place in ["\"id\":\"", "\"method\":\"", "\"provider\":\"", "\"x", "\"pro", "\"scope\":\""] {
      let line = Array(CallMutator.seed.utf8)
      let word = Array(place.utf8)
      let start = line.indices.first { line[$0...].starts(with: word) } ?? 0
      let damaged = Array(line[..<(start + word.count)]) + bytes + line[(start + word.count)...]
      guard case .refused(let refusal) = Scanner().scan(damaged) else {
        Issue.record("\(place)")
        continue
      }
      #expect(refusal.code == -32700, "\(place)")
    }
  }
}

/// Generates calls of `token.get`, many of them damaged.
private enum CallMutator {
  static let seed =
    #"{"jsonrpc":"2.0","id":"a","method":"token.get","x":1,"params":"#
    + #"{"provider":"work","scope":"openid email"}}"#

  private static let params = [
    "{}", #"{"provider":"work"}"#, #"{"account":"acc_1","minValidSeconds":60}"#,
    #"{"provider":"work","scope":"openid","audience":"x","forceRefresh":true}"#,
    #"{"account":null,"provider":"é\u00e9\ud83d\ude00","scope":"a\"\\\/\b\f\n\r\tb"}"#,
    #"{"minValidSeconds":86400,"forceRefresh":false,"provider":"e\u0301","note":[1,{"a":2.5}]}"#,
  ]

  private static let ids = [
    "1", "-0", "1.0", "1e2", #""a\u0041""#, #""""#, "18446744073709551616", "null",
  ]

  private static let fragments: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\u0061", "-", "0", "1", ".",
      "e",
      "E+", " ", "\t", "null", "true", "1.0", "1e2", "1e400", "\"a\":1,", "\"scope\":null,", "é",
      "e\u{301}", "\"provider\":\"work\",", "\u{FEFF}", "60.0", "9223372036854775808",
    ].map { Array($0.utf8) } + [[0xC0], [0x80], [0xED, 0xA0, 0x80], [0x00], [0x1F]]

  static func line(_ random: inout SeededGenerator) -> [UInt8] {
    let call =
      Int.random(in: 0..<4, using: &random) == 0
      ? seed
      : #"{"jsonrpc":"2.0","id":\#(pick(ids, &random)),"method":"token.get","#
        + #""params":\#(pick(params, &random))}"#
    var line = Array(call.utf8)
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let at = Int.random(in: 0...line.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where at < line.count: line[at] = UInt8.random(in: 0...255, using: &random)
      case 1 where at < line.count: line.remove(at: at)
      case 2 where at < line.count: line.swapAt(at, Int.random(in: 0..<line.count, using: &random))
      case 3: line.insert(contentsOf: Array(pick(params, &random).utf8), at: at)
      default: line.insert(contentsOf: pick(fragments, &random), at: at)
      }
    }
    return line
  }

  private static func pick<Element>(
    _ list: [Element], _ random: inout SeededGenerator
  ) -> Element { list[Int.random(in: 0..<list.count, using: &random)] }
}
