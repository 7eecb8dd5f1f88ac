import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// An OIDC backchannel flow under test.
private struct DrivenBackchannel: AnsweredMachine {
  var flow: OIDCBackchannel
  private(set) var last: Answer<OIDCCall>

  init(_ params: OIDCBackchannel.Params = .init(loginHint: "ada")) throws {
    var moment = UsherFlowsTests.moment()
    (flow, last) = try OIDCBackchannel.begin(
      params,
      FlowContext<OIDCSettings>(
        provider: Provider(try provider())!, account: nil, requestID: "req-1"),
      at: &moment)
  }

  @discardableResult
  mutating func receive(
    _ event: FlowEvent<OIDCCall>, at time: Timestamp = now
  ) -> Answer<OIDCCall> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    return last
  }

  static let known = metadata {
    $0.backchannelAuthenticationEndpoint = issuer + "/bc-authorize"
    $0.backchannelDeliveryModes = ["ping", "poll"]
  }
  static let grant = reply(["auth_req_id": "request-secret", "expires_in": 120, "interval": 2])
  static let poll = OIDCCall.backchannelPoll(requestID: Secret("request-secret"), known)

  mutating func toRequest(_ metadata: OIDCMetadata = known) {
    receive(.discovered(.found(metadata)))
  }

  mutating func answer(_ outcome: CallOutcome) {
    if let call = calls.first { receive(.called(call, outcome)) }
  }

  mutating func toPolling() {
    toRequest()
    answer(.reply(Self.grant))
  }

  @discardableResult
  mutating func polled(_ outcome: CallOutcome) -> Answer<OIDCCall> {
    receive(.woken)
    answer(outcome)
    return last
  }

  @discardableResult
  mutating func polled(_ error: JSONValue) -> Answer<OIDCCall> {
    polled(.reply(reply(["error": error], status: 400)))
  }
}

