import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Freedom ID in mode oidc")
struct FreedomOIDCTests {
  private static func provider(pkce: Bool = false) throws -> ProviderConfig {
    try Freedom.provider {
      $0.mode = .oidc
      $0.pkce = pkce
    }
  }

  /// Metadata of discovery, with the provider's own two endpoints.
  private static let found = UsherFlowsTests.metadata {
    $0.issuer = "https://passport.freedompay.kz"
    $0.authorizationEndpoint = "https://passport.freedompay.kz/openid"
    $0.tokenEndpoint = "https://passport.freedompay.kz/api/v1/oidc/token"
  }

  private func render(_ call: any ProviderCall, pkce: Bool = false) throws -> HTTPRequest {
    try call.rendered(
      at: try Self.provider(pkce: pkce), credential: Secret("s3cret-client"))
  }

  private func body(_ request: HTTPRequest) throws -> JSONValue? {
    try request.body.map { try JSONValue(parsing: $0.revealed()) }
  }

  private let exchange = OIDCCall.exchange(
    .init(code: Secret("code-secret"), verifier: Secret("verifier"), redirectURI: "http://x/cb"),
    found)

  @Test("Freedom ID in mode oidc redeems a code in JSON with Basic and without a code_verifier")
  func redeemed() throws {
    let request = try render(exchange)
    #expect(request.method == .post)
    #expect(request.url == "https://passport.freedompay.kz/api/v1/oidc/token")
    #expect(
      try body(request) == [
        "grant_type": "authorization_code", "code": "code-secret", "redirect_uri": "http://x/cb",
      ])
    let headers = request.headers.map { "\($0.name): \($0.value.revealed())" }.sorted()
    #expect(
      headers == [
        "Accept: application/json", "Authorization: Basic YWNtZTpzM2NyZXQtY2xpZW50",
        "Content-Type: application/json",
      ])
    let echo = HTTPReply(
      status: 400, body: Array("{\"error\": \"code-secret s3cret-client\"}".utf8))
    let shown = String(decoding: echo.withoutEchoes(of: request).body, as: UTF8.self)
    #expect(!shown.contains("code-secret") && !shown.contains("s3cret-client"))
  }

  @Test("Freedom ID in mode oidc sends the code_verifier with PKCE, and an echo of it is removed")
  func verifier() throws {
    let request = try render(exchange, pkce: true)
    #expect(try body(request)?["code_verifier"] == "verifier")
    let echo = reply(["error": "verifier is wrong"], status: 400)
    #expect(echo.withoutEchoes(of: request).jsonObject == ["error": "… is wrong"])
  }

  @Test("Freedom ID in mode oidc refreshes tokens in JSON with Basic")
  func renewed() throws {
    let provider = try Self.provider()
    guard
      case .discovered(let dialect) = provider.definition.tokens(attributes: [:], installation: nil),
      let call = dialect(Self.found).renewal(Secret("refresh-secret"), scope: nil)
    else {
      Issue.record("the provider has no token dialect")
      return
    }
    let request = try render(call)
    #expect(
      try body(request) == ["grant_type": "refresh_token", "refresh_token": "refresh-secret"])
    #expect(request.headers.contains { $0.value == Secret("Basic YWNtZTpzM2NyZXQtY2xpZW50") })
    let echo = reply(["error": "refresh-secret is wrong"], status: 400)
    #expect(echo.withoutEchoes(of: request).jsonObject == ["error": "… is wrong"])
  }

  @Test("Freedom ID in mode oidc sends state and nonce, and a code_challenge only with PKCE")
  func page() throws {
    for pkce in [false, true] {
      var moment = UsherFlowsTests.moment()
      var (flow, answer) = try OIDCAuthorize.begin(
        .init(),
        FlowContext<OIDCSettings>(
          provider: try Provider(Self.provider(pkce: pkce))!, requestID: "req-1"),
        at: &moment)
      #expect(answer == .proceed([.discover]))
      _ = flow.receive(.discovered(.found(Self.found)), at: &moment)
      _ = flow.receive(.listening(redirectURI: "http://127.0.0.1:1/callback"), at: &moment)
      guard case .openURL(let step) = flow.view.step else {
        Issue.record("the flow shows no page")
        return
      }
      #expect(step.url.hasPrefix("https://passport.freedompay.kz/openid?"))
      #expect(step.redirectURI == "http://127.0.0.1:1/callback")
      let query = FormEncoding.decode(step.url.split(separator: "?")[1]) ?? []
      var names = [
        "client_id", "nonce", "redirect_uri", "response_type", "scope", "state",
      ]
      if pkce { names += ["code_challenge", "code_challenge_method"] }
      #expect(Set(query.map(\.name)) == Set(names))
      #expect(query.contains { $0 == ("scope", "openid") })
    }
  }

  @Test("Freedom ID in mode oidc has scopes and authorize, but no probe and no callback")
  func others() throws {
    let provider = try Self.provider()
    #expect(provider.definition.probe == nil)
    #expect(provider.definition.callback == nil)
    let varieties: [ProviderVariety] = [.freedomidOIDC, .freedomidOAuth2]
    #expect(varieties.map { ProviderRegistry.definition(of: $0).hasScopes } == [true, false])
    #expect(ProviderRegistry.signIn(of: .freedomidOIDC)?.kind == "authorize")
    #expect(ProviderRegistry.signIn(of: .freedomidOAuth2)?.namesAccount == true)
  }
}

@Suite("Probe of Freedom ID in mode device")
struct FreedomProbeTests {
  private func evaluate(_ outcome: CallOutcome) throws -> (fine: Bool, message: String) {
    let provider = try Freedom.provider { $0.mode = .device }
    let probe = try #require(provider.definition.probe)
    #expect(probe.call.name == "accounts" && probe.call.account == nil)
    return probe.evaluate(outcome)
  }

  @Test("the Freedom ID probe requests the accounts of an unknown device and judges the reply")
  func device() throws {
    #expect(try evaluate(Freedom.said(["accounts": []])).fine)
    #expect(try evaluate(Freedom.refusal(401, 100002)).fine)
    for outcome in [
      Freedom.refusal(401, 100001), Freedom.refusal(403, 100003), Freedom.refusal(404),
      Freedom.gone, .reply(reply([:], status: 500)), .reply(reply(text: "<html>")),
      .unreadable(message: "too large"),
    ] {
      let (fine, message) = try evaluate(outcome)
      #expect(!fine && !message.isEmpty)
    }
    #expect(try Freedom.provider().definition.probe == nil)
  }
}
