import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

@Suite("OAuth 2.0 servers without discovery and ID tokens")
struct OAuth2Tests {
  private func oidc(_ provider: ProviderConfig) throws -> OIDCSettings {
    try #require(Provider<OIDCSettings>(provider)).settings
  }

  private func metadata(_ provider: ProviderConfig) throws -> OIDCMetadata {
    try #require(OIDCMetadata(configured: oidc(provider)))
  }

  private func tokens(
    _ members: JSONValue, from provider: ProviderConfig, status: Int = 200
  ) throws -> TokenReply {
    let request = TokenRequest(try #require(Provider<OIDCSettings>(provider)), scope: "a b")
    return TokenReply(reply(members, status: status), to: request, at: now)
  }

  private func dialect(_ provider: ProviderConfig) throws -> any TokenDialect {
    guard
      case .discovered(let dialect) = provider.definition.tokens(attributes: [:], installation: nil)
    else { throw UnusableReply("the provider has no token dialect") }
    return dialect(try metadata(provider))
  }

  // MARK: Flows

  @Test(
    "the authorization request has the caller's scope as it is, and neither nonce nor openid",
    arguments: [
      (.space, "repo gist", "repo gist"),
      (.comma, "repo gist", "repo,gist"), (.space, nil, "user"),
    ] as [(OAuth2ScopeSeparator, String?, String)])
  func authorize(separator: OAuth2ScopeSeparator, scope: String?, sent: String) throws {
    let provider = try oauth2Provider {
      $0.scopes = ["user"]
      $0.scopeSeparator = separator
    }
    var driven = try DrivenAuthorize(provider: provider, .init(scope: scope))
    driven.toBrowser(try metadata(provider))
    #expect(driven.query["scope"] == sent)
    #expect(driven.query["nonce"] == nil)
    #expect(driven.query["code_challenge_method"] == "S256")
    #expect(driven.step?.url.hasPrefix("https://a.example/authorize?") == true)
  }

  @Test("without a scope the authorization request has no parameter scope")
  func noScope() throws {
    let provider = try oauth2Provider()
    var driven = try DrivenAuthorize(provider: provider)
    driven.toBrowser(try metadata(provider))
    #expect(driven.query["scope"] == nil)
  }

  @Test("a sign-in without an ID token ends with the user whom the userinfo endpoint names")
  func signIn() throws {
    let provider = try oauth2Provider()
    var driven = try DrivenAuthorize(provider: provider)
    driven.toExchange(try metadata(provider))
    let exchange = try #require(driven.calls.first)
    driven.receive(
      .called(
        exchange,
        .reply(reply(["access_token": "t", "token_type": "bearer", "scope": "repo,gist"]))))
    #expect(driven.flow.view.state == "userinfo")
    let userinfo = try #require(driven.calls.first)
    driven.receive(
      .called(
        userinfo,
        .reply(reply(["id": 583_231, "name": "Ada", "sub": "x", "data": ["login": "ada"]]))))
    let grant = try #require(driven.completion?.grant)
    #expect(grant.subject == "583231")
    #expect(grant.profile == ["name": "Ada", "preferred_username": "ada"])
    #expect(grant.tokens?.scope == "repo gist")
    #expect(grant.tokens?.expiresAt == nil)
    #expect(grant.idToken == nil)
  }

  @Test("an ID token of a server of type oauth2 is not used, because nothing verifies it")
  func idTokenIsIgnored() throws {
    let members: JSONValue = [
      "access_token": "t", "token_type": "bearer", "id_token": .string(idToken.revealed()),
    ]
    guard case .granted(let tokens) = try tokens(members, from: oauth2Provider()) else {
      Issue.record("the tokens were refused")
      return
    }
    #expect(tokens.idToken == nil)
  }

  @Test(
    "iss in a redirect is compared with the issuer if one is configured",
    arguments: [
      (nil, "https://other.example", true), ("https://a.example/id", "https://a.example/id", true),
      ("https://a.example/id", "https://other.example", false),
      ("https://a.example/id", "https://a.example", false),
    ] as [(String?, String, Bool)])
  func redirectIssuer(configured: String?, sent: String, isAccepted: Bool) throws {
    let provider = try oauth2Provider { settings in
      settings.issuer = try configured.map { try ProviderURL(setting: $0) }
    }
    var driven = try DrivenAuthorize(provider: provider)
    driven.toBrowser(try metadata(provider))
    driven.receive(
      .redirected(AuthorizationResponse(code: Secret("code-secret"), iss: sent)))
    #expect((driven.failure == nil) == isAccepted)
  }

  @Test("the redirect URI with the host localhost is expected at the loopback address")
  func localhost() throws {
    let provider = try oauth2Provider { $0.redirect = .localhost }
    var driven = try DrivenAuthorize(provider: provider)
    driven.receive(.discovered(.found(try metadata(provider))))
    guard case .proceed(let effects) = driven.last,
      case .listen(let expectation)? = effects.first
    else {
      Issue.record("the flow does not listen: \(driven.last)")
      return
    }
    #expect(expectation.host == "127.0.0.1" && expectation.isLocalhost)
    #expect(expectation.port == nil)
  }

  // MARK: Replies

  @Test(
    "only the configured token types are accepted, and the account's tokens have the type Bearer",
    arguments: [
      ("user", ["user"], "Bearer"), ("USER", ["User"], "Bearer"), ("bot", ["user"], nil),
      ("bearer", ["user", "bearer"], "bearer"), ("bearer", ["user"], nil),
      ("mac", ["bearer"], nil),
    ] as [(String, [String], String?)])
  func tokenType(sent: String, configured: [String], kept: String?) throws {
    let answer = try tokens(
      ["access_token": "t", "token_type": .string(sent)],
      from: oauth2Provider { $0.tokenTypes = configured })
    if case .granted(let tokens) = answer {
      #expect(tokens.tokenType == kept)
    } else {
      #expect(kept == nil)
    }
  }

  @Test("a configured error of the token endpoint ends the grant, also with status 200 or 403")
  func endedGrant() throws {
    let provider = try oauth2Provider { $0.grantEndedErrors = ["bad_refresh_token"] }
    for status in [200, 403] {
      let answer = try tokens(["error": "bad_refresh_token"], from: provider, status: status)
      #expect(answer == .dead(word("bad_refresh_token")))
    }
    let other = try tokens(["error": "bad_refresh_token"], from: oauth2Provider())
    #expect(other == .rejected(word("bad_refresh_token")))
  }

  @Test("the lifetime of a refresh token is read under the name that GitHub gives it")
  func refreshLifetime() throws {
    let answer = try tokens(
      [
        "access_token": "t", "token_type": "bearer", "refresh_token": "r",
        "refresh_token_expires_in": 600,
      ], from: oauth2Provider())
    guard case .granted(let tokens) = answer else {
      Issue.record("the tokens were refused: \(answer)")
      return
    }
    #expect(tokens.refreshExpiresAt == now + .seconds(600))
  }

  @Test(
    "a token reply in the form of a form is read, unless a member occurs twice",
    arguments: [
      ("access_token=t%2B1&scope=repo%2Cgist&token_type=bearer", "t+1"),
      ("access_token=t&access_token=u&token_type=bearer", nil),
      ("access_token=%ZZ&token_type=bearer", nil), ("", nil),
    ] as [(String, String?)])
  func form(body: String, token: String?) throws {
    let request = TokenRequest(try #require(Provider<OIDCSettings>(oauth2Provider())), scope: "")
    let answer = TokenReply(
      reply(
        text: body, headers: ["content-type": "application/x-www-form-urlencoded; charset=utf-8"]),
      to: request, at: now)
    if case .granted(let tokens) = answer {
      #expect(tokens.accessToken.unsealed().revealed() == token)
      #expect(tokens.scope == "repo gist")
    } else {
      #expect(token == nil)
    }
  }

  @Test("an error in the form of a form with status 200 is an error")
  func formError() throws {
    let request = TokenRequest(try #require(Provider<OIDCSettings>(oauth2Provider())), scope: "")
    let answer = TokenReply(
      reply(
        text: "error=redirect_uri_mismatch&error_description=No+match",
        headers: ["content-type": "application/x-www-form-urlencoded"]),
      to: request, at: now)
    #expect(answer == .rejected(word("redirect_uri_mismatch", "No match")))
  }

  @Test(
    "a userinfo reply without a usable subject is refused, and names the server's error",
    arguments: [
      ([:], "the userinfo endpoint's answer has no id"),
      (["id": 1.5], "the userinfo endpoint's answer has no id"),
      (["id": true], "the userinfo endpoint's answer has no id"),
      (["sub": "u-1"], "the userinfo endpoint's answer has no id"),
      (
        ["ok": false, "error": "invalid_auth"],
        "the userinfo endpoint answers with the error invalid_auth"
      ),
    ] as [(JSONValue, String)])
  func noSubject(body: JSONValue, message: String) throws {
    let members = try oidc(oauth2Provider()).oauth2?.userinfo
    #expect(
      UserinfoReply(reply(body), subject: nil, members: members) == .unusable(message: message))
  }

  // MARK: Revocation

  private static let token = Secret("gho_16C7e42F292c")

  @Test("a token is revoked at GitHub by DELETE with the client's secret, and nothing shows it")
  func github() throws {
    let provider = try oauth2Provider { $0.revocationRequest = .github }
    let dialect = try dialect(provider)
    #expect(dialect.revocation(Secret("r"), .refreshToken, bearer: nil) == nil)
    let call = try #require(dialect.revocation(Self.token, .accessToken, bearer: nil))
    let request = try call.rendered(at: provider, credential: Secret("s3cret"))
    #expect(request.method == .delete)
    #expect(request.url == "https://a.example/apps/usher/token")
    #expect(request.body?.revealed() == "{\"access_token\":\"gho_16C7e42F292c\"}")
    #expect(
      request.headers.contains {
        $0.name == "Authorization" && $0.value.revealed() == "Basic dXNoZXI6czNjcmV0"
      })
    let echo = reply(text: "no gho_16C7e42F292c", status: 404).withoutEchoes(of: request)
    #expect(!String(decoding: echo.body, as: UTF8.self).contains("gho_16C7e42F292c"))
    #expect(dialect.hasRevoked(reply(text: "", status: 204)))
    #expect(!dialect.hasRevoked(reply(text: "", status: 404)))
  }

  @Test("a public client cannot revoke a token at GitHub")
  func githubPublic() throws {
    let provider = try oauth2Provider {
      $0.revocationRequest = .github
      $0.clientCredential = nil
    }
    let dialect = try dialect(provider)
    #expect(dialect.revocation(Self.token, .accessToken, bearer: nil) == nil)
  }

  @Test(
    "a token is revoked at Slack with the token itself, and a 200 counts only if it says so",
    arguments: [
      (["ok": true, "revoked": true], true), (["ok": false, "error": "token_revoked"], true),
      (["ok": false, "error": "ratelimited"], false), ([:], false),
    ] as [(JSONValue, Bool)])
  func slack(body: JSONValue, isRevoked: Bool) throws {
    let provider = try oauth2Provider { $0.revocationRequest = .slack }
    let dialect = try dialect(provider)
    #expect(dialect.revocation(Secret("r"), .refreshToken, bearer: nil) == nil)
    let call = try #require(dialect.revocation(Secret("xoxp-1"), .accessToken, bearer: nil))
    let request = try call.rendered(at: provider, credential: Secret("s3cret"))
    #expect(request.method == .post)
    #expect(request.body?.revealed() == "")
    let headers = request.headers.map { "\($0.name): \($0.value.revealed())" }
    #expect(headers.contains("Authorization: Bearer xoxp-1"))
    #expect(dialect.hasRevoked(reply(body)) == isRevoked)
  }

  // MARK: Requests

  @Test("the client secret is sent in the form, and by Basic only after a refusal")
  func clientSecret() throws {
    let provider = try oauth2Provider()
    let call = OIDCCall.refresh(Secret("r"), scope: nil, try metadata(provider))
    let request = try call.rendered(at: provider, credential: Secret("s3cret"))
    #expect(
      request.body?.revealed()
        == "grant_type=refresh_token&refresh_token=r&client_id=usher&client_secret=s3cret")
  }

