import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

@Suite("The end of a session at an OpenID provider")
struct EndSessionTests {
  private struct Driven: AnsweredMachine {
    var flow: OIDCEndSession
    private(set) var last: Answer<OIDCCall>
    private var moment = UsherFlowsTests.moment()

    init(idToken: Secret? = nil) throws {
      var context = FlowContext<OIDCSettings>(
        provider: Provider(try provider())!,
        account: KnownAccount(id: AccountID("acc_1"), subject: "u-1"), requestID: "req-1")
      context.idToken = idToken.map { Sealed($0) }
      (flow, last) = try OIDCEndSession.begin(.init(), context, at: &moment)
    }

    @discardableResult
    mutating func receive(_ event: FlowEvent<OIDCCall>) -> Answer<OIDCCall> {
      last = flow.receive(event, at: &moment)
      return last
    }

    mutating func toBrowser(_ endpoint: String = issuer + "/logout") {
      receive(.discovered(.found(metadata { $0.endSessionEndpoint = endpoint })))
      receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    }

    var url: String? {
      if case .openURL(let step) = flow.view.step { step.url } else { nil }
    }

    var query: [String: String] {
      let query = url?.split(separator: "?", maxSplits: 1).last ?? ""
      return Dictionary((FormEncoding.decode(query) ?? []).map { ($0.name, $0.value) }) { $0 + $1 }
    }
  }

  @Test("the page's address names the client, the redirect address, a state and the ID token")
  func address() throws {
    var driven = try Driven(idToken: idToken)
    driven.toBrowser()
    #expect(driven.url?.hasPrefix(issuer + "/logout?") == true)
    #expect(driven.query["client_id"] == "usher")
    #expect(driven.query["post_logout_redirect_uri"] == DrivenAuthorize.redirectURI)
    #expect(driven.query["id_token_hint"] == idToken.revealed())
    #expect(driven.query["state"]?.count == 32)
  }

  @Test("without an ID token the address has no hint; an endpoint with a query keeps it")
  func withoutHint() throws {
    var driven = try Driven()
    driven.toBrowser(issuer + "/logout?tenant=a")
    #expect(driven.query["id_token_hint"] == nil && driven.query["tenant"] == "a")
  }

  @Test("the flow succeeds with the redirect, without a result, and fails with a redirect's error")
  func redirected() throws {
    var driven = try Driven(idToken: idToken)
    driven.toBrowser()
    var refused = driven
    driven.receive(.redirected(AuthorizationResponse()))
    #expect(driven.last == .finish(Completion(grant: nil)))
    refused.receive(.redirected(AuthorizationResponse(error: "server_error")))
    guard case .fail(let failure, _) = refused.last else {
      Issue.record("the flow has not failed: \(refused.last)")
      return
    }
    #expect(failure.reason == .providerUnreachable)
  }

  @Test("the flow fails if the metadata has no end session endpoint, and says what to set")
  func noEndpoint() throws {
    var driven = try Driven()
    driven.receive(.discovered(.found(metadata())))
    guard case .fail(let failure, _) = driven.last else {
      Issue.record("the flow has not failed: \(driven.last)")
      return
    }
    #expect(failure.reason == .providerProtocolError && failure.message.contains("end_session"))
  }

  @Test("every state of the flow fulfils the flow contract")
  func contract() throws {
    var driven = try Driven(idToken: idToken)
    let foreign: [FlowEvent<OIDCCall>] = [
      .input(.denied), .idTokenVerified(.refused(message: "bad")), .woken,
      .called(.userinfo(accessToken: Secret("a"), metadata()), .reply(reply(["sub": "u"]))),
    ]
    var flows = [
      DrivenFlow(
        "discovering", driven.flow,
        unrelatedEvents: foreign + [.redirected(AuthorizationResponse())])
    ]
    driven.receive(.discovered(.found(metadata { $0.endSessionEndpoint = issuer + "/logout" })))
    flows.append(
      DrivenFlow(
        "preparing", driven.flow,
        unrelatedEvents: foreign + [.redirected(AuthorizationResponse())]))
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    flows.append(DrivenFlow("ending", driven.flow, unrelatedEvents: foreign))
    #expect(checkProviderContract(flows, secrets: ["access-secret"], at: moment()) == [])
    try checkStoredForms(flows)
  }
}
