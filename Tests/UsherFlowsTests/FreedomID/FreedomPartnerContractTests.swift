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
private let nobodys: [FlowEvent<FreedomPartnerCall>] = [
  .input(.code(Secret("1"), fields: [:])), .input(.denied), .input(.password(Secret("p"))),
  .discovered(.unreachable(message: "gone")), .idTokenVerified(.refused(message: "bad")),
  .called(.renewal(Secret("r")), Freedom.said(Freedom.tokens())),
  .called(.link(redirectURI: Secret("x"), []), Freedom.gone),
  .called(.user(token: Secret("another")), Freedom.gone), .told(.consents([])),
]
private let redirects: [FlowEvent<FreedomPartnerCall>] = [
  .redirected(RedirectAnswer(code: Secret("c"))), .input(.redirect(url: Secret("x"))),
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
    let early = nobodys + redirects + exchange
    flows.append(.init("preparing", driven.flow, strays: early + [.woken]))
    driven.listening()
    flows.append(.init("linking", driven.flow, strays: early + listeners + [.woken]))
    driven.answered(Freedom.gone)
    flows.append(.init("linking paused", driven.flow, strays: early + listeners))
    driven.receive(.woken)
    driven.answerLink()
    flows.append(.init("browser", driven.flow, strays: nobodys + listeners + exchange))
    driven.receive(.resumed)
    flows.append(.init("restoring", driven.flow, strays: nobodys + exchange))
    driven.receive(.redirected(RedirectAnswer(code: Secret("code-secret"))))
    let busy = nobodys + redirects + listeners
    flows.append(.init("exchanging", driven.flow, strays: busy + [.woken]))
    driven.answered(Freedom.gone)
    flows.append(.init("exchanging paused", driven.flow, strays: busy + exchange))
    driven.receive(.woken)
    driven.answered(Freedom.said(Freedom.tokens()))
    flows.append(.init("completion", driven.flow, strays: busy + exchange + [.woken]))
    driven.answered(Freedom.lost)
    flows.append(.init("completion paused", driven.flow, strays: busy + exchange))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
  }

  @Test("every state of requestProfile fulfils the flow contract")
  func requestProfile() throws {
    var flows: [DrivenFlow<FreedomRequestProfile>] = []
    var driven = try ProfileFlow()
    let strays = nobodys + redirects + listeners + exchange
    flows.append(.init("requested", driven.flow, strays: strays + [.woken]))
    driven.answered(Freedom.lost)
    flows.append(.init("requested paused", driven.flow, strays: strays))
    driven.receive(.woken)
    driven.answered(Freedom.said(["status": "pending"]))
    flows.append(.init("pending", driven.flow, strays: strays))
    driven.receive(.woken)
    flows.append(.init("asking", driven.flow, strays: strays + [.woken]))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
  }

  @Test("every state of createUser and updateUser fulfils the flow contract")
  func users() throws {
    let strays = nobodys + redirects + listeners + exchange
    var create = try CreateFlow()
    var flows = [DrivenFlow("sending", create.flow, strays: strays + [.woken])]
    create.answered(Freedom.gone)
    flows.append(.init("paused", create.flow, strays: strays))
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    let update = try UpdateFlow()
    #expect(
      checkProviderContract(
        [.init("sending", update.flow, strays: strays + [.woken])], secrets: secrets, at: moment())
        == [])
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
        FreedomPartnerAuthorize.word(for: ending, provider: name),
        FreedomRequestProfile.word(for: ending, provider: name),
        FreedomCreateUser.word(for: ending, provider: name),
        FreedomUpdateUser.word(for: ending, provider: name),
      ]
      #expect(words.map { $0?.code } == Array(repeating: word, count: 4))
    }
  }
}
