import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Questions to a person on the wire")
struct ConfirmMethodTests {
  private let asker = Confirmation.Asker(
    client: "kiosk", uid: 1000, user: "anna", unit: "kiosk.service", executable: "/usr/bin/kiosk")
  private let askerJSON = """
    {"client":"kiosk","uid":1000,"user":"anna","unit":"kiosk.service",
     "executable":"/usr/bin/kiosk"}
    """

  @Test("confirm.list")
  func list() {
    checkWire(ConfirmList(), "{}")
    let question = Confirmation(
      id: ConfirmationID("cnf_1"), asker: asker,
      about: .init(
        method: "token.get", provider: ProviderName("work"), account: AccountID("acc_1"),
        label: "Ada", scope: "openid"), askedAt: started, expiresAt: later)
    let answer = Confirmation.Answer(
      id: ConfirmationID("cnf_2"), asker: .init(client: "till", uid: 1001),
      about: .init(
        method: "flow.start", provider: ProviderName("wallet"), kind: "operation",
        operation: "GET:/wallets"), allow: false, remember: .seconds(60), answeredAt: started,
      answeredBy: .init(client: "(admin)", uid: 0), expiresAt: later)
    var held = answer
    held.remember = .session
    held.expiresAt = nil
    let aboutJSON = """
      {"method":"flow.start","provider":"wallet","kind":"operation","operation":"GET:/wallets"}
      """
    checkWire(
      ConfirmList.Reply(questions: [question], answers: [answer, held]),
      """
      {"questions":[{"id":"cnf_1","asker":\(askerJSON),
         "about":{"method":"token.get","provider":"work","account":"acc_1","label":"Ada",
                  "scope":"openid"},"askedAt":"\(startedJSON)","expiresAt":"\(laterJSON)"}],
       "answers":[{"id":"cnf_2","asker":{"client":"till","uid":1001},"about":\(aboutJSON),
                   "allow":false,"remember":60,"answeredAt":"\(startedJSON)",
                   "answeredBy":{"client":"(admin)","uid":0},"expiresAt":"\(laterJSON)"},
                  {"id":"cnf_2","asker":{"client":"till","uid":1001},"about":\(aboutJSON),
                   "allow":false,"remember":"session","answeredAt":"\(startedJSON)",
                   "answeredBy":{"client":"(admin)","uid":0},"expiresAt":null}]}
      """)
  }

  @Test(
    "confirm.answer, remembered in each way",
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
    "another span than the contract has is refused by its field",
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

  @Test("confirm.forget")
  func forget() {
    checkWire(ConfirmForget(answer: ConfirmationID("cnf_1")), #"{"answer":"cnf_1"}"#)
  }

  @Test("an event of a question says which, and who asks")
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
