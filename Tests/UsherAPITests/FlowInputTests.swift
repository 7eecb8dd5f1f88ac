import JSONRPC
import Testing
import UsherAPI
import UsherCore

@Suite("Input to a step of a flow")
struct FlowInputTests {
  static let forms: [(FlowInput, String)] = [
    (
      .redirect(url: Secret("http://x/cb?code=1")),
      #"{"type":"openURL","redirectURL":"http://x/cb?code=1"}"#
    ),
    (.code(Secret("123"), fields: [:]), #"{"type":"enterCode","code":"123"}"#),
    (
      .code(Secret("123"), fields: ["pin": Secret("9")]),
      #"{"type":"enterCode","code":"123","fields":{"pin":"9"}}"#
    ),
    (.resend, #"{"type":"enterCode","resend":true}"#),
    (.password(Secret("hunter2")), #"{"type":"enterPassword","password":"hunter2"}"#),
    (.alternative("otp"), #"{"type":"enterPassword","alternative":"otp"}"#),
    (.choice("1"), #"{"type":"choose","id":"1"}"#),
    (.form(["first": Secret("Ada")]), #"{"type":"fillForm","fields":{"first":"Ada"}}"#),
    (.form([:]), #"{"type":"fillForm","fields":{}}"#),
    (.granted(["email", "name"]), #"{"type":"consent","granted":["email","name"]}"#),
    (.granted([]), #"{"type":"consent","granted":[]}"#),
    (.denied, #"{"type":"consent","denied":true}"#),
    (
      .exchanged(["token": Secret("t")]),
      #"{"type":"exchangeCredential","success":{"token":"t"}}"#
    ),
    (
      .exchangeFailed(reason: "timeout"),
      #"{"type":"exchangeCredential","failure":{"reason":"timeout"}}"#
    ),
    (.passcode(Secret("0000")), #"{"type":"localAuth","passcode":"0000"}"#),
    (.biometric, #"{"type":"localAuth","biometric":true}"#),
    (.cancelLocalAuth, #"{"type":"localAuth","cancel":true}"#),
    (.fallback, #"{"type":"localAuth","fallback":true}"#),
    (.back(.enterPassword), #"{"type":"enterPassword","back":true}"#),
    (.back(.openURL), #"{"type":"openURL","back":true}"#),
  ]

  @Test("each form of flow input is written and read back equal", arguments: forms)
  func form(input: FlowInput, text: String) throws {
    #expect(input.json == (try json(text)))
    #expect(try FlowInput(json(text)) == input)
    #expect(input.kind.rawValue == input.json["type"]?.stringValue)
  }

  @Test("a false flag in flow input is ignored")
  func falseFlags() throws {
    let code = #"{"type":"enterCode","code":"1","resend":false,"back":false}"#
    #expect(try FlowInput(json(code)) == .code(Secret("1"), fields: [:]))
    let passcode =
      #"{"type":"localAuth","passcode":"1","biometric":false,"cancel":false,"fallback":false}"#
    #expect(try FlowInput(json(passcode)) == .passcode(Secret("1")))
    let consent = #"{"type":"consent","denied":false,"granted":[]}"#
    #expect(try FlowInput(json(consent)) == .granted([]))
  }

  @Test("a field of a code that is null counts as left out, and one of a form is refused")
  func nullFields() throws {
    let code = #"{"type":"enterCode","code":"1","fields":{"last":null,"first":"A"}}"#
    #expect(try FlowInput(json(code)) == .code(Secret("1"), fields: ["first": Secret("A")]))
    let form = try json(#"{"type":"fillForm","fields":{"last":null}}"#)
    #expect(throws: UsherError.self) { try FlowInput(form) }
  }

  @Test(
    "malformed flow input is refused with an error that names the field",
    arguments: [
      ("[]", "input"), ("null", "input"), (#""code""#, "input"),
      ("{}", "input.type"), (#"{"type":7}"#, "input.type"), (#"{"type":"dance"}"#, "input.type"),
      (#"{"type":"wait"}"#, "input.type"), (#"{"type":"displayCode"}"#, "input.type"),
      (#"{"type":"openURL"}"#, "input.redirectURL"),
      (#"{"type":"openURL","redirectURL":1}"#, "input.redirectURL"),
      (#"{"type":"openURL","redirectURL":"x","code":"1"}"#, "input.code"),
      (#"{"type":"openURL","back":1}"#, "input.back"),
      (#"{"type":"openURL","back":true,"redirectURL":"x"}"#, "input.redirectURL"),
      (#"{"type":"enterCode"}"#, "input.code"),
      (#"{"type":"enterCode","code":123}"#, "input.code"),
      (#"{"type":"enterCode","code":null}"#, "input.code"),
      (#"{"type":"enterCode","resend":"yes"}"#, "input.resend"),
      (#"{"type":"enterCode","resend":true,"code":"1"}"#, "input.code"),
      (#"{"type":"enterCode","code":"1","fields":[]}"#, "input.fields"),
      (#"{"type":"enterCode","code":"1","fields":{"a":"1","pin":9}}"#, "input.fields.pin"),
      (#"{"type":"enterPassword"}"#, "input.password"),
      (#"{"type":"enterPassword","alternative":true}"#, "input.alternative"),
      (#"{"type":"enterPassword","alternative":"a","password":"b"}"#, "input.password"),
      (#"{"type":"choose"}"#, "input.id"), (#"{"type":"choose","id":1}"#, "input.id"),
      (#"{"type":"fillForm"}"#, "input.fields"),
      (#"{"type":"fillForm","fields":"x"}"#, "input.fields"),
      (#"{"type":"consent"}"#, "input.granted"),
      (#"{"type":"consent","granted":"email"}"#, "input.granted"),
      (#"{"type":"consent","granted":["email",1]}"#, "input.granted.1"),
      (#"{"type":"consent","denied":true,"granted":[]}"#, "input.granted"),
      (#"{"type":"exchangeCredential"}"#, "input.success"),
      (#"{"type":"exchangeCredential","success":7}"#, "input.success"),
      (#"{"type":"exchangeCredential","success":{"n":true}}"#, "input.success.n"),
      (#"{"type":"exchangeCredential","success":{"n":{}}}"#, "input.success.n"),
      (#"{"type":"exchangeCredential","failure":{}}"#, "input.failure.reason"),
      (#"{"type":"exchangeCredential","failure":"x"}"#, "input.failure"),
      (#"{"type":"exchangeCredential","failure":{"reason":7}}"#, "input.failure.reason"),
      (#"{"type":"exchangeCredential","failure":{"reason":"x","code":"y"}}"#, "input.failure.code"),
      (#"{"type":"exchangeCredential","failure":{"reason":"x"},"success":{}}"#, "input.success"),
      (#"{"type":"localAuth"}"#, "input.passcode"),
      (#"{"type":"localAuth","passcode":1234}"#, "input.passcode"),
      (#"{"type":"localAuth","biometric":true,"passcode":"1"}"#, "input.passcode"),
      (#"{"type":"localAuth","cancel":true,"fallback":true}"#, "input.fallback"),
      (#"{"type":"choose","id":"1","zebra":1,"ape":2}"#, "input.ape"),
    ])
  func malformed(text: String, field: String) throws {
    let value = try json(text)
    let error = refusal { () throws(UsherError) in try FlowInput(value) }
    #expect(error?.reason == .invalidInput)
    #expect(error?.detail.field == field)
    #expect(error?.message.hasPrefix(field) == true)
  }

  @Test("a number in the exchange input of a backend is accepted and means the same as its text")
  func numbers() throws {
    let reply = #"{"expiresIn":900,"left":900.0,"share":0.5,"below":-1}"#
    let input = try FlowInput(json(#"{"type":"exchangeCredential","success":\#(reply)}"#))
    #expect(
      input
        == .exchanged([
          "expiresIn": Secret("900"), "left": Secret("900"), "share": Secret("0.5"),
          "below": Secret("-1"),
        ]))
  }

  @Test("flow input does not print what the person typed")
  func printing() {
    let typed: [FlowInput] = [
      .redirect(url: Secret("hunter2")), .code(Secret("hunter2"), fields: ["a": Secret("hunter2")]),
      .password(Secret("hunter2")), .form(["a": Secret("hunter2")]),
      .exchanged(["a": Secret("hunter2")]), .passcode(Secret("hunter2")),
    ]
    for input in typed {
      var dumped = ""
      dump(input, to: &dumped)
      for way in [dumped, "\(input)", String(reflecting: input)] {
        #expect(way.contains("<secret>") && !way.contains("hunter2"))
      }
    }
  }
}
