import FoundationEssentials
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Steps on the wire")
struct StepTests {
  private let operation = Operation(summary: "Pay the till", amount: "12.00 EUR", payee: "Till Ltd")
  private let operationJSON =
    #"{"summary":"Pay the till","amount":"12.00 EUR","payee":"Till Ltd"}"#

  @Test("openURL", arguments: Step.OpenURL.Completion.allCases)
  func openURL(completes: Step.OpenURL.Completion) {
    checkWire(
      Step.openURL(
        .init(
          url: "https://id.example.com/a?b=c", redirectURI: "http://127.0.0.1:1/cb",
          completes: completes)),
      """
      {"type":"openURL","url":"https://id.example.com/a?b=c","redirectURI":"http://127.0.0.1:1/cb",
       "completes":"\(completes.rawValue)"}
      """)
  }

  @Test("displayCode")
  func displayCode() {
    var step = Step.DisplayCode(
      userCode: "ABCD-EFGH", verificationURI: "https://id.example.com/device", expiresAt: later)
    checkWire(
      Step.displayCode(step),
      """
      {"type":"displayCode","userCode":"ABCD-EFGH",
       "verificationURI":"https://id.example.com/device","expiresAt":"\(laterJSON)"}
      """)
    step.verificationURIComplete = "https://id.example.com/device?c=1"
    checkWire(
      Step.displayCode(step),
      """
      {"type":"displayCode","userCode":"ABCD-EFGH",
       "verificationURI":"https://id.example.com/device",
       "verificationURIComplete":"https://id.example.com/device?c=1","expiresAt":"\(laterJSON)"}
      """)
  }

  @Test("enterCode")
  func enterCode() {
    checkWire(
      Step.enterCode(
        .init(
          purpose: .otp, channel: "sms", maskedTarget: "+49…7", expiresAt: later,
          resendAt: started, alsoAsk: [])),
      """
      {"type":"enterCode","purpose":"otp","channel":"sms","maskedTarget":"+49…7",
       "expiresAt":"\(laterJSON)","resendAt":"\(startedJSON)","alsoAsk":[]}
      """)
    checkWire(
      Step.enterCode(
        .init(
          purpose: .twoFactor, channel: "totp", maskedTarget: "", digits: 6, expiresAt: later,
          resendAt: started, attemptsLeft: 2,
          alsoAsk: [Field(name: "pin", type: .password, required: true, maxLength: 4)],
          operation: operation)),
      """
      {"type":"enterCode","purpose":"twoFactor","channel":"totp","maskedTarget":"","digits":6,
       "expiresAt":"\(laterJSON)","resendAt":"\(startedJSON)","attemptsLeft":2,
       "alsoAsk":[{"name":"pin","type":"password","required":true,"maxLength":4}],
       "operation":\(operationJSON)}
      """)
    checkWire(Step.EnterCode.Purpose.allCases, #"["otp","sca","twoFactor"]"#)
  }

  @Test("enterPassword")
  func enterPassword() {
    checkWire(
      Step.enterPassword(.init(purpose: "login")), #"{"type":"enterPassword","purpose":"login"}"#)
    checkWire(
      Step.enterPassword(
        .init(
          purpose: "sca", alternatives: [Option(id: "otp", label: "A code")],
          operation: operation)),
      """
      {"type":"enterPassword","purpose":"sca","alternatives":[{"id":"otp","label":"A code"}],
       "operation":\(operationJSON)}
      """)
  }

  @Test("choose")
  func choose() {
    checkWire(
      Step.choose(.init(what: .account, options: [])),
      #"{"type":"choose","what":"account","options":[]}"#)
    checkWire(
      Step.choose(
        .init(
          what: .verification, options: [Option(id: "1", label: "SMS")], operation: operation)),
      """
      {"type":"choose","what":"verification","options":[{"id":"1","label":"SMS"}],
       "operation":\(operationJSON)}
      """)
    checkWire(Step.Choose.Subject.allCases, #"["account","verification","loginMethod"]"#)
  }

  @Test("fillForm")
  func fillForm() {
    checkWire(
      Step.fillForm(.init(fields: [Field(name: "first", type: .text, required: false)])),
      #"{"type":"fillForm","fields":[{"name":"first","type":"text","required":false}]}"#)
    checkWire(Field.Form.allCases, #"["text","email","phone","password","date"]"#)
  }

  @Test("consent")
  func consent() {
    checkWire(
      Step.consent(
        .init(client: "Till", grants: [.init(id: "email", label: "E-mail", remembered: true)])),
      """
      {"type":"consent","client":"Till",
       "grants":[{"id":"email","label":"E-mail","remembered":true}]}
      """)
  }

  @Test("exchangeCredential")
  func exchangeCredential() {
    var step = Step.ExchangeCredential(
      credential: .init(type: .authCode, code: WireSecret("c-1")), requestId: "r-1",
      deadline: later)
    checkWire(
      Step.exchangeCredential(step),
      """
      {"type":"exchangeCredential","credential":{"type":"authCode","code":"c-1"},
       "requestId":"r-1","deadline":"\(laterJSON)"}
      """)
    step.codeVerifier = WireSecret("v-1")
    step.redirectURI = "https://till.example.com/cb"
    checkWire(
      Step.exchangeCredential(step),
      """
      {"type":"exchangeCredential","credential":{"type":"authCode","code":"c-1"},
       "codeVerifier":"v-1","redirectURI":"https://till.example.com/cb","requestId":"r-1",
       "deadline":"\(laterJSON)"}
      """)
  }

  @Test("localAuth")
  func localAuth() {
    checkWire(
      Step.localAuth(
        .init(methods: [.biometric, .passcode], reason: "to pay", scanning: true)),
      """
      {"type":"localAuth","methods":["biometric","passcode"],"reason":"to pay","scanning":true}
      """)
  }

  @Test("wait")
  func wait() {
    checkWire(Step.wait(.init(for: "the bank")), #"{"type":"wait","for":"the bank"}"#)
    checkWire(
      Step.wait(.init(for: "the bank", pollAfterMs: 500)),
      #"{"type":"wait","for":"the bank","pollAfterMs":500}"#)
  }

  @Test("A step's kind is its type, and there are ten")
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

  @Test("A step of no known type is refused", arguments: [#"{"type":"dance"}"#, "{}", "7"])
  func unknown(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Step.self, from: Data(text.utf8))
    }
  }

  @Test("A step's secrets do not print")
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
