import Testing

@testable import JSONRPC

@Suite("Names of an object's members")
struct MemberNamesTests {
  /// Returns the JSON text of a name, with or without an escape.
  private static func written(_ number: Int, isEscaped: Bool) -> String {
    isEscaped ? #"\u0061\#(number)"# : "a\(number)"
  }

  private func isAccepted(_ names: [String]) -> Bool {
    let members = names.map { #""\#($0)":1"# }.joined(separator: ",")
    let text = #"{"jsonrpc":"2.0","method":"m","params":{\#(members)}}"#
    return Scanner().scan(text).syntaxProblem != .duplicateMember
  }

  @Test(
    "a duplicate member name of a JSON object is found in any spelling and at any position",
    arguments: [2, 15, 16, 17, 18, 40])
  func twice(count: Int) {
    for escapes in [[], [0], [1], [count - 1], Array(0..<count)] {
      let names = (0..<count).map { Self.written($0, isEscaped: escapes.contains($0)) }
      #expect(isAccepted(names), "\(escapes)")
      for place in [0, 1, count - 2, count - 1] {
        for isEscaped in [false, true] {
          let again = Self.written(place, isEscaped: isEscaped)
          #expect(!isAccepted(names + [again]), "\(escapes) \(place) \(isEscaped)")
        }
      }
    }
  }

  @Test("JSON member names are compared unescaped, with any escapes and any length")
  func spellings() {
    let long = String(repeating: "a", count: 40)
    let escaped = #"\u0061"# + String(repeating: "a", count: 39)
    let groups: [[String]] = [
      [#"\t"#, #"\u0009"#], [""],
      ["é", #"\u00e9"#, #"\u00E9"#], ["e\u{301}", #"e\u0301"#, #"\u0065\u0301"#],
      ["😀", #"\ud83d\ude00"#, #"\uD83D\uDE00"#], ["/", #"\/"#, #"\u002f"#],
      [#"\\"#, #"\u005c"#], [#"\""#, #"\u0022"#], [#"\u0000"#], [#"\u0000\u0000"#],
      [long + "b", long + #"\u0062"#, escaped + "b"],
      [long + "c", long + #"\u0063"#],
    ]
    for (place, group) in groups.enumerated() {
      for name in group {
        for (otherPlace, other) in groups.enumerated() {
          for spelling in other {
            let isSame = place == otherPlace
            #expect(isAccepted([name, spelling]) == !isSame, "\(name) \(spelling)")
            #expect(
              isAccepted(["x", name, #"\u0079"#, spelling]) == !isSame, "\(name) \(spelling)")
          }
        }
      }
    }
  }
}
