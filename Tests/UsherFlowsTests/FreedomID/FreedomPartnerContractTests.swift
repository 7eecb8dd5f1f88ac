import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

private let secrets = [
  "code-secret", "access-secret", "refresh-secret", "0102030405060708090a0b0c0d0e0f10", "track_id",
]
private let foreignEvents: [FlowEvent<FreedomPartnerCall>] = [
  .input(.code(Secret("1"), fields: [:])), .input(.denied), .input(.password(Secret("p"))),
  .discovered(.unreachable(message: "gone")), .idTokenVerified(.refused(message: "bad")),
  .called(.renewal(Secret("r")), Freedom.said(Freedom.tokens())),
  .called(.link(redirectURI: Secret("x"), []), Freedom.gone),
  .called(.user(token: Secret("another")), Freedom.gone), .answered(.consents([])),
]
private let redirects: [FlowEvent<FreedomPartnerCall>] = [
  .redirected(AuthorizationResponse(code: Secret("c"))), .input(.redirect(url: Secret("x"))),
]
private let listeners: [FlowEvent<FreedomPartnerCall>] = [
  .listening(redirectURI: "http://127.0.0.1:1/callback"), .listenFailed("taken"),
]
private let exchange: [FlowEvent<FreedomPartnerCall>] = [
  .called(.exchange(code: Secret("c")), Freedom.said(Freedom.tokens()))
]

@Suite("Flow contract of the Freedom ID partner flows")
struct FreedomPartnerContractTests {
  @Test("every state of the Freedom ID oauth2 flow fulfils the flow contract")
  func authorize() throws {
    var flows: [DrivenFlow<FreedomPartnerAuthorize>] = []
    var driven = try PartnerAuthorize()
    let early = foreignEvents + redirects + exchange
    flows.append(.init("preparing", driven.flow, unrelatedEvents: early + [.woken]))
    driven.listening()
    flows.append(.init("linking", driven.flow, unrelatedEvents: early + listeners + [.woken]))
    driven.answered(Freedom.gone)
    flows.append(.init("linking paused", driven.flow, unrelatedEvents: early + listeners))
    driven.receive(.woken)
    driven.answerLink()
    flows.append(
      .init("browser", driven.flow, unrelatedEvents: foreignEvents + listeners + exchange))
    driven.receive(.resumed)
    flows.append(.init("restoring", driven.flow, unrelatedEvents: foreignEvents + exchange))
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let busy = foreignEvents + redirects + listeners
    flows.append(.init("exchanging", driven.flow, unrelatedEvents: busy + [.woken]))
    driven.answered(Freedom.gone)
    flows.append(.init("exchanging paused", driven.flow, unrelatedEvents: busy + exchange))
    driven.receive(.woken)
    driven.answered(Freedom.said(Freedom.tokens()))
    flows.append(.init("completion", driven.flow, unrelatedEvents: busy + exchange + [.woken]))
    driven.answered(Freedom.lost)
    flows.append(.init("completion paused", driven.flow, unrelatedEvents: busy + exchange))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("every state of Freedom ID requestProfile fulfils the flow contract")
  func requestProfile() throws {
    var flows: [DrivenFlow<FreedomRequestProfile>] = []
    var driven = try ProfileFlow()
    let unrelatedEvents = foreignEvents + redirects + listeners + exchange
    flows.append(.init("requested", driven.flow, unrelatedEvents: unrelatedEvents + [.woken]))
    driven.answered(Freedom.lost)
    flows.append(.init("requested paused", driven.flow, unrelatedEvents: unrelatedEvents))
    driven.receive(.woken)
    driven.answered(Freedom.said(["status": "pending"]))
    flows.append(.init("pending", driven.flow, unrelatedEvents: unrelatedEvents))
    driven.receive(.woken)
    flows.append(.init("asking", driven.flow, unrelatedEvents: unrelatedEvents + [.woken]))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows)
  }

  @Test("every state of Freedom ID createUser and updateUser fulfils the flow contract")
  func users() throws {
    let unrelatedEvents = foreignEvents + redirects + listeners + exchange
    var create = try CreateFlow()
    var flows = [DrivenFlow("sending", create.flow, unrelatedEvents: unrelatedEvents + [.woken])]
    create.answered(Freedom.gone)
    flows.append(.init("paused", create.flow, unrelatedEvents: unrelatedEvents))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, in: "FreedomCreateUser")
    let update = try UpdateFlow()
    #expect(
      checkProviderContract(
        [.init("sending", update.flow, unrelatedEvents: unrelatedEvents + [.woken])],
        secrets: secrets, at: moment())
        == [])
    try checkStoredForms(
      [.init("sending", update.flow, unrelatedEvents: [])], in: "FreedomUpdateUser")
  }

  @Test("a plain JSON encoder refuses a Freedom ID oauth2 flow state that contains secrets")
  func plainCoder() throws {
    var driven = try PartnerAuthorize()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
    driven.toPerson()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
  }

  @Test("every Freedom ID mode has exactly its own flow kinds")
  func registry() {
    let flows = ProviderRegistry.flows(of: .freedomidOAuth2).map { $0.kind }
    #expect(flows == ["authorize", "requestProfile", "createUser", "updateUser"])
    #expect(ProviderRegistry.flows(of: .freedomidOIDC).map { $0.kind } == ["authorize"])
    #expect(
      ProviderRegistry.flow("authorize", of: .freedomidOAuth2) is FreedomPartnerAuthorize.Type)
    #expect(ProviderRegistry.flow("authorize", of: .freedomidOIDC) is OIDCAuthorize.Type)
    #expect(
      ProviderRegistry.flow("authorize", of: .freedomidDevice) is FreedomDeviceAuthorize.Type)
    #expect(ProviderRegistry.flow("createUser", of: .freedomidDevice) == nil)
    #expect(ProviderRegistry.flow("device", of: .freedomidOIDC) == nil)
    #expect(!FreedomPartnerAuthorize.needsAccount && FreedomRequestProfile.needsAccount)
    #expect(FreedomCreateUser.needsAccount && FreedomUpdateUser.needsAccount)
  }

  @Test("every Freedom ID partner flow reports a failure reason with the same SDK error code")
  func givenUp() {
    for ending in Failure.Reason.allCases {
      let word: String? =
        switch ending {
        case .cancelled, .expired: "userCanceled"
        case .providerRejected: "configurationError"
        case .denied: "accessDenied"
        default: nil
        }
      let words = [
        FreedomPartnerAuthorize.providerErrorCode(for: ending, provider: name),
        FreedomRequestProfile.providerErrorCode(for: ending, provider: name),
        FreedomCreateUser.providerErrorCode(for: ending, provider: name),
        FreedomUpdateUser.providerErrorCode(for: ending, provider: name),
      ]
      #expect(words.map { $0?.code } == Array(repeating: word, count: 4))
    }
  }
}
