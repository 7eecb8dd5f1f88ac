import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

/// Events that no state handles.
private let nobodys: [FlowEvent<NoCall>] = [
  .input(.denied), .input(.password(Secret("p"))), .input(.back(.localAuth)), .woken,
  .discovered(.unreachable(message: "gone")), .listening(redirectURI: "http://127.0.0.1:1/"),
  .listenFailed("taken"), .redirected(RedirectAnswer(code: Secret("c"))),
  .idTokenVerified(.genuine(payload: [])), .told(.consents(["read.firstname"])),
  .told(.kept(AccountID("acc_1"))),
]
private let inputs: [FlowEvent<NoCall>] = [
  .input(.passcode(passcode)), .input(.biometric), .input(.cancelLocalAuth), .input(.fallback),
]
private let standing = FlowEvent<NoCall>.told(
  .localAuth(.standing(.init(biometric: .ready(hasChanged: false), passcode: .ready))))
private let scans: [FlowEvent<NoCall>] = [
  .told(.localAuth(.scanned(.matched))), .told(.localAuth(.scanned(.missed))),
  .told(.localAuth(.hint("again"))),
]
private let checks: [FlowEvent<NoCall>] = [
  .told(.localAuth(.checked(.accepted))), .told(.localAuth(.checked(.wrong(attemptsLeft: 1)))),
]

@Suite("The contract of local/authenticate")
struct LocalAuthContractTests {
  @Test("local/authenticate keeps the flow contract in every state")
  func everyState() throws {
    var flows: [DrivenFlow<LocalAuthenticate>] = []
    let looking = try DrivenAuthentication()
    flows.append(.init("looking", looking.flow, strays: nobodys + inputs + scans + checks))
    let scanning = try DrivenAuthentication.scanning()
    flows.append(
      .init(
        "scanning", scanning.flow,
        strays: nobodys + checks + [standing, .input(.biometric), .input(.passcode(passcode))]))
    var both = try DrivenAuthentication.scanning(orPasscode: true)
    both.hear(.scanned(.timedOut))
    flows.append(
      .init("asking for either", both.flow, strays: nobodys + scans + checks + [standing]))
    let asking = try DrivenAuthentication.asking()
    flows.append(
      .init(
        "asking", asking.flow,
        strays: nobodys + scans + checks + [standing, .input(.biometric), .resumed]))
    let checking = try DrivenAuthentication.checking()
    flows.append(
      .init("checking", checking.flow, strays: nobodys + inputs + scans + [standing]))
    #expect(
      checkProviderContract(flows, secrets: [passcode.revealed()], at: moment()) == [])
  }

  @Test("another provider's flow can contain a local authentication as a step")
  func embedded() {
    var step = LocalAuthentication(
      LocalAuthRequest(.biometric, reason: "see the data", usePasscodeWhenFailed: true))
    #expect(step.begin() == [.standing])
    let news = DaemonNews.localAuth(
      .standing(.init(biometric: .noReader, passcode: .ready)))
    #expect(step.receive(FlowEvent<OIDCCall>.told(news), at: now) == .ask([]))
    let input = FlowEvent<OIDCCall>.input(.passcode(passcode))
    #expect(
      step.receive(input, at: now) == .ask([.check(passcode: passcode, insteadOf: .biometric)]))
    let yes = FlowEvent<OIDCCall>.told(.localAuth(.checked(.accepted)))
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