  @Test("token requests are JSON if the settings say so, with every member a text")
  func json() throws {
    let provider = try oauth2Provider { $0.tokenRequest = .json }
    let call = OIDCCall.refresh(Secret("r"), scope: nil, try metadata(provider))
    let request = try call.rendered(at: provider, credential: Secret("s3cret"))
    let body = try JSONValue(parsing: try #require(request.body).revealed())
    #expect(
      body == [
        "grant_type": "refresh_token", "refresh_token": "r", "client_id": "usher",
        "client_secret": "s3cret",
      ])
  }

  @Test("a device code is requested with the scope in the server's spelling, or without one")
  func device() throws {
    let provider = try oauth2Provider { $0.scopeSeparator = .comma }
    for (scope, sent) in [("a b", "scope=a%2Cb&client_id=usher"), ("", "client_id=usher")] {
      let call = OIDCCall.deviceAuthorization(scope: scope, try metadata(provider))
      let request = try call.rendered(at: provider, credential: Secret("s3cret"))
      #expect(request.body?.revealed() == sent + "&client_secret=s3cret")
    }
  }

  // MARK: The contract of the flows

  @Test("every state of the flows at a server of type oauth2 fulfils the flow contract")
  func contract() throws {
    let provider = try oauth2Provider()
    let metadata = try metadata(provider)
    var flows: [DrivenFlow<OIDCAuthorize>] = []
    var driven = try DrivenAuthorize(provider: provider)
    let foreign: [FlowEvent<OIDCCall>] = [
      .input(.denied), .idTokenVerified(.refused(message: "bad")),
      .called(.jwks(url: issuer), .reply(reply([:]))),
    ]
    flows.append(.init("discovering", driven.flow, unrelatedEvents: foreign + [.woken]))
    driven.toBrowser(metadata)
    flows.append(.init("authorizing", driven.flow, unrelatedEvents: foreign + [.woken]))
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    flows.append(.init("exchanging", driven.flow, unrelatedEvents: foreign + [.woken]))
    let exchange = try #require(driven.calls.first)
    driven.receive(.called(exchange, .reply(tokenReply())))
    #expect(driven.flow.view.state == "userinfo")
    flows.append(.init("userinfo", driven.flow, unrelatedEvents: foreign + [.woken]))
    let secrets = ["access-secret", "refresh-secret", "code-secret"]
    #expect(checkProviderContract(flows, secrets: secrets, at: moment()) == [])
    try checkStoredForms(flows, variant: "-oauth2")
  }
}
