import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

private typealias Driven = DrivenIdentity

private let secrets = [
  "linking-secret", "code-secret", "capture-secret", "bound-secret", "client-secret", "BEGIN",
]

/// Events that no state handles.
private let foreignEvents: [FlowEvent<GoPayCall>] = [
  .called(.unbinding(token: Secret("t"), device: device), .reply(reply([:]))),
  .called(
    .authCode(.token(Sealed(Secret("other"))), correlationID: "c", requestID: "r"), Driven.gone),
  .called(.temporaryToken(.token(Sealed(Secret("other"))), requestID: "req-1"), Driven.gone),
  .called(.sessionToken(code: Secret("other"), requestID: "req-1"), Driven.gone),
  .called(.currentSubmission(.token(Sealed(Secret("other"))), requestID: "req-1"), Driven.gone),
  .called(.exchange(code: Secret("o"), correlationID: "c", requestID: "r"), Driven.gone),
  .called(.binding(code: Secret("o"), device: device, externalID: "0"), Driven.gone),
  .input(.code(Secret("1"), fields: [:])), .input(.denied), .input(.password(Secret("p"))),
  .discovered(.unreachable(message: "gone")), .idTokenVerified(.refused(message: "bad")),
]
private let redirects: [FlowEvent<GoPayCall>] = [
  .redirected(AuthorizationResponse(code: Secret("c"))), .input(.redirect(url: Secret("x"))),
]
private let listeners: [FlowEvent<GoPayCall>] = [
  .listening(redirectURI: "http://127.0.0.1:1/callback"), .listenFailed("taken"),
]
private let answers: [FlowEvent<GoPayCall>] = [
  .input(.exchanged(["userCorrelationId": Secret("corr-5678")])),
  .input(.exchangeFailed(reason: "x")),
]
private let callbacks: [FlowEvent<GoPayCall>] = [
  .calledBack(
    ProviderCallback(
      requestID: "req-1", authorization: Secret(""), isAuthenticated: true,
      members: ["submissionId": "sub-9", "status": "COMPLETED", "result": "VALID"]))
]
private let busy = foreignEvents + redirects + listeners + callbacks

@Suite("The contract of GoPay's verify")
struct IdentityContractTests {
  private var flows: [DrivenFlow<VerifyIdentity>] = []

  @Test("GoPay verify keeps the flow contract in every state with the log-in page and the app")
  mutating func app() throws {
    var driven = try Driven()
    add("preparing", driven, foreignEvents + redirects + answers + callbacks + [.woken])
    driven.toBrowser()
    add("login", driven, foreignEvents + listeners + answers + callbacks + [.woken])
    driven.receive(.resumed)
    add("restoring", driven, foreignEvents + answers + callbacks + [.woken])
    driven.cameBack()
    add("handed over", driven, busy)
    driven.receive(answers[0])
    try capture(driven)
    let elsewhere = try Driven { $0.redirectURI = "https://partner.example/cb" }
    add("login elsewhere", elsewhere, foreignEvents + listeners + answers + callbacks + [.woken])
    try check("-loginPage")
  }

  @Test("verify keeps the flow contract in every state with a token, the backend and SNAP")
  mutating func others() throws {
    var driven = try Driven(token: "linking-secret", provider: gopay(.backend))
    add("authCode", driven, busy + answers + [.woken])
    driven.answered(Driven.gone)
    add("authCode paused", driven, busy + answers + [again(driven)])
    driven.receive(.woken)
    driven.toExchange()
    add("backend", driven, busy + answers)
    driven.answered(Driven.gone)
    add("backend paused", driven, busy + answers + [again(driven)])

    driven = try Driven(provider: gopay(.snap))
    driven.toExchange()
    add("snap", driven, busy + answers)
    driven.answered(Driven.gone)
    add("snap paused", driven, busy + answers + [again(driven)])
    driven.receive(.woken)
    driven.answered([
      "responseCode": "2000700", "accessTokenInfo": ["accessToken": "bound-secret"],
    ])
    try capture(driven)
    try check("-token")
  }

