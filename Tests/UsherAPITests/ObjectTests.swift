import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Objects on the wire")
struct ObjectTests {
  @Test("every flow status but active is finished")
  func finished() {
    #expect(FlowStatus.allCases.filter { !$0.isFinished } == [.active])
  }

  @Test("a Flow without its nullable members and with unknown ones is decoded")
  func tolerant() throws {
    let text = """
      {"id":"flw_1","provider":"work","kind":"authorize","status":"active","state":"discovering",
       "revision":1,"mood":"good","createdAt":"\(startedJSON)","updatedAt":"\(startedJSON)",
       "expiresAt":"\(laterJSON)"}
      """
    #expect(try JSONDecoder().decode(Flow.self, from: Data(text.utf8)) == plainFlow)
  }

  @Test("a malformed step in a flow is a decoding error with the path step")
  func path() {
    let text = plainFlowJSON.replacing("\"step\":null", with: "\"step\":{\"type\":\"wait\"}")
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Flow.self, from: Data(text.utf8))
    }
    guard case .keyNotFound(let key, let context) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(key.stringValue == "for")
    #expect(context.codingPath.map(\.stringValue) == ["step"])
  }

  @Test("events are encoded and decoded in their wire form")
  func events() {
    checkWire(
      EventNotification(
        subscription: "sub_1", cursor: 42,
        event: Event(topic: .provider, what: "health", at: started)),
      """
      {"subscription":"sub_1","cursor":42,
       "event":{"topic":"provider","what":"health","at":"\(startedJSON)"}}
      """)
    checkWire(
      Event(
        topic: .flow, what: "moved", at: started, provider: ProviderName("work"),
        flow: FlowID("flw_1"), kind: "sca", status: .active, state: "challenged", revision: 3,
        step: .enterCode, account: AccountID("acc_1")),
      """
      {"topic":"flow","what":"moved","at":"\(startedJSON)","provider":"work","flow":"flw_1",
       "kind":"sca","status":"active","state":"challenged","revision":3,"step":"enterCode",
       "account":"acc_1"}
      """)
    checkWire(
      EventsLost(subscription: "sub_1", cursor: 42), #"{"subscription":"sub_1","cursor":42}"#)
    #expect(EventNotification.name == "events.notify")
    #expect(EventsLost.name == "events.lost")
  }

  @Test("integers above 2^53 in provider data are sent as strings")
  func integers() {
    let numbers: JSONValue = [
      9_007_199_254_740_992, 9_007_199_254_740_993, -9_007_199_254_740_993, 1.5,
      .integer(.min), ["deep": .integer(.max)],
    ]
    let safe: JSONValue = [
      9_007_199_254_740_992, "9007199254740993", "-9007199254740993", 1.5,
      "-9223372036854775808", ["deep": "9223372036854775807"],
    ]
    let flow = Flow(
      id: plainFlow.id, provider: plainFlow.provider, kind: "k", status: .active, state: "s",
      revision: 1, result: numbers, createdAt: started, updatedAt: started, expiresAt: started)
    #expect(flow.result == safe)
    let account = Account(
      id: plainAccount.id, provider: plainAccount.provider, subject: "", label: "", owner: 0,
      client: nil, createdAt: started, keepAlive: false, attributes: ["a": numbers],
      profile: ["a": numbers], tokens: [])
    #expect(account.attributes == ["a": safe])
    #expect(account.profile == ["a": safe])
    let problem = Problem(reason: "", title: "", message: "", retryAfterMs: .max)
    #expect(problem.retryAfterMs == 9_007_199_254_740_992)
  }
}

@Suite("Secrets on the wire")
struct WireSecretTests {
  @Test("a wire secret is a plain string in JSON and <secret> in print")
  func printing() {
    let secret = WireSecret("hunter2")
    checkWire([secret], #"["hunter2"]"#)
    var dumped = ""
    dump([secret], to: &dumped)
    for way in [dumped, "\(secret)", "\([secret])", "\(CredentialSet(name: "n", value: secret))"] {
      #expect(way.contains("<secret>") && !way.contains("hunter2"))
    }
    #expect(String(reflecting: secret) == "<secret>")
    #expect(Mirror(reflecting: secret).children.isEmpty)
    #expect(secret.revealed() == "hunter2")
  }

  @Test("flow.submit does not print what the person typed")
  func submitPrints() {
    let submit = FlowSubmit(
      flow: FlowID("flw_1"), revision: 3, input: ["type": "enterPassword", "password": "hunter2"])
    var dumped = ""
    dump([submit], to: &dumped)
    for way in [dumped, "\(submit)", "\([submit])", String(reflecting: submit)] {
      #expect(way.contains("flw_1"))
      #expect(!way.contains("hunter2"))
    }
  }
}
