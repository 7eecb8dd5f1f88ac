import FoundationEssentials
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Steps on the wire")
struct StepTests {
  @Test("the kind of a step is its type, and there are ten kinds")
  func kinds() {
    checkWire(
      Step.Kind.allCases,
      """
      ["openURL","displayCode","enterCode","enterPassword","choose","fillForm","consent",
       "exchangeCredential","localAuth","wait"]
      """)
    #expect(Step.wait(.init(for: "")).kind == .wait)
    #expect(Step.fillForm(.init(fields: [])).kind == .fillForm)
  }

  @Test("a step of an unknown type is refused", arguments: [#"{"type":"dance"}"#, "{}", "7"])
  func unknown(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Step.self, from: Data(text.utf8))
    }
  }

  @Test("the secrets of a step do not print")
  func secrets() {
    let step = Step.exchangeCredential(
      .init(
        credential: .init(type: .authCode, code: WireSecret("c-1")),
        codeVerifier: WireSecret("v-1"), requestId: "r-1", deadline: later))
    var dumped = ""
    dump(step, to: &dumped)
    for way in [dumped, "\(step)", String(reflecting: step)] {
      #expect(way.contains("r-1") && way.contains("<secret>"))
      #expect(!way.contains("c-1") && !way.contains("v-1"))
    }
  }
}
