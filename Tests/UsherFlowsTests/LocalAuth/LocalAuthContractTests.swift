import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// Events that no state handles.
private let foreignEvents: [FlowEvent<NoCall>] = [
  .input(.denied), .input(.password(Secret("p"))), .input(.back(.localAuth)), .woken,
  .discovered(.unreachable(message: "gone")), .listening(redirectURI: "http://127.0.0.1:1/"),
  .listenFailed("taken"), .redirected(AuthorizationResponse(code: Secret("c"))),
  .idTokenVerified(.genuine(payload: [])), .answered(.consents(["read.firstname"])),
  .answered(.stored(AccountID("acc_1"))),
]
private let inputs: [FlowEvent<NoCall>] = [
  .input(.passcode(passcode)), .input(.biometric), .input(.cancelLocalAuth), .input(.fallback),
]
private let availability = FlowEvent<NoCall>.answered(
  .localAuth(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready))))
private let scans: [FlowEvent<NoCall>] = [
  .answered(.localAuth(.scanned(.matched))), .answered(.localAuth(.scanned(.missed))),
  .answered(.localAuth(.hint("again"))),
]
private let checks: [FlowEvent<NoCall>] = [
  .answered(.localAuth(.checked(.accepted))),
  .answered(.localAuth(.checked(.wrong(attemptsLeft: 1)))),
]

@Suite("Flow contract of local/authenticate")
struct LocalAuthContractTests {
  @Test("local/authenticate keeps the flow contract in every state")
  func everyState() throws {
    var flows: [DrivenFlow<LocalAuthenticate>] = []
    let looking = try DrivenAuthentication()
    flows.append(
      .init("looking", looking.flow, unrelatedEvents: foreignEvents + inputs + scans + checks))
    let scanning = try DrivenAuthentication.scanning()
    flows.append(
      .init(
        "scanning", scanning.flow,
        unrelatedEvents: foreignEvents + checks + [
          availability, .input(.biometric), .input(.passcode(passcode)),
        ]))
    var both = try DrivenAuthentication.scanning(orPasscode: true)
    both.answer(.scanned(.timedOut))
    flows.append(
      .init(
        "asking for either", both.flow,
        unrelatedEvents: foreignEvents + scans + checks + [availability]))
    let asking = try DrivenAuthentication.asking()
    flows.append(
      .init(
        "asking", asking.flow,
        unrelatedEvents: foreignEvents + scans + checks + [
          availability, .input(.biometric), .resumed,
        ]))
    let checking = try DrivenAuthentication.checking()
    flows.append(
      .init(
        "checking", checking.flow, unrelatedEvents: foreignEvents + inputs + scans + [availability])
    )
    #expect(
      checkProviderContract(flows, secrets: [passcode.revealed()], at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("another provider's flow can contain a local authentication as a step")
  func embedded() {
    var step = LocalAuthentication(
      LocalAuthRequest(
        localAuthType: .biometric, reason: "see the data", usePasscodeWhenFailed: true))
    #expect(step.begin() == [.availability])
    let answer = DaemonAnswer.localAuth(
      .availability(.init(biometric: .noReader, passcode: .ready)))
    #expect(step.receive(FlowEvent<OIDCCall>.answered(answer), at: now) == .ask([]))
    let input = FlowEvent<OIDCCall>.input(.passcode(passcode))
    #expect(
      step.receive(input, at: now) == .ask([.check(passcode: passcode, insteadOf: .biometric)]))
    let yes = FlowEvent<OIDCCall>.answered(.localAuth(.checked(.accepted)))
    #expect(
      step.receive(yes, at: soon)
        == .authenticated(.init(method: .passcode, at: soon, insteadOf: .biometric)))
    #expect(step.receive(yes, at: soon) == .ignore, "once")
  }

  @Test("a local/authenticate flow is stored with the provider local and found by its kind")
  func provider() throws {
    let stored = try storedAndRead(try DrivenAuthentication().flow)
    #expect(stored.provider.config == .local)
    #expect(ProviderConfig.local.name == ProviderName("local"))
    #expect(ProviderRegistry.flow("authenticate", of: .local) == LocalAuthenticate.self)
  }
}
