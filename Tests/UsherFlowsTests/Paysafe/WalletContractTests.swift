import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

private let secrets = ["123456", "pin-secret", "access-secret"]
private let verified = CallOutcome.reply(WalletReplies.verdict("VERIFIED"))

/// Events that no state of the flows waits for.
private let foreignEvents: [FlowEvent<PaysafeCall>] = [
  .called(.configToken(brand: "acme"), verified),
  .called(
    .event(.init(account: AccountID("acc_1"), id: "evt-2", walletOperationID: "wop-1")),
    .reply(WalletReplies.standing("VERIFIED", ["eventId": "evt-2"]))),
  .called(.challenge(WalletReplies.event, .init(method: "X"), .init()), verified),
  .called(.attempt(WalletReplies.event, .init(method: "X"), value: Secret("1")), verified),
  .input(.denied), .input(.biometric), .input(.form([:])), .input(.exchanged([:])),
  .redirected(AuthorizationResponse(code: Secret("c"))),
  .listening(redirectURI: "http://127.0.0.1:1/"),
  .listenFailed("taken"), .discovered(.unreachable(message: "gone")),
  .idTokenVerified(.refused(message: "bad")),
]
private let asked: [FlowEvent<PaysafeCall>] = [
  .called(.event(WalletReplies.event), .reply(WalletReplies.standing("VERIFIED")))
]
private let challenges: [FlowEvent<PaysafeCall>] = [
  .called(
    .challenge(WalletReplies.event, .sms, .init()), .reply(WalletReplies.challenge()))
]
private let attempts: [FlowEvent<PaysafeCall>] = [
  .called(.attempt(WalletReplies.event, .sms, value: Secret("123456")), verified)
]
private let codes: [FlowEvent<PaysafeCall>] = [
  .input(.code(Secret("123456"), fields: [:]))
]
private let passwords: [FlowEvent<PaysafeCall>] = [.input(.password(Secret("pin-secret")))]
private let changes: [FlowEvent<PaysafeCall>] = [
  .input(.resend), .input(.alternative("PIN")), .input(.confirmed(at: .wait)),
]
private let choices: [FlowEvent<PaysafeCall>] = [.input(.choice("PIN"))]
private let pages: [FlowEvent<PaysafeCall>] = [
  .input(.redirect(url: Secret(WalletReplies.returnURL)))
]
private let inputs = codes + passwords + choices + pages + changes
private let answers = asked + challenges + attempts

@Suite("Flow contract of Paysafe sca and operation")
struct WalletContractTests {
  @Test("every state of Paysafe sca fulfils the flow contract")
  func sca() throws {
    var flows: [DrivenFlow<PaysafeSCA>] = []
    func note(_ name: String, _ driven: DrivenSCA, _ unrelatedEvents: [FlowEvent<PaysafeCall>]) {
      flows.append(.init(name, driven.flow, unrelatedEvents: foreignEvents + unrelatedEvents))
    }
    var driven = try DrivenSCA(wanting: nil)
    note("required", driven, inputs + challenges + attempts + [.woken])
    driven.answer(WalletReplies.gone)
    note("required, paused", driven, inputs + answers)
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("PENDING"))
    note("choosing", driven, codes + passwords + pages + answers)
    driven.submit(.choice("OTP.SMS"))
    note("challenging", driven, inputs + asked + attempts + [.woken])
    driven.answer(WalletReplies.unsent)
    note("challenging, paused", driven, inputs + answers)
    driven.receive(.woken)
    driven.answer(WalletReplies.challenge())
    note("challenged", driven, passwords + choices + pages + answers)
    driven.enter()
    note("attempting", driven, inputs + asked + challenges + [.woken])
    driven.answer(WalletReplies.gone)
    note("inquiring", driven, inputs + challenges + attempts + [.woken])
    driven.answer(WalletReplies.gone)
    note("inquiring, paused", driven, inputs + answers)
    var pin = try DrivenSCA.withPIN()
    note("PIN", pin, codes + choices + pages + answers)
    pin.submit(.password(Secret("pin-secret")))
    note("PIN under way", pin, inputs + asked + challenges + attempts + [.woken])
    var push = try DrivenSCA.pushed()
    let typed = codes + passwords + choices
    note("push that can be sent again", push, typed + pages + answers)
    push.receive(.woken)
    note(
      "push that can be sent again, asking", push,
      typed + pages + challenges + attempts + [.woken])
    push.answer(WalletReplies.refusal(405, ""))
    note("push, without a status call", push, typed + answers)
    push.submit(.resend(at: .wait))
    note("push, again", push, inputs + asked + attempts + [.woken])
    var page = try DrivenSCA.redirected()
    note("redirect that can be repeated", page, typed + answers)
    page.receive(.woken)
    note("redirect that can be repeated, asking", page, typed + challenges + [.woken])
    var limited = try DrivenSCA.challenged()
    limited.submit(.resend)
    limited.answer(WalletReplies.refusal(429, "CHALLENGE_LIMIT", retryAfter: "60"))
    note("cooling down", limited, passwords + choices + pages + answers)
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("every state of Paysafe operation fulfils the flow contract")
  func operation() throws {
    var flows: [DrivenFlow<PaysafeOperation>] = []
    func note(
      _ name: String, _ driven: DrivenOperation, _ unrelatedEvents: [FlowEvent<PaysafeCall>]
    ) {
      flows.append(.init(name, driven.flow, unrelatedEvents: foreignEvents + unrelatedEvents))
    }
    var driven = try DrivenOperation.payment()
    note("performing", driven, inputs + answers + [.woken])
    driven.answer(WalletReplies.unsent)
    note("performing, paused", driven, inputs + answers)
    driven.receive(.woken)
    driven.answer(SCADemandTests.byHeader)
    note("challenging", driven, inputs + asked + attempts + [.woken])
    driven.answer(WalletReplies.challenge())
    note("challenged", driven, passwords + choices + pages + answers)
    driven.enter()
    note("attempting", driven, inputs + asked + challenges + [.woken])
    driven.answer(WalletReplies.verdict("VERIFIED"))
    note("retrying", driven, inputs + answers + [.woken])
    driven.answer(WalletReplies.unsent)
    note("retrying, paused", driven, inputs + answers)
    let read = try DrivenOperation.get()
    note("reading", read, inputs + answers + [.woken])
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("an echoed PIN and an echoed access token are removed from the failure of Paysafe sca")
  func echoes() throws {
    let call = PaysafeCall.attempt(WalletReplies.event, .pin, value: Secret("pin-secret"))
    let request = try call.render(
      RenderContext(
        provider: try Provider(DrivenPaysafeAuthorize.provider())!, credential: nil,
        accessToken: Secret("access-secret"), transition: moment()))
    var driven = try DrivenSCA.withPIN()
    driven.submit(.password(Secret("pin-secret")))
    let refusal = reply(
      ["error": ["code": "BAD", "message": "pin-secret is bad, so is access-secret"]], status: 400)
    driven.answer(refusal.withoutEchoes(of: request))
    #expect(driven.failure?.message == "… is bad, so is …")
  }
}
