import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

@Suite("OIDC tokens by an assertion of another provider")
struct IdentityAssertionTests {
  private static let account = AccountID("acc_1")

  private static func app(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> ProviderConfig {
    try provider {
      $0.identityAssertion.provider = ProviderName("corp")
      $0.identityAssertion.resource = "https://mcp.example"
      change(&$0)
    }
  }

  private static func settings(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> OIDCSettings {
    try #require(Provider<OIDCSettings>(try app(change))).settings
  }

  private func fields(_ request: HTTPRequest) -> [String: String] {
    let fields = FormEncoding.decode(request.body?.revealed() ?? "") ?? []
    return Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
  }

  @Test(
    "the identity provider is asked for an assertion for the provider, its resource and the scope")
  func request() throws {
    let call = OIDCCall.jwtBearer(
      .init(subject: "ada", scope: "a b", identity: Self.account), metadata())
    let request = try #require(call.identityAssertion(try Self.settings()))
    #expect(request.account == Self.account && request.provider == ProviderName("corp"))
    #expect(request.audience == issuer && request.scope == "a b")
    #expect(request.resource == "https://mcp.example")
    let other = OIDCCall.jwtBearer(
      .init(subject: "ada", scope: "", audience: "https://api.example", identity: Self.account),
      metadata())
    let named = try #require(
      other.identityAssertion(try Self.settings { $0.identityAssertion.audience = "urn:app" }))
    #expect(named.resource == "https://api.example" && named.scope == nil)
    #expect(named.audience == "urn:app")
    #expect(
      OIDCCall.jwtBearer(.init(subject: "ada", scope: ""), metadata())
        .identityAssertion(try Self.settings()) == nil)
  }

  @Test("the exchange has the ID token, and the types, audience and resource of the draft")
  func exchange() throws {
    let call = OIDCCall.exchange(
      ofIDToken: Secret("id-secret"),
      for: .init(
        account: Self.account, provider: ProviderName("corp"), audience: "https://as.example",
        resource: "https://mcp.example", scope: "a"), metadata())
    let form = fields(try call.rendered(at: try provider { _ in }))
    #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
    #expect(form["subject_token"] == "id-secret")
    #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
    #expect(form["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag")
    #expect(form["audience"] == "https://as.example" && form["scope"] == "a")
    #expect(form["resource"] == "https://mcp.example")
  }

  @Test("tokens are renewed by assertions only while the configuration names the provider")
  func renewal() throws {
    func dialect(_ config: ProviderConfig) throws -> OIDCTokens {
      OIDCTokens(provider: try #require(Provider<OIDCSettings>(config)), metadata: metadata())
    }
    #expect(
      try dialect(Self.app()).identityToken(Self.account, subject: "ada", scope: "", audience: nil)
        != nil)
    #expect(
      try dialect(provider { _ in }).identityToken(
        Self.account, subject: "ada", scope: "", audience: nil) == nil)
  }

  @Test(
    "the flow is refused without the section, and without an account that the daemon has checked")
  func notPermitted() throws {
    var moment = UsherFlowsTests.moment()
    for (config, identity) in [
      (try provider { _ in }, KnownAccount(id: Self.account, subject: "ada")),
      (try Self.app(), nil),
    ] {
      var context = FlowContext<OIDCSettings>(
        provider: try #require(Provider<OIDCSettings>(config)), requestID: "req-1")
      context.identity = identity
      let error = #expect(throws: UsherError.self) {
        try OIDCIdentityAssertionGrant.begin(.init(), context, at: &moment)
      }
      #expect(error?.reason == .permissionDenied)
    }
  }

  @Test(
    "the flow ends with an account of the person that names the other account, without an ID token")
  func granted() throws {
    var moment = UsherFlowsTests.moment()
    var context = FlowContext<OIDCSettings>(
      provider: try #require(Provider<OIDCSettings>(try Self.app())), requestID: "req-1")
    context.identity = KnownAccount(id: Self.account, subject: "ada")
    var (flow, _) = try OIDCIdentityAssertionGrant.begin(
      .init(scope: " a  b "), context, at: &moment)
    let call = OIDCCall.jwtBearer(
      .init(subject: "ada", scope: "a b", identity: Self.account), metadata())
    #expect(flow.receive(.discovered(.found(metadata())), at: &moment) == .proceed([.call(call)]))
    let end = flow.receive(.called(call, .reply(tokenReply())), at: &moment)
    let grant = try #require(OIDCIdentityAssertionGrant.completion(in: end)?.grant)
    #expect(grant.subject == "ada" && grant.isOfClient && grant.identity == Self.account)
    #expect(grant.attributes == ["grant": "identity_assertion"])
    #expect(grant.tokens?.refreshToken == nil && grant.idToken == nil)
    #expect(grant.signInOptions?.kind == "identityAssertion")
  }

  @Test("every state of the flow by an identity assertion fulfils the flow contract")
  func contract() throws {
    var moment = UsherFlowsTests.moment()
    var context = FlowContext<OIDCSettings>(
      provider: try #require(Provider<OIDCSettings>(try Self.app())), requestID: "req-1")
    context.identity = KnownAccount(id: Self.account, subject: "ada")
    var (flow, _) = try OIDCIdentityAssertionGrant.begin(.init(scope: "a"), context, at: &moment)
    let foreign: [FlowEvent<OIDCCall>] = [
      .listening(redirectURI: "http://127.0.0.1:1/callback"), .input(.denied),
      .idTokenVerified(.refused(message: "bad")),
    ]
    var flows = [DrivenFlow("discovering", flow, unrelatedEvents: foreign + [.woken])]
    _ = flow.receive(.discovered(.found(metadata())), at: &moment)
    flows.append(
      DrivenFlow(
        "requesting", flow, unrelatedEvents: foreign + [.woken, .discovered(.found(metadata()))]))
    let call = OIDCCall.jwtBearer(
      .init(subject: "ada", scope: "a", identity: Self.account), metadata())
    _ = flow.receive(.called(call, .unreachable(message: "gone", sent: true)), at: &moment)
    flows.append(DrivenFlow("paused", flow, unrelatedEvents: foreign))
    #expect(checkProviderContract(flows, secrets: ["access-secret"], at: moment) == [])
    try checkStoredForms(flows)
  }
}