@Suite("The OIDC backchannel flow")
struct BackchannelTests {
  @Test("the flow asks the provider, polls at its interval, verifies the ID token and completes")
  func way() throws {
    var driven = try DrivenBackchannel(
      .init(loginHint: "ada", bindingMessage: "W4SCT", acrValues: "gold"))
    driven.toRequest()
    let request = OIDCCall.BackchannelRequest(
      scope: "openid profile offline_access", loginHint: "ada", bindingMessage: "W4SCT",
      acrValues: "gold", audiences: [])
    #expect(
      driven.last
        == .proceed([.call(.backchannelAuthentication(request, DrivenBackchannel.known))]))
    driven.answer(.reply(DrivenBackchannel.grant))
    #expect(driven.last == .proceed([.wake(after: .seconds(2))]))
    #expect(driven.flow.view.state == "authorization_pending")
    #expect(driven.receive(.woken) == .proceed([.call(DrivenBackchannel.poll)]))
    driven.answer(.reply(tokenReply()))
    #expect(driven.last == .proceed([.verifyIDToken(idToken, metadata: DrivenBackchannel.known)]))
  }

  @Test("the account keeps whom the caller named, so that the sign-in can be repeated")
  func completion() throws {
    var driven = try DrivenBackchannel()
    driven.toPolling()
    driven.polled(.reply(tokenReply()))
    driven.receive(.idTokenVerified(.genuine(payload: claims(nonce: nil).encoded())))
    driven.answer(.reply(reply(["sub": "u-1"])))
    let grant = try #require(OIDCBackchannel.completion(in: driven.last)?.grant)
    #expect(grant.subject == "u-1")
    #expect(grant.signInOptions == SignInOptions(kind: "backchannel", loginHint: "ada"))
  }

  @Test("the requests have the parameters of CIBA, and the client authenticates itself")
  func requests() throws {
    let provider = try provider { $0.clientCredential = "secret" }
    let call = OIDCCall.backchannelAuthentication(
      .init(
        scope: "openid", loginHint: "ada@a.example", bindingMessage: "x", acrValues: "gold",
        audiences: []), DrivenBackchannel.known)
    let request = try call.rendered(at: provider, credential: Secret("s3cret"))
    #expect(request.url == issuer + "/bc-authorize")
    #expect(
      request.body?.revealed()
        == "scope=openid&login_hint=ada%40a.example&binding_message=x&acr_values=gold")
    #expect(request.headers.contains { $0.name == "Authorization" })
    let poll = try DrivenBackchannel.poll.rendered(at: provider, credential: Secret("s3cret"))
    #expect(
      poll.body?.revealed()
        == "grant_type=urn%3Aopenid%3Aparams%3Agrant-type%3Aciba&auth_req_id=request-secret")
  }

  @Test(
    "the reply to a poll goes on, slows down or ends the flow by its error code",
    arguments: [
      ("authorization_pending", nil, 2), ("slow_down", nil, 7),
      ("access_denied", .denied, 0), ("expired_token", .expired, 0),
      ("invalid_grant", .providerRejected, 0), ("transaction_failed", .providerRejected, 0),
    ] as [(String, Failure.Reason?, Int)])
  func polls(code: String, reason: Failure.Reason?, seconds: Int) throws {
    var driven = try DrivenBackchannel()
    driven.toPolling()
    driven.polled(.string(code))
    guard let reason else {
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      return
    }
    #expect(driven.failure?.reason == reason)
  }

  @Test("no poll is sent after the provider's request has expired")
  func expiry() throws {
    var driven = try DrivenBackchannel()
    driven.toPolling()
    driven.receive(.woken, at: now + .seconds(120))
    #expect(driven.failure?.reason == .expired)
  }

  @Test("invalid_grant after a lost reply asks the person again, and says why")
  func lostTokens() throws {
    var driven = try DrivenBackchannel()
    driven.toPolling()
    driven.polled(.unreachable(message: "gone", sent: true))
    driven.polled("invalid_grant")
    #expect(driven.flow.view.state == "requesting")
    driven.answer(.reply(DrivenBackchannel.grant))
    #expect(driven.flow.view.problem?.message.contains("approve") == true)
  }

  @Test("a request that has certainly not been accepted is repeated")
  func unsentRequest() throws {
    for outcome in [
      .unreachable(message: "gone", sent: false),
      .reply(HTTPReply(status: 503, headers: ["retry-after": "2"])),
      .reply(reply(["error": "temporarily_unavailable"], status: 400)),
    ] as [CallOutcome] {
      var driven = try DrivenBackchannel()
      driven.toRequest()
      driven.answer(outcome)
      #expect(driven.flow.view.state == "requesting" && driven.failure == nil)
      driven.receive(.woken)
      driven.answer(.reply(DrivenBackchannel.grant))
      #expect(driven.flow.view.state == "authorization_pending")
    }
  }

  @Test(
    "a request that the provider may have accepted ends the flow, because the person may be asked",
    arguments: [
      .called(.unreachable(message: "gone", sent: true)),
      .called(.reply(HTTPReply(status: 502))), .called(.reply(HTTPReply(status: 503))), .restart,
    ] as [LostRequest])
  func lostRequest(loss: LostRequest) throws {
    var driven = try DrivenBackchannel()
    driven.toRequest()
    switch loss {
    case .called(let outcome): driven.answer(outcome)
    case .restart: driven.receive(.daemon(.resumed))
    }
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.retryable == false)
    #expect(driven.failure?.message.contains("may already ask") == true)
  }

  /// How the answer to a request can get lost.
  enum LostRequest: Sendable {
    case called(CallOutcome)
    /// The daemon is killed while it waits for the answer.
    case restart
  }

  @Test("a restart during a pause before the next attempt sends the request")
  func restartedPause() throws {
    var driven = try DrivenBackchannel()
    driven.toRequest()
    driven.answer(.unreachable(message: "gone", sent: false))
    driven.receive(.daemon(.resumed))
    #expect(driven.calls.count == 1 && driven.failure == nil)
  }

  @Test(
    "a server error is repeated only if the provider says that it has not processed the request",
    arguments: [
      (500, nil, false), (502, nil, false), (504, nil, false), (503, nil, false),
      (503, "1", true), (429, "1", true), (429, nil, true),
    ] as [(Int, String?, Bool)])
  func serverError(status: Int, retryAfter: String?, isRepeated: Bool) throws {
    var driven = try DrivenBackchannel()
    driven.toRequest()
    let headers = retryAfter.map { ["retry-after": $0] } ?? [:]
    driven.answer(.reply(reply([:], status: status, headers: headers)))
    #expect((driven.failure == nil) == isRepeated)
    #expect(isRepeated || driven.failure?.reason == .providerUnreachable)
    #expect(!isRepeated || driven.flow.view.state == "requesting")
  }

  @Test(
    "an auth_req_id that is too long or not visible ASCII is not used",
    arguments: ["a b", "a\u{0}", "é", String(repeating: "a", count: 4097)])
  func unusableID(id: String) {
    let answer = BackchannelReply(
      reply(["auth_req_id": .string(id), "expires_in": 60]), from: name, at: now)
    guard case .unreadable(let message) = answer else {
      Issue.record("the id is used")
      return
    }
    #expect(message.contains("auth_req_id"))
  }

  @Test("a poll is not repeated before the time that the provider names")
  func postponedPoll() throws {
    var driven = try DrivenBackchannel()
    driven.toPolling()
    driven.polled(.reply(reply([:], status: 429, headers: ["retry-after": "45"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(45))]))
    // The provider asks for one pause, not for another interval.
    driven.polled("authorization_pending")
    #expect(driven.last == .proceed([.wake(after: .seconds(4))]))
  }

  @Test(
    "an answer without auth_req_id or expires_in is not used; a missing interval is five seconds",
    arguments: [
      (["auth_req_id": "a"], nil), (["expires_in": 60], nil),
      (["auth_req_id": "", "expires_in": 60], nil),
      (["auth_req_id": "a", "expires_in": 60], 5),
      (["auth_req_id": "a", "expires_in": 60, "interval": 0], 1),
    ] as [(JSONValue, Int?)])
  func answers(members: JSONValue, interval: Int?) {
    guard case .granted(let authorization) = BackchannelReply(reply(members), from: name, at: now)
    else {
      #expect(interval == nil)
      return
    }
    #expect(authorization.interval == interval)
    #expect(authorization.expiresAt == now + .seconds(60))
  }

  @Test("a provider without the endpoint, or without the poll mode, fails the flow")
  func unsupported() throws {
    for change in [
      { $0.backchannelAuthenticationEndpoint = nil }, { $0.backchannelDeliveryModes = ["push"] },
    ] as [(inout OIDCMetadata) -> Void] {
      var driven = try DrivenBackchannel()
      var metadata = DrivenBackchannel.known
      change(&metadata)
      driven.toRequest(metadata)
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("a login hint or binding message that is no text is refused by its name")
  func badParams() throws {
    for (params, field) in [
      (OIDCBackchannel.Params(loginHint: " "), "params.loginHint"),
      (.init(loginHint: "ada", bindingMessage: "a\u{0}b"), "params.bindingMessage"),
    ] {
      let error = #expect(throws: UsherError.self) { try DrivenBackchannel(params) }
      #expect(error?.detail.field == field)
    }
  }

  @Test("every state of the flow fulfils the flow contract")
  func contract() throws {
    var driven = try DrivenBackchannel(.init(loginHint: "ada", bindingMessage: "W4SCT"))
    let foreign: [FlowEvent<OIDCCall>] = [
      .listening(redirectURI: "http://127.0.0.1:1/callback"), .input(.denied),
      .redirected(AuthorizationResponse(code: Secret("c"))),
    ]
    var flows = [
      DrivenFlow("discovering", driven.flow, unrelatedEvents: foreign + [.woken])
    ]
    driven.toRequest()
    flows.append(
      DrivenFlow(
        "requesting", driven.flow,
        unrelatedEvents: foreign + [.woken, .discovered(.found(metadata()))]))
    driven.answer(.reply(DrivenBackchannel.grant))
    flows.append(DrivenFlow("polling", driven.flow, unrelatedEvents: foreign))
    driven.receive(.woken)
    flows.append(DrivenFlow("asking", driven.flow, unrelatedEvents: foreign + [.woken]))
    driven.answer(.reply(tokenReply()))
    flows.append(DrivenFlow("verifying", driven.flow, unrelatedEvents: foreign + [.woken]))
    #expect(
      checkProviderContract(
        flows, secrets: ["access-secret", "refresh-secret", "request-secret"], at: moment()) == [])
    try checkStoredForms(flows)
  }
}
