import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

private let secrets = [
  "access-secret", "refresh-secret", "code-secret", "device-secret", "answer-secret",
  idToken.revealed(),
]

private let userinfo = OIDCCall.userinfo(accessToken: Secret("access-secret"), metadata())

/// Events that no state of the flows waits for.
private let foreignEvents: [FlowEvent<OIDCCall>] = [
  .called(.jwks(url: issuer), .reply(reply([:]))),
  .called(.discovery(url: issuer), .unreadable(message: "x")),
  .called(revocation, .reply(reply([:]))),
  .called(.userinfo(accessToken: Secret("other"), metadata()), .reply(reply(["sub": "u-2"]))),
  .input(.code(Secret("1"), fields: [:])), .input(.denied), .input(.password(Secret("p"))),
]

private let redirects: [FlowEvent<OIDCCall>] = [
  .redirected(AuthorizationResponse(code: Secret("c"))), .input(.redirect(url: Secret("x"))),
]
private let listeners: [FlowEvent<OIDCCall>] = [
  .listening(redirectURI: "http://127.0.0.1:1/callback"), .listenFailed("taken"),
]
private let discoveries: [FlowEvent<OIDCCall>] = [
  .discovered(.found(metadata())), .discovered(.unreachable(message: "gone")),
]
private let verdicts: [FlowEvent<OIDCCall>] = [
  .idTokenVerified(.genuine(payload: [])), .idTokenVerified(.refused(message: "bad")),
]
private let exchanges: [FlowEvent<OIDCCall>] = [
  .called(
    .exchange(
      .init(code: Secret("c"), verifier: Secret("v"), redirectURI: ""), metadata()),
    .reply(tokenReply()))
]

