import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

private let secrets = [
  "config-secret", "finger-secret", "code-secret", "refresh-secret", Driven.token().revealed(),
  "caller-state-1",
]

/// Events that no state of the flow waits for.
private let foreignEvents: [FlowEvent<PaysafeCall>] = [
  .called(.refresh(Secret("r"), brand: "acme"), .reply(Driven.tokenReply())),
  .called(
    .exchange(.init(brand: "acme", code: Secret("c"), verifier: Secret("v"), redirectURI: "")),
    .reply(Driven.tokenReply())),
  .input(.code(Secret("1"), fields: [:])), .input(.denied), .input(.password(Secret("p"))),
  .discovered(.unreachable(message: "gone")), .idTokenVerified(.refused(message: "bad")),
]
private let redirects: [FlowEvent<PaysafeCall>] = [
  .redirected(AuthorizationResponse(code: Secret("c"))), .input(.redirect(url: Secret("x"))),
]
private let listeners: [FlowEvent<PaysafeCall>] = [
  .listening(redirectURI: "http://127.0.0.1:1/callback"), .listenFailed("taken"),
]
private let configTokens: [FlowEvent<PaysafeCall>] = [
  .called(.configToken(brand: "acme"), .reply(Driven.configReply())),
  .called(.configToken(brand: "acme"), .unreachable(message: "gone", sent: true)),
]
private let exchanges: [FlowEvent<PaysafeCall>] = [
  .input(.exchanged(["accessToken": Driven.token()])), .input(.exchangeFailed(reason: "x")),
]

@Suite("Flow contract of Paysafe authorize")
struct PaysafeAuthorizeContractTests {
  @Test("every state of Paysafe authorize fulfils the contract if the daemon redeems the code")
  func daemon() throws {
    var flows: [DrivenFlow<PaysafeAuthorize>] = []
    var driven = try Driven(credential: "secret")
    let early = foreignEvents + redirects + listeners + exchanges
    flows.append(.init("configuring", driven.flow, unrelatedEvents: early + [.woken]))
    let config = try #require(driven.calls.first)
    driven.receive(.called(config, .unreachable(message: "gone", sent: true)))
    flows.append(.init("paused", driven.flow, unrelatedEvents: early))
    driven.receive(.woken)

    driven.receive(.called(config, .reply(Driven.configReply())))
    let late = foreignEvents + configTokens + exchanges + [.woken]
    flows.append(.init("preparing", driven.flow, unrelatedEvents: late + redirects))
    driven.receive(.listening(redirectURI: Driven.redirectURI))
    flows.append(.init("authorizing", driven.flow, unrelatedEvents: late + listeners))
    driven.receive(.resumed)
    flows.append(.init("restoring", driven.flow, unrelatedEvents: late))

    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let busy = foreignEvents + configTokens + exchanges + redirects + listeners
    flows.append(.init("redeeming", driven.flow, unrelatedEvents: busy + [.woken]))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
    flows.append(.init("redeeming paused", driven.flow, unrelatedEvents: busy))
    driven.receive(.woken)
    driven.receive(.called(call, .reply(Driven.tokenReply())))
    #expect(driven.grant != nil)

    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("every state of Paysafe authorize fulfils the contract if the app redeems the code")
  func app() throws {
    var flows: [DrivenFlow<PaysafeAuthorize>] = []
    let late = foreignEvents + configTokens
    var driven = try Driven(settings: { $0.exchange = .app })
    driven.toExchange()
    flows.append(.init("handed over", driven.flow, unrelatedEvents: late + redirects + listeners))
    let verifier = try #require(driven.exchangeStep?.codeVerifier?.revealed())
    driven = try Driven {
      $0.redirectURI = "https://partner.example/cb"
      $0.state = WireSecret("caller-state-1")
      $0.codeChallenge = String(repeating: "A", count: 43)
    }
    let unrelatedEvents = late + listeners + exchanges + [.woken]
    flows.append(.init("authorizing elsewhere", driven.flow, unrelatedEvents: unrelatedEvents))
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    flows.append(
      .init("handed to the caller", driven.flow, unrelatedEvents: late + redirects + listeners))

    #expect(checkProviderContract(flows, secrets: secrets + [verifier], at: moment()) == [])
    try checkStoredForms(flows, variant: "-app")
  }

  @Test("a plain JSON encoder refuses a Paysafe authorize state that contains secrets")
  func plainCoder() throws {
    var driven = try Driven(settings: { $0.exchange = .app })
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
    driven.toExchange()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
  }

  @Test("Paysafe authorize is found by its kind and needs no account")
  func registry() {
    #expect(ProviderRegistry.flow("authorize", of: .paysafe) is PaysafeAuthorize.Type)
    #expect(!PaysafeAuthorize.needsAccount)
  }
}
