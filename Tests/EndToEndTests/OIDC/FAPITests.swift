import JSONRPC
import Testing
import UsherTestKit

/// The FAPI 2.0 profiles. The modules of the conformance suite about them are in
/// `ConformanceTests`.
@Suite("FAPI 2.0 profiles", .mayBlock, .timeLimit(.minutes(10)))
struct FAPITests {
  let fixture: OIDCFixture
  private let clock = MovableClock()
  /// Kept, because its file ends with it.
  private let trust: TrustedAuthority

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      Self.provider("bank", at: sandbox, "profile = \"fapi2\"")
        + Self.provider(
          "signing", at: sandbox,
          "profile = \"fapi2_message_signing\"\nresponse_mode = \"jwt\"")
        + Self.provider("plain", at: sandbox, "")
        + trust.provider("issued", at: sandbox) + "profile = \"fapi2\"\n"
    }
    try fixture.setCertificate("issued")
    let keys = try fixture.daemon.admin().call(
      "provider.jwks", ["provider": "bank", "create": true])
    try fixture.set(["fapi2": true, "clientKeys": ["usher-confidential": keys]])
  }

  /// Returns a provider whose client has what FAPI 2.0 demands.
  private static func provider(
    _ name: String, at sandbox: SandboxUnderTest, _ more: String
  ) -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(sandbox.issuer)"
    client_id = "usher-confidential"
    client_credential = "bank-key"
    client_auth = "private_key_jwt"
    client_credentials_grant = true
    dpop = true
    \(more)

    """
  }

  private func refusal(_ settings: JSONValue, at provider: String = "bank") throws -> String {
    try fixture.set(settings)
    // The metadata is read again.
    try clock.advance(by: 3700)
    let flow = try fixture.app.startFlow(provider)
    if flow["status"] == "active" { try Person.signIn(at: flow.url) }
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "failed" && !end.hasSecret, "\(end.text)")
    return end.failure["message"]?.stringValue ?? ""
  }

  @Test("a client signs in, refreshes, gets tokens for itself and revokes at a FAPI 2.0 provider")
  func whole() throws {
    let flow = try fixture.app.startFlow("bank")
    let names = try #require(flow.url.split(separator: "?").last).split(separator: "&")
      .compactMap { $0.split(separator: "=").first }
    #expect(names == ["client_id", "request_uri"])
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account = end["result"]?["account"] ?? .null
    let first = try fixture.token(["account": account])
    #expect(first["tokenType"] == "DPoP")
    let second = try fixture.token(["account": account, "forceRefresh": true])
    #expect(second["accessToken"] != first["accessToken"] && second["tokenType"] == "DPoP")
    #expect(try fixture.app.call("account.forget", ["account": account])["revoked"] == "done")
    let own = try fixture.app.startFlow("bank", "clientCredentials")
    #expect(try fixture.app.finished(own)["status"] == "succeeded")
    #expect(!fixture.daemon.log.contains("PRIVATE KEY"))
  }

  @Test("a client with a certificate gets tokens that are bound to it")
  func certificate() throws {
    try fixture.app.signIn("issued")
    let token = try fixture.token(["provider": "issued"])
    #expect(token["tokenType"] == "Bearer")
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
    let check = try fixture.daemon.usherctl(["provider", "check", "issued"])
    #expect(check.status == 0, "\(check)")
    // A provider that does not promise to bind them is refused.
    let message = try refusal(
      ["discovery": ["tls_client_certificate_bound_access_tokens": false]], at: "issued")
    #expect(message.contains("set dpop = true"), "\(message)")
  }

  @Test("no token is fetched from a provider that no longer binds tokens to the certificate")
  func unboundRefresh() throws {
    try fixture.app.signIn("issued")
    try fixture.set([
      "discovery": ["tls_client_certificate_bound_access_tokens": false]
    ])
    try clock.advance(by: 3700)
    let requests = try fixture.requests("token")
    let error = try fixture.app.error(of: "token.get", ["provider": "issued"])
    #expect(error.data["reason"] == "provider_protocol_error", "\(error.text)")
    #expect(error.text.contains("profile fapi2"), "\(error.text)")
    #expect(try fixture.requests("token") == requests)
    // What a provider has issued is revoked in any case.
    let end = try fixture.app.call("account.forget", ["provider": "issued"])
    #expect(end["revoked"] == "done", "\(end.text)")
  }

  @Test("with message signing the request is signed and pushed, and the answer is signed")
  func messageSigning() throws {
    try fixture.set(["requireSignedRequests": true])
    let flow = try fixture.app.startFlow("signing")
    let back = try #require(try Person.decide(at: flow.url).location)
    #expect(back.contains("response=") && !back.contains("code="))
    #expect(try Web.get(back).status == 200)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    let message = try refusal(["signedResponse": ["omit": true]], at: "signing")
    #expect(message.contains("not signed"), "\(message)")
  }

  @Test("the same client without the setting signs in at a FAPI 2.0 provider")
  func automatic() throws {
    let flow = try fixture.app.startFlow("plain")
    #expect(flow.url.contains("request_uri="))
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.token(["provider": "plain"])["tokenType"] == "DPoP")
    // A client that does not authenticate itself is refused by the provider.
    let other = try fixture.app.startFlow("demo")
    #expect(other.failure["provider"]?["code"] == "invalid_client", "\(other.text)")
  }

  @Test("the profile demands what the provider's metadata does not, and the setting alone does so")
  func demanded() throws {
    let unnamed = try refusal([
      "discovery": ["authorization_response_iss_parameter_supported": nil],
      "authorizeResponse": ["iss": nil],
    ])
    #expect(unnamed.contains("does not say which issuer"), "\(unnamed)")
    #expect(unnamed.contains("profile fapi2"), "\(unnamed)")
    #expect(try fixture.app.signIn("plain")["status"] == "succeeded")
    let algorithm = try refusal([
      "discovery": ["id_token_signing_alg_values_supported": ["RS256", "PS256"]],
      "authorizeResponse": [:], "idToken": ["alg": "RS256"],
    ])
    #expect(algorithm.contains("alg RS256 is not accepted: expected PS256"), "\(algorithm)")
    #expect(algorithm.contains("profile fapi2"), "\(algorithm)")
    let bearer = try refusal(["tokenReply": ["token_type": "Bearer"], "idToken": [:]])
    #expect(bearer.contains("token_type is not DPoP"), "\(bearer)")
  }

  @Test("a provider that is none of FAPI 2.0 is refused, and provider check names the rule")
  func otherProvider() throws {
    let good = try fixture.daemon.usherctl(["provider", "check", "bank"])
    #expect(good.status == 0, "\(good)")
    let message = try refusal(["fapi2": false])
    #expect(message.contains("token_endpoint_auth_methods_supported"), "\(message)")
    let bad = try fixture.daemon.usherctl(["provider", "check", "bank"])
    #expect(bad.status != 0 && bad.output.contains("FAPI 2.0 Security Profile §"), "\(bad)")
    #expect(try fixture.requests("par") == 0)
    // Metadata that a sign-in refuses is found before anybody signs in.
    try fixture.set([
      "fapi2": true, "discovery": ["pushed_authorization_request_endpoint": nil],
    ])
    let missing = try fixture.daemon.usherctl(["provider", "check", "bank"])
    #expect(missing.output.contains("pushed_authorization_request_endpoint"), "\(missing)")
  }

  @Test("the flow device is refused, and backchannel signs in with a binding message only")
  func otherFlows() throws {
    func start(_ kind: String, _ params: JSONValue) -> JSONValue {
      ["provider": "bank", "kind": .string(kind), "params": params]
    }
    let device = try fixture.app.error(of: "flow.start", start("device", [:]))
    #expect(device.data["reason"] == "permission_denied" && device.text.contains("profile fapi2"))
    let silent = try fixture.app.error(
      of: "flow.start", start("backchannel", ["loginHint": "alice"]))
    #expect(silent.data["field"] == "params.bindingMessage")
    var flow = try fixture.app.flow(
      in: fixture.app.call(
        "flow.start", start("backchannel", ["loginHint": "alice", "bindingMessage": "W4SCT"])))
    try eventually("the provider has asked the person") {
      flow = try fixture.flow(flow)
      return flow["state"] == "authorization_pending"
    }
    try fixture.sandbox.control("POST", "backchannel", ["user": "alice", "allow": true])
    let end = try fixture.app.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.token(["provider": "bank"])["tokenType"] == "DPoP")
  }

  @Test("usherctl config check names the settings that contradict the profile")
  func configuration() throws {
    let place = try TemporaryDirectory()
    try place.write(
      fixture.sandbox.provider(more: "profile = \"fapi2\"\npushed_requests = \"never\""),
      to: "usherd.toml")
    let check = try fixture.daemon.usherctl(["config", "check", place.file("usherd.toml")])
    #expect(check.status == 1)
    for (key, demand) in [
      ("client_auth", "private_key_jwt"), ("dpop", "true"), ("pushed_requests", "auto or always"),
    ] {
      #expect(check.errors.contains("provider[0].\(key): must be \(demand)"), "\(check.errors)")
    }
  }
}