@Suite("The flow contract of OIDC authorize and device")
struct ContractTests {
  @Test("every state of OIDC authorize fulfils the flow contract")
  func authorize() throws {
    var flows: [DrivenFlow<OIDCAuthorize>] = []
    var driven = try DrivenAuthorize()
    let early = foreignEvents + redirects + listeners + verdicts + exchanges
    flows.append(.init("discovering", driven.flow, unrelatedEvents: early + [.woken]))
    driven.receive(.discovered(.unreachable(message: "gone")))
    flows.append(.init("paused", driven.flow, unrelatedEvents: early))
    driven.receive(.woken)

    driven.receive(.discovered(.found(metadata())))
    let preparing = foreignEvents + redirects + discoveries + verdicts + exchanges + [.woken]
    flows.append(.init("preparing", driven.flow, unrelatedEvents: preparing))

    var pushing = try DrivenAuthorize { $0.pushedRequests = .always }
    pushing.toBrowser(metadata { $0.pushedAuthorizationRequestEndpoint = issuer + "/par" })
    let pushed = try #require(pushing.calls.first)
    flows.append(.init("pushing", pushing.flow, unrelatedEvents: preparing + listeners))
    pushing.receive(.called(pushed, .unreachable(message: "gone", sent: true)))
    let pushPaused = foreignEvents + redirects + discoveries + verdicts + exchanges + listeners
    flows.append(.init("push paused", pushing.flow, unrelatedEvents: pushPaused))
    pushing.receive(.woken)
    pushing.receive(.called(pushed, .reply(reply(["request_uri": "urn:example:1"], status: 201))))
    flows.append(
      .init(
        "pushed", pushing.flow,
        unrelatedEvents: foreignEvents + discoveries + verdicts + exchanges + [.woken] + listeners))

    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    let browser = foreignEvents + discoveries + verdicts + exchanges + [.woken]
    flows.append(.init("authorizing", driven.flow, unrelatedEvents: browser + listeners))
    let nonce = driven.query["nonce"] ?? ""
    driven.receive(.resumed)
    flows.append(.init("restoring", driven.flow, unrelatedEvents: browser))

    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let busy = foreignEvents + redirects + listeners + discoveries + verdicts + exchanges
    flows.append(.init("exchanging", driven.flow, unrelatedEvents: busy + [.woken]))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
    flows.append(.init("exchange paused", driven.flow, unrelatedEvents: busy))
    driven.receive(.woken)

    driven.receive(.called(call, .reply(tokenReply())))
    let verifying = foreignEvents + redirects + listeners + discoveries + exchanges
    flows.append(.init("verifying", driven.flow, unrelatedEvents: verifying + [.woken]))
    driven.receive(.idTokenVerified(.unreachable(message: "gone")))
    flows.append(.init("verification paused", driven.flow, unrelatedEvents: verifying))
    driven.receive(.idTokenVerified(.genuine(payload: claims(nonce: nonce).encoded())))
    flows.append(.init("userinfo", driven.flow, unrelatedEvents: verifying + verdicts + [.woken]))
    let jwt = reply(text: "a.b.c", headers: ["content-type": "application/jwt"])
    driven.receive(.called(try #require(driven.calls.first), .reply(jwt)))
    flows.append(.init("verifying userinfo", driven.flow, unrelatedEvents: verifying + [.woken]))
    #expect(driven.flow.view.state == "userinfo")

    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: "-3")
  }

  @Test("the states of OIDC authorize in which messages are signed fulfil the flow contract")
  func signedMessages() throws {
    var flows: [DrivenFlow<OIDCAuthorize>] = []
    var signing = try DrivenAuthorize {
      $0.clientCredential = "work-key"
      $0.signedRequests = .always
    }
    signing.toBrowser()
    let foreign = foreignEvents + listeners + discoveries + exchanges
    flows.append(
      .init("signing", signing.flow, unrelatedEvents: foreign + redirects + verdicts + [.woken]))
    signing.receive(.provider(.signed(.signed(Secret("object-secret")))))
    flows.append(.init("signed", signing.flow, unrelatedEvents: foreign + verdicts + [.woken]))

    var checking = try DrivenAuthorize { $0.responseMode = .jwt }
    checking.toBrowser()
    checking.receive(.redirected(AuthorizationResponse(signed: Secret("answer-secret"))))
    flows.append(.init("checking", checking.flow, unrelatedEvents: foreign + redirects + [.woken]))
    checking.receive(.idTokenVerified(.unreachable(message: "gone")))
    flows.append(
      .init("check paused", checking.flow, unrelatedEvents: foreign + redirects + verdicts))

    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: "-3")
  }

