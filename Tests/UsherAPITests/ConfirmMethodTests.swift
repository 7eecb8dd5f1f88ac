import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Confirmations on the wire")
struct ConfirmMethodTests {
  @Test(
    "confirm.answer is encoded and decoded with each form of remember",
    arguments: [
      (nil, ""), (.once, #","remember":"once""#), (.session, #","remember":"session""#),
      (.seconds(1), #","remember":1"#), (.seconds(2_592_000), #","remember":2592000"#),
    ] as [(Remember?, String)])
  func answer(remember: Remember?, json: String) {
    checkWire(
      ConfirmAnswer(confirmation: ConfirmationID("cnf_1"), allow: true, remember: remember),
      #"{"confirmation":"cnf_1","allow":true\#(json)}"#)
  }

  @Test(
    "confirm.answer refuses an invalid remember with an error that names the field",
    arguments: [
      #""always""#, #""""#, #""60""#, "0", "-1", "2592001", "1.5", "true", "[]", "{}",
      "9223372036854775808",
    ])
  func span(json text: String) throws {
    let value = try json(#"{"confirmation":"cnf_1","allow":true,"remember":\#(text)}"#)
    let error = refusal { () throws(UsherError) in
      try StrictDecoding.decode(
        ConfirmAnswer.self, from: value, schema: StrictDecoding.schema(of: ConfirmAnswer.self))
    }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "remember")
  }

  @Test("a confirm event has the id of the confirmation and the client that asks")
  func event() {
    checkWire(
      Event(
        topic: .confirm, what: "asked", at: started, provider: ProviderName("work"),
        account: AccountID("acc_1"), confirmation: ConfirmationID("cnf_1"), client: "kiosk"),
      """
      {"topic":"confirm","what":"asked","at":"\(startedJSON)","provider":"work",
       "account":"acc_1","confirmation":"cnf_1","client":"kiosk"}
      """)
  }
}
