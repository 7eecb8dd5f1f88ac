import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

private let secrets = [
  "123456", "verification-secret", "otp-access-secret", "app-key-secret", "Asha-secret",
]

/// Returns events that no state handles.
private func foreignEvents() throws -> [FlowEvent<TruecallerCall>] {
  let other = try phone("9876543211")
  return [
    .called(.keys, .reply(reply([]))), .input(.denied), .input(.password(Secret("p"))),
    .called(.create(other, installation: installation), .reply(reply(DrivenVerification.sent))),
    .called(
      .verify(try phone(), code: otp, token: Secret("other")), .reply(reply(["accessToken": "a"]))),
    .called(.profile(other, accessToken: otpToken), .reply(reply([:]))),
    .called(.profile(try phone(), accessToken: Secret("other")), .reply(reply([:]))),
    .discovered(.unreachable(message: "gone")), .listening(redirectURI: "http://127.0.0.1:1/"),
    .listenFailed("taken"), .redirected(AuthorizationResponse(code: Secret("c"))),
  ]
}

@Suite("The contract of verifyPhone")
struct TruecallerContractTests {
  @Test("Truecaller verifyPhone keeps the flow contract in every state")
  func everyState() throws {
    let always = try foreignEvents()
    let inputs: [FlowEvent<TruecallerCall>] = [.input(.resend), DrivenVerification.code()]
    let verdicts: [FlowEvent<TruecallerCall>] = [.idTokenVerified(.genuine(payload: []))]
    let early = FlowEvent.called(
      TruecallerCall.create(try phone(), installation: installation),
      .reply(reply(DrivenVerification.sent)))
    let code = DrivenVerification.code(first: "Asha-secret")
    let busy = always + inputs + verdicts
    var flows: [DrivenFlow<VerifyPhone>] = []

    var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
    flows.append(.init("creating", driven.flow, unrelatedEvents: busy + [.woken]))
    driven.answered(.unreachable(message: "gone", sent: false))
    flows.append(.init("creation paused", driven.flow, unrelatedEvents: busy + [early]))
    driven.receive(.woken)
    driven.toCode()
    flows.append(
      .init(
        "otpInitiated", driven.flow, unrelatedEvents: always + verdicts + [early, .woken, .resumed])
    )
    driven.receive(DrivenVerification.code(first: "1"))
    flows.append(.init("a bad name", driven.flow, unrelatedEvents: always + [early, .woken]))

    driven.receive(code)
    let verify = try #require(driven.calls.first)
    flows.append(.init("otpReceived", driven.flow, unrelatedEvents: busy + [early, .woken]))
    driven.answered(.unreachable(message: "gone", sent: false))
    let late = FlowEvent.called(verify, .reply(reply(["accessToken": "otp-access-secret"])))
    flows.append(.init("check paused", driven.flow, unrelatedEvents: busy + [early, late]))
    driven.receive(.woken)
    driven.receive(late)

    for name in ["validating", "updating", "reading"] {
      flows.append(.init(name, driven.flow, unrelatedEvents: busy + [early, late, .woken]))
      let call = try #require(driven.calls.first)
      driven.answered(.unreachable(message: "gone", sent: true))
      let again = FlowEvent.called(call, .reply(reply([:])))
      flows.append(
        .init("\(name) paused", driven.flow, unrelatedEvents: busy + [early, late, again]))
      driven.receive(.woken)
      if name != "reading" { driven.answered(["phoneNumber": 919_876_543_210]) }
    }
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    driven.answered(["payload": .string(payload), "signature": "AA=="])
    flows.append(
      .init("checking", driven.flow, unrelatedEvents: always + inputs + [early, late, .woken]))
    #expect(driven.state == "verificationComplete")

    var failing = try Phase.profile.driven()
    failing.keeps = false
    failing.answered(["code": 8], status: 404)
    flows.append(.init("keeping", failing.flow, unrelatedEvents: busy + [early, .woken]))

    var before = try DrivenVerification()
    before.answered(["accessToken": "otp-access-secret", "status": 1])
    flows.append(.init("verifiedBefore", before.flow, unrelatedEvents: busy + [early, .woken]))
    let refused = try DrivenVerification("1")
    flows.append(.init("refused", refused.flow, unrelatedEvents: busy + [early, .woken]))

    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("Truecaller verifyPhone refuses missing, mistyped and unknown parameters")
  func params() throws {
    let schema = StrictDecoding.schema(of: VerifyPhone.Params.self)
    let good: JSONValue = ["phoneNumber": "9876543210", "countryCode": "IN", "appKey": "k"]
    let params = try StrictDecoding.decode(VerifyPhone.Params.self, from: good, schema: schema)
    #expect(params.appKey?.secret == Secret("k"))
    let wrong: [JSONValue] = [
      ["phoneNumber": "9876543210"], ["countryCode": "IN"],
      ["phoneNumber": "9876543210", "countryCode": nil],
      ["phoneNumber": 9_876_543_210, "countryCode": "IN"],
      ["phoneNumber": "9876543210", "countryCode": "IN", "keepAlive": true],
    ]
    for params in wrong {
      #expect(throws: UsherError.self) {
        try StrictDecoding.decode(VerifyPhone.Params.self, from: params, schema: schema)
      }
    }
  }
}