  @Test("every state of the OIDC device flow fulfils the flow contract")
  func device() throws {
    var flows: [DrivenFlow<OIDCDevice>] = []
    var driven = try DrivenDevice()
    let always = foreignEvents + redirects + listeners + exchanges
    flows.append(.init("discovering", driven.flow, unrelatedEvents: always + verdicts + [.woken]))
    driven.toRequest()
    let requesting = always + discoveries + verdicts
    flows.append(.init("requesting", driven.flow, unrelatedEvents: requesting + [.woken]))
    driven = try DrivenDevice()
    driven.toPolling()
    let early = FlowEvent.called(DrivenDevice.poll, .reply(tokenReply()))
    flows.append(.init("polling", driven.flow, unrelatedEvents: requesting + [early]))
    driven.receive(.woken)
    flows.append(.init("asking", driven.flow, unrelatedEvents: requesting + [.woken]))
    driven.receive(early)
    flows.append(.init("verifying", driven.flow, unrelatedEvents: always + discoveries + [.woken]))
    driven.receive(.idTokenVerified(.genuine(payload: claims(nonce: nil).encoded())))
    flows.append(.init("userinfo", driven.flow, unrelatedEvents: requesting + [.woken]))
    #expect(driven.flow.view.state == "userinfo")

    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: "-2")
  }

  @Test("a plain JSON coder can neither encode nor decode a flow state that contains secrets")
  func plainCoder() throws {
    var authorize = try DrivenAuthorize()
    authorize.toBrowser()
    var device = try DrivenDevice()
    device.toPolling()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(authorize.flow) }
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(device.flow) }
    let stored = try stored(authorize.flow)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(OIDCAuthorize.self, from: Data(stored.utf8))
    }
  }

  @Test("the flow contract check reports every rule that a leaky flow breaks")
  func broken() throws {
    let flow = LeakyFlow(provider: try #require(Provider(provider())), password: "canary")
    let complaints = checkProviderContract(
      [DrivenFlow("leaky", flow, unrelatedEvents: [.woken])], secrets: ["canary"], at: moment())
    #expect(
      complaints == [
        "the kind is not a word in lower case", "leaky: a secret is in a debug description",
        "leaky: a secret is in a description", "leaky: a secret is in a dump",
        "leaky: a secret is in plain storage", "leaky: a secret is in the view",
        "leaky: an unrelated event is not ignored: woken",
        "leaky: the flow waits forever after a restart",
        "leaky: a failure has no title or no message",
        "leaky: an ignored or refused event changes the state: woken",
      ])
  }

  @Test("OIDC authorize and device refuse parameters that their schema does not contain")
  func params() throws {
    let schema = StrictDecoding.schema(of: OIDCAuthorize.Params.self)
    let good: JSONValue = ["scope": "openid", "account": "acc_1", "maxAgeSeconds": 5]
    let params = try StrictDecoding.decode(OIDCAuthorize.Params.self, from: good, schema: schema)
    #expect(params.account == AccountID("acc_1"))
    #expect(throws: UsherError.self) {
      try StrictDecoding.decode(OIDCAuthorize.Params.self, from: ["scopes": "x"], schema: schema)
    }
    let device = StrictDecoding.schema(of: OIDCDevice.Params.self)
    #expect(throws: UsherError.self) {
      try StrictDecoding.decode(OIDCDevice.Params.self, from: ["prompt": "x"], schema: device)
    }
  }

  @Test("every flow kind of a provider type is unique and is found by its name")
  func registry() {
    for variety in ProviderVariety.allCases {
      let kinds = ProviderRegistry.flows(of: variety).map { $0.kind }
      #expect(!kinds.isEmpty && Set(kinds).count == kinds.count)
      for kind in kinds { #expect(ProviderRegistry.flow(kind, of: variety)?.kind == kind) }
      #expect(ProviderRegistry.flow("nothing", of: variety) == nil)
    }
  }
}

/// A flow that breaks as many rules of the flow contract as possible.
private struct LeakyFlow: FlowMachine {
  typealias Call = OIDCCall
  typealias Params = NoParams
  static let kind = "Leaky"
  static let summary = "Tell everything."
  static let resultMembers: [Schema.Member] = []
  static let example = FlowExample([:], result: [:])

  var provider: Provider<OIDCSettings>
  var password: String
  var wakes = 0

  var view: FlowView { FlowView(state: "open", step: .wait(.init(for: password))) }

  static func begin(
    _ params: NoParams, _ origin: FlowContext<OIDCSettings>, at moment: inout TransitionContext
  ) throws(UsherError) -> (LeakyFlow, Answer<OIDCCall>) {
    (LeakyFlow(provider: origin.provider, password: ""), .ignore)
  }

  mutating func receive(
    _ event: FlowEvent<OIDCCall>, at moment: inout TransitionContext
  ) -> Answer<OIDCCall> {
    switch event {
    case .woken:
      wakes += 1
      return .ignore
    case .browser(.listenFailed): return .fail(.protocolError(""))
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }
}

func stored(_ flow: some FlowMachine) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  encoder.userInfo[.sealedStorage] = true
  return String(decoding: try encoder.encode(flow), as: UTF8.self)
}

/// Returns the flow after encoding and decoding, as a restarted daemon reads it.
func storedAndRead<Machine: FlowMachine>(_ flow: Machine) throws -> Machine {
  let decoder = JSONDecoder()
  decoder.userInfo[.sealedStorage] = true
  return try decoder.decode(Machine.self, from: Data(try stored(flow).utf8))
}
