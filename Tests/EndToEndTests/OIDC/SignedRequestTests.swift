import JSONRPC
import Testing
import UsherTestKit

@Suite("Authorization requests that the client signs", .mayBlock, .timeLimit(.minutes(10)))
struct SignedRequestTests {
  let fixture: OIDCFixture

  init() throws {
    fixture = try OIDCFixture { sandbox in
      ["auto", "always", "never"].map { setting in
        """
        [[provider]]
        name = "\(setting)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "work-key"
        signed_requests = "\(setting)"

        """
      }.joined()
    }
    let key = try fixture.daemon.admin().call(
      "provider.jwks", ["provider": "auto", "create": true])
    try fixture.set(["clientKeys": ["usher-confidential": key]])
  }

  @Test("a provider that requires signed requests gets one, in the browser or pushed")
  func required() throws {
    try fixture.set(["requireSignedRequests": true])
    for isPushed in [false, true] {
      try fixture.set(["requirePushedRequests": .bool(isPushed)])
      // The metadata is read again after a restart.
      let fixture = try self.fixture.restarted()
      let flow = try fixture.app.startFlow("auto")
      #expect(flow.url.contains("request_uri=") == isPushed)
      #expect(flow.url.contains("request=") != isPushed)
      #expect(!flow.url.contains("code_challenge") && !flow.url.contains("redirect_uri"))
      try Person.signIn(at: flow.url)
      #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    }
    #expect(!self.fixture.daemon.log.contains("PRIVATE KEY"))
  }

  @Test("nothing outside of the signed object counts, and an object that was changed is refused")
  func changed() throws {
    let flow = try fixture.app.startFlow("always")
    // A second login_hint would be shown on the page.
    let page = try Web.get(flow.url + "&login_hint=mallory&redirect_uri=http%3A%2F%2Fevil.example")
    #expect(page.status == 200 && !page.text.contains("mallory"))
    let object = try #require(flow.url.firstMatch(of: /request=([^&]*)/)?.1)
    let parts = object.split(separator: ".")
    let changed = flow.url.replacing(parts[1], with: parts[1].replacing("e", with: "f"))
    #expect(try Web.get(changed).status == 400)
    let stripped = flow.url.replacing("request=\(object)", with: "x=y")
    #expect(try Web.get(stripped).status == 400)
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("a client that does not sign, or has no key, is refused, and the message says what to do")
  func refused() throws {
    try fixture.set(["requireSignedRequests": true])
    #expect(try Web.get(fixture.app.startFlow("never").url).status == 400)
    let flow = try fixture.app.startFlow("demo")
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "invalid_request")
    #expect(flow.failure["message"]?.stringValue?.contains("provider jwks demo --create") == true)
  }
}