  @Test("GoPay verify keeps the flow contract with an account, and after an early failure")
  mutating func account() throws {
    var driven = try Driven(.none, account: Driven.knownAccount)
    add("current", driven, busy + answers + [.woken])
    driven.answered(Driven.gone)
    add("current paused", driven, busy + answers + [again(driven)])
    driven.receive(.woken)
    driven.refused(404, 1519)
    try capture(driven)
    add("refused request", try Driven(requestID: nil), busy + answers + [.woken])
    try check("-refused")
  }

  /// Adds the states of the capture: the token, the page and the polling of the page.
  private mutating func capture(_ driven: Driven) throws {
    var driven = driven
    for part in ["token", "page"] {
      add("capture's \(part)", driven, busy + answers + [.woken])
      driven.answered(Driven.gone)
      add("capture's \(part) paused", driven, busy + answers + [again(driven)])
      driven.receive(.woken)
      if part == "token" { driven.answered(data: ["token": "capture-secret"]) }
    }
    driven.answered(data: ["submissionId": "sub-1", "url": .string(Driven.page)])
    #expect(driven.page != nil)
    add("watching", driven, busy + answers)
    var expiring = driven
    expiring.flow.state = driven.flow.state.withExpiredPage
    add("expiring", expiring, busy + answers, isNew: true)
    expiring.receive(.woken)
    expiring.answered(data: ["submissionId": "sub-1", "status": "CREATED"])
    #expect(expiring.page == nil)
    add("renewing", expiring, busy + answers, isNew: true)
    driven.receive(.woken)
    driven.refused(401, 1401)
    add("replacing", driven, busy + answers)
    driven.answered(data: ["token": "capture-secret"])
    driven.answered(data: ["submissionId": "sub-1", "status": "SUBMITTED"])
    #expect(driven.state == "submitted")
    for event in busy + answers + [.woken] {
      var ended = driven
      #expect(ended.receive(event) == .ignore)
    }
  }

  /// Returns an outcome that arrives during a retry pause.
  private func again(_ driven: Driven) -> FlowEvent<GoPayCall> {
    driven.pending.map { .called($0, Driven.gone) } ?? .discovered(.unreachable(message: ""))
  }

  /// Adds a state. A capture is added in its first stored form too, which had no deadline, unless
  /// the state was introduced with the deadline.
  private mutating func add(
    _ name: String, _ driven: Driven, _ unrelatedEvents: [FlowEvent<GoPayCall>],
    isNew: Bool = false
  ) {
    guard case .kyc(let capture) = driven.flow.state, !isNew else {
      flows.append(.init(name, driven.flow, unrelatedEvents: unrelatedEvents))
      return
    }
    let first = copy(driven.flow) {
      $0.state = .kyc(
        copy(capture) {
          $0.deadline = nil
          $0.exchangedID = nil
        })
    }
    flows.append(.init(name, first, unrelatedEvents: unrelatedEvents))
    flows.append(.init(name + ", 2", driven.flow, unrelatedEvents: unrelatedEvents))
  }

  /// - Parameter variant: Tells the files of stored forms apart.
  private func check(_ variant: String) throws {
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: variant)
  }

  @Test("a GoPay verify flow that holds secrets cannot be encoded by a plain coder")
  func plainCoder() throws {
    var driven = try Driven()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
    driven.toExchange()
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
    driven.receive(answers[0])
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(driven.flow) }
  }
}

extension VerifyIdentity.State {
  /// The same state with a capture page that has expired.
  fileprivate var withExpiredPage: Self {
    guard case .kyc(let capture) = self, let page = capture.page else { return self }
    return .kyc(
      copy(capture) {
        $0.page = .init(submissionID: page.submissionID, url: page.url, expiresAt: now)
      })
  }
}
