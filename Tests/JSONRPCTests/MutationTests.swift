import JSONRPC
import Testing
import UsherFuzz
import UsherTestKit

/// Compares the scanner with an independent parser on randomly mutated texts.
struct MutationTests {
  private static let seeds: [String] =
    GrammarTests.accepted + GrammarTests.refused.map(\.0) + [
      #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"work","n":[1,2.5e3]}}"#,
      #"[{"jsonrpc":"2.0","id":"é\u00e9","method":"a"},{"x":{"y":{"z":[true,false,null]}}}]"#,
    ]

  private static let fragments: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "\\u0061", "a", "-",
      "0", "1", ".", "e", "E+", " ", "\n", "true", "null", "\"a\":1,", "é", "\u{10348}", "[[[[[[[[",
    ].map { Array($0.utf8) } + [[0xC0], [0x80], [0xED, 0xA0, 0x80], [0xFF], [0x00], [0x1F]]

  @Test("the scanner and both parsers accept the same mutated texts", arguments: 0..<8)
  func agreement(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3000 {
      let text = Self.mutated(&random)
      let expected = ReferenceParser.accepts(text, nesting: 9)
      let limits = JSONLimits(nesting: 9)
      let scanned = Scanner(limits: limits).scan(text)
      #expect((scanned.syntaxProblem == nil) == expected, "\(text.text.debugDescription) \(text)")
      if let parses = Self.parses(text, limits) {
        #expect(parses == expected, "\(text.text.debugDescription) \(text)")
      }
    }
  }

  /// Whether ``JSONValue`` parses the text and reads its own encoding back equal; nil if a number
  /// is out of range, which only ``JSONValue`` refuses.
  private static func parses(_ text: [UInt8], _ limits: JSONLimits) -> Bool? {
    do {
      let value = try JSONValue(parsing: text, limits: limits)
      return (try? JSONValue(parsing: value.encoded(), limits: limits)) == value
    } catch {
      return error.problem == .numberOutOfRange ? nil : false
    }
  }

  private static func mutated(_ random: inout SeededGenerator) -> [UInt8] {
    var text = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let at = Int.random(in: 0...text.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where at < text.count: text[at] = UInt8.random(in: 0...255, using: &random)
      case 1 where at < text.count: text.remove(at: at)
      case 2: text.removeSubrange(at...)
      case 3:
        let other = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
        text.insert(contentsOf: other, at: at)
      default:
        let fragment = fragments[Int.random(in: 0..<fragments.count, using: &random)]
        text.insert(contentsOf: fragment, at: at)
      }
    }
    return text
  }
}
