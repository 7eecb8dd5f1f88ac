import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Pushed authorization requests")
struct PushedRequestTests {
  private static let accepted: JSONValue = ["request_uri": "urn:example:1", "expires_in": 60]

  /// Returns a flow whose listener is open.
  private func opened(
    requires: Bool = true, _ setting: OIDCPushedRequests = .auto, endpoint: Bool = true,
    _ params: OIDCAuthorize.Params = .init()
  ) throws -> DrivenAuthorize {
    var driven = try DrivenAuthorize(params) { $0.pushedRequests = setting }
    driven.toBrowser(
      metadata {
        $0.requiresPushedRequests = requires
        $0.pushedAuthorizationRequestEndpoint = endpoint ? issuer + "/par" : nil
      })
    return driven
  }

  private func parameters(_ driven: DrivenAuthorize) -> [String: String] {
    guard case .pushAuthorization(let parameters, _)? = driven.calls.first else { return [:] }
    return parameters
  }

  @Test("a pushed request has all parameters, and the browser gets the client and the reference")
  func pushed() throws {
    var params = OIDCAuthorize.Params()
    params.loginHint = "ada@example.com"
    var driven = try opened(requires: true, .auto, endpoint: true, params)
    #expect(driven.flow.view.state == "pushing")
    let sent = parameters(driven)
    #expect(sent["login_hint"] == "ada@example.com" && sent["response_type"] == "code")
    #expect(sent["code_challenge_method"] == "S256" && sent["nonce"]?.count == 32)
    #expect(sent["redirect_uri"] == DrivenAuthorize.redirectURI)
    driven.receive(
      .called(try #require(driven.calls.first), .reply(reply(Self.accepted, status: 201))))
    #expect(driven.flow.view.state == "authorizing")
    #expect(driven.query == ["client_id": "usher", "request_uri": "urn:example:1"])
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.flow.view.state == "exchanging")
  }

  @Test(
    "requests are pushed if the provider requires it or the operator wants it",
    arguments: [
      (false, .auto, false), (true, .auto, true), (false, .always, true), (true, .never, false),
    ] as [(Bool, OIDCPushedRequests, Bool)])
  func chosen(requires: Bool, setting: OIDCPushedRequests, isPushed: Bool) throws {
    let driven = try opened(requires: requires, setting)
    #expect((driven.flow.view.state == "pushing") == isPushed)
    #expect(driven.calls.isEmpty != isPushed)
  }

  @Test(
    "a refusal ends the sign-in with the provider's code, and without an endpoint it cannot begin")
  func refused() throws {
    var driven = try opened()
    driven.receive(
      .called(
        try #require(driven.calls.first), .reply(reply(["error": "invalid_request"], status: 400))))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider?.code == "invalid_request")
    #expect(try opened(endpoint: false).failure?.reason == .providerProtocolError)
    for bad in [[:], ["request_uri": ""], ["request_uri": "a b"], ["request_uri": 1]] as [JSONValue]
    {
      var driven = try opened()
      driven.receive(.called(try #require(driven.calls.first), .reply(reply(bad, status: 201))))
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("a pushed request names the client once, however the client authenticates itself")
  func clientID() throws {
    for auth in [OIDCClientAuth.basic, .post, .clientSecretJWT] {
      let provider = try provider {
        $0.clientCredential = "work-secret"
        $0.clientAuth = auth
      }
      let call = OIDCCall.pushAuthorization(
        ["client_id": "usher", "scope": "openid"],
        metadata { $0.pushedAuthorizationRequestEndpoint = issuer + "/par" })
      let request = try call.render(
        RenderContext(
          provider: try #require(Provider(provider)), credential: Secret("a client secret"),
          transition: moment()))
      let fields = try #require(FormEncoding.decode(request.body?.revealed() ?? ""))
      #expect(fields.count { $0.name == "client_id" } == 1, "\(auth)")
      #expect(Set(fields.map(\.name)).count == fields.count, "\(auth)")
    }
  }

  @Test("a lost pushed request is repeated, and after a restart the round begins with a listener")
  func lost() throws {
    var driven = try opened()
    let call = driven.calls
    driven.receive(.called(call[0], .unreachable(message: "gone", sent: true)))
    #expect(driven.flow.view.problem?.reason == "provider_unreachable" && driven.calls.isEmpty)
    driven.receive(.woken)
    #expect(driven.calls == call)
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.resumed)
    #expect(driven.flow.view.state == "preparing")
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.flow.view.state == "pushing" && parameters(driven) == parameters(driven))
    // The reply to the call of the earlier process does not count for another one.
    driven.receive(.called(.discovery(url: "x"), .reply(reply(Self.accepted))))
    #expect(driven.flow.view.state == "pushing")
  }
}
