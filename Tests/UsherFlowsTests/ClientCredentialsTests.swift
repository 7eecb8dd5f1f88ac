import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

@Suite("OIDC tokens for the client itself")
struct ClientCredentialsTests {
  private struct Driven: AnsweredMachine {
    var flow: OIDCClientCredentials
    private(set) var last: Answer<OIDCCall>
    private var moment = UsherFlowsTests.moment()

    init(
      _ params: OIDCClientCredentials.Params = .init(), isPermitted: Bool = true
    ) throws {
      let provider = try provider {
        $0.clientCredential = "secret"
        $0.clientCredentialsGrant = isPermitted
      }
      (flow, last) = try OIDCClientCredentials.begin(
        params,
        FlowContext<OIDCSettings>(
          provider: Provider(provider)!, account: nil, requestID: "req-1"),
        at: &moment)
    }

    @discardableResult
    mutating func receive(_ event: FlowEvent<OIDCCall>) -> Answer<OIDCCall> {
      last = flow.receive(event, at: &moment)
      return last
    }

    mutating func toRequest() { receive(.discovered(.found(metadata()))) }

    mutating func answer(_ outcome: CallOutcome) {
      if let call = calls.first { receive(.called(call, outcome)) }
    }
  }

  private func accountGrant(_ answer: Answer<OIDCCall>) -> AccountGrant? {
    OIDCClientCredentials.completion(in: answer)?.grant
  }

  @Test("the flow ends with an account of the client, without ID token and refresh token")
  func granted() throws {
    var driven = try Driven(.init(scope: "  reports.read  x "))
    driven.toRequest()
    #expect(driven.calls == [.clientCredentials(scope: "reports.read x", metadata())])
    driven.answer(.reply(tokenReply(["refresh_expires_in": 60])))
    let grant = try #require(accountGrant(driven.last))
    #expect(grant.subject == "usher")
    #expect(grant.attributes == ["grant": "client_credentials"])
    #expect(grant.isOfClient)
    #expect(grant.tokens?.accessToken.unsealed() == Secret("access-secret"))
    #expect(grant.tokens?.scope == "reports.read x")
    #expect(grant.tokens?.refreshToken == nil && grant.tokens?.refreshExpiresAt == nil)
    #expect(grant.tokens?.idToken == nil && grant.idToken == nil)
    #expect(grant.signInOptions?.kind == "clientCredentials")
  }

  @Test(
    "the request has the grant type, the scope and the audience, and authenticates the client",
    arguments: [
      ("", nil, "grant_type=client_credentials"),
      ("a b", nil, "grant_type=client_credentials&scope=a+b"),
      ("", "x", "grant_type=client_credentials&audience=x"),
    ] as [(String, String?, String)])
  func request(scope: String, audience: String?, body: String) throws {
    let provider = try provider {
      $0.clientCredential = "secret"
      $0.audienceParameter = .audience
    }
    let request = try OIDCCall.clientCredentials(scope: scope, audience: audience, metadata())
      .rendered(at: provider, credential: Secret("s3cret"))
    #expect(request.url == issuer + "/token")
    #expect(request.body?.revealed() == body)
    #expect(request.headers.contains { $0.value.revealed() == "Basic dXNoZXI6czNjcmV0" })
  }

  @Test("a provider without client_credentials_grant refuses the flow, and names the setting")
  func notPermitted() throws {
    let error = #expect(throws: UsherError.self) { try Driven(isPermitted: false) }
    #expect(error?.reason == .permissionDenied)
    #expect(error?.message.contains("client_credentials_grant") == true)
  }

  @Test("an unreachable provider is asked again; a refusal ends the flow with its error code")
  func failures() throws {
    var driven = try Driven()
    driven.toRequest()
    driven.answer(.unreachable(message: "gone", sent: true))
    #expect(driven.flow.view.state == "requesting")
    driven.receive(.woken)
    driven.answer(.reply(reply(["error": "invalid_client"], status: 401)))
    guard case .fail(let failure, _) = driven.last else {
      Issue.record("the flow has not failed: \(driven.last)")
      return
    }
    #expect(failure.provider?.code == "invalid_client")
  }

  @Test("tokens that arrive after the flow has ended are revoked")
  func late() {
    let call = OIDCCall.clientCredentials(scope: "", metadata())
    #expect(OIDCClientCredentials.cleanUp(call, .reply(tokenReply())).count == 1)
  }

  @Test("every state of the flow fulfils the flow contract")
  func contract() throws {
    var driven = try Driven()
    let foreign: [FlowEvent<OIDCCall>] = [
      .listening(redirectURI: "http://127.0.0.1:1/callback"), .input(.denied),
      .idTokenVerified(.refused(message: "bad")),
      .called(.userinfo(accessToken: Secret("a"), metadata()), .reply(reply(["sub": "u"]))),
    ]
    var flows = [
      DrivenFlow("discovering", driven.flow, unrelatedEvents: foreign + [.woken])
    ]
    driven.toRequest()
    flows.append(
      DrivenFlow(
        "requesting", driven.flow,
        unrelatedEvents: foreign + [.woken, .discovered(.found(metadata()))]))
    driven.answer(.unreachable(message: "gone", sent: true))
    flows.append(DrivenFlow("paused", driven.flow, unrelatedEvents: foreign))
    #expect(checkProviderContract(flows, secrets: ["access-secret"], at: moment()) == [])
    try checkStoredForms(flows)
  }
}
