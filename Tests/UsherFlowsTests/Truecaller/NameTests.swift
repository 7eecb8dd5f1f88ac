import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

private let emoji = "\u{1F600}\u{1F44D}"
private let marks = String(repeating: "\u{301}", count: 3)

@Suite("Names in Truecaller verifyPhone")
struct NameTests {
  @Test(
    "Truecaller verifyPhone accepts a first and last name by the SDK's rules",
    arguments: [
      ("Asha", "Rao", true), ("Asha", "", true), ("A", "1a", true), ("आशा", "राव", true),
      ("Ōsaka", "O'Neill-Smith", true), ("e\u{301}", "", true), ("Asha 2", "", true),
      (String(repeating: "a", count: 126), "", true),
      (String(repeating: "a", count: 127), "", true),
      (String(repeating: "a", count: 128), "", false),
      (String(repeating: "a", count: 129), "", false),
      ("Asha", String(repeating: "b", count: 127), true),
      ("Asha", String(repeating: "b", count: 128), false),
      ("a" + String(repeating: "\u{301}", count: 126), "", true),
      ("a" + String(repeating: "\u{301}", count: 127), "", false),
      ("a" + String(repeating: "\u{1F600}", count: 63), "", true),
      ("a" + String(repeating: "\u{1F600}", count: 64), "", false),
      ("", "Rao", false), (" ", "Rao", false), ("123", "Rao", false), ("_-.", "Rao", false),
      (emoji, "Rao", false), (marks, "Rao", false), ("\u{661}\u{662}", "Rao", false),
      ("Asha", " ", false), ("Asha", "123", false), ("Asha", emoji, false), ("Asha", marks, false),
      ("As\nha", "Rao", false), ("Asha", "R\u{0}ao", false), ("Asha", nil, false),
      (nil, "Rao", false), (nil, nil, false),
    ] as [(String?, String?, Bool)])
  func rules(first: String?, last: String?, isFit: Bool) throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let view = driven.flow.view
    driven.receive(DrivenVerification.code(first: first, last: last))
    guard !isFit else {
      #expect(driven.state == "verifying")
      #expect(driven.problem == nil)
      return
    }
    #expect(driven.last == .proceed([]))
    #expect(driven.flow.view.step == view.step)
    #expect(driven.problem?.reason == "invalid_name")
    #expect(driven.problem?.provider?.code == "18")
  }

  @Test("a last name that is null is Truecaller TCError 18 and makes no call; an empty one is fine")
  func nullLastName() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let cases: [(last: JSONValue, problem: String?)] = [
      (.null, "the last name is missing; it may be empty"), ("", nil),
    ]
    for (last, problem) in cases {
      let input = try FlowInput([
        "type": "enterCode", "code": "123456",
        "fields": ["firstName": "Asha", "lastName": last],
      ])
      driven.receive(.input(input))
      #expect(driven.problem?.message == problem)
      #expect(driven.problem?.provider?.code == (problem == nil ? nil : "18"))
      #expect(driven.state == (problem == nil ? "verifying" : "otpInitiated"))
      #expect(driven.calls.isEmpty == (problem != nil))
    }
  }

  @Test("Truecaller verifyPhone's problem with a name says what is wrong, without the name")
  func sentences() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    var told: [String] = []
    let pairs: [(String?, String?)] = [
      (nil, "Rao"), ("Asha", nil), ("77", ""), (String(repeating: "a", count: 128), ""),
      ("A\t", ""),
    ]
    for (first, last) in pairs {
      driven.receive(DrivenVerification.code(first: first, last: last))
      told.append(driven.problem?.message ?? "")
    }
    #expect(
      told == [
        "the first name is missing", "the last name is missing; it may be empty",
        "the first name has no letter", "the first name has more than 127 characters",
        "the first name has control characters",
      ])
  }
}
