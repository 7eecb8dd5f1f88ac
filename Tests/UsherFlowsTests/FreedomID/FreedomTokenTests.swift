import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Freedom ID tokens")
struct FreedomTokenTests {
  private func dialect(_ mode: FreedomIDMode) throws -> any TokenDialect {
    let provider = try Freedom.provider {
      $0.mode = mode
      $0.apiKeyCredential = "freedom-api-key"
    }
    switch provider.definition.tokens(attributes: [:], installation: nil) {
    case .known(let dialect): return dialect
    case .discovered(let dialect): return dialect(metadata())
    }
  }

  private func read(
    _ outcome: CallOutcome, _ mode: FreedomIDMode = .oauth2, previous: TokenSet? = nil
  ) throws -> TokenReply? {
    guard case .reply(let reply) = outcome else { return nil }
    let request = TokenRequest(provider: Freedom.name, scope: "read.phone", previous: previous)
    return try dialect(mode).read(reply, to: request, at: now)
  }

  @Test("Freedom ID tokens are refreshed by PATCH at the mode's endpoint, with the token as Bearer")
  func renewal() throws {
    for (mode, path) in [
      (FreedomIDMode.oauth2, "/api/v1/oauth/token"), (.device, "/api/v1/device/token"),
    ] {
      let dialect = try dialect(mode)
      #expect(!dialect.isPublicClient)
      let call = try #require(dialect.renewal(Secret("refresh-secret"), scope: nil))
      let request = try call.rendered(
        at: try Freedom.provider(), credential: Secret("secret"))
      #expect(request.method == .patch && request.body == nil)
      #expect(request.url == "https://passport.freedompay.kz" + path)
      let shown = request.headers.filter { $0.name == "Authorization" }.map(\.value)
      #expect(shown == [Secret("Bearer refresh-secret")])
    }
  }

  @Test("a Freedom ID token reply has absolute expiry times, and in mode oauth2 a token id")
  func granted() throws {
    for (mode, attributes) in [
      (FreedomIDMode.oauth2, ["tokenIdHash": FreedomTokenID.hash(of: "token-id-1")]),
      (.device, nil),
    ] as [(FreedomIDMode, [String: String]?)] {
      // The relative time that OpenID providers send is ignored (contract §10, trap 11).
      let reply = Freedom.said(Freedom.tokens(["expires_in": 1]))
      guard case .granted(let tokens)? = try read(reply, mode) else {
        Issue.record("the reply grants no tokens")
        continue
      }
      #expect(tokens.accessToken.unsealed() == Secret("access-secret"))
      #expect(tokens.tokenType == "Bearer" && tokens.scope == "read.phone")
      #expect(tokens.expiresAt == Timestamp(rfc3339: "2027-01-22T08:00:00.123Z"))
      #expect(tokens.refreshToken?.unsealed() == Secret("refresh-secret"))
      #expect(tokens.refreshExpiresAt == Timestamp(rfc3339: "2027-02-12T08:00:00.123Z"))
      #expect(tokens.attributes == attributes)
    }
  }

  @Test("a Freedom ID token reply without an absolute expiry leaves the expiry unknown")
  func endless() throws {
    let reply = Freedom.said(Freedom.tokens(["expires_in": 604_800, "access_expire_at": nil]))
    guard case .granted(let tokens)? = try read(reply) else {
      Issue.record("the reply grants no tokens")
      return
    }
    #expect(tokens.expiresAt == nil)
  }

  @Test("a Freedom ID refresh without a new refresh token keeps the old one, and its known expiry")
  func kept() throws {
    let end = now + .seconds(100)
    let previous = TokenSet(
      accessToken: Sealed(Secret("a")), tokenType: "Bearer", expiresAt: nil, scope: "",
      refreshToken: Sealed(Secret("old")), refreshExpiresAt: end)
    for (changes, kept) in [
      (["refresh_token": nil], Timestamp(rfc3339: "2027-02-12T08:00:00.123Z")),
      (["refresh_token": nil, "refresh_expire_at": nil], end),
    ] as [([String: JSONValue?], Timestamp?)] {
      let outcome = Freedom.said(Freedom.tokens(changes))
      guard case .granted(let tokens)? = try read(outcome, previous: previous) else {
        Issue.record("the reply grants no tokens")
        continue
      }
      #expect(tokens.refreshToken?.unsealed() == Secret("old") && tokens.refreshExpiresAt == kept)
    }
    let rotated = Freedom.said(Freedom.tokens(["refresh_expire_at": nil]))
    guard case .granted(let tokens)? = try read(rotated, previous: previous) else {
      Issue.record("the reply grants no tokens")
      return
    }
    #expect(tokens.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(tokens.refreshExpiresAt == nil)
  }

  @Test("a refused Freedom ID refresh token is dead unless the client or the request was refused")
  func refused() throws {
    for (status, code, isDead) in [
      (401, 100004, true), (200, 100004, true), (401, nil, true), (403, 100301, true),
      (422, 100101, true), (423, 100204, true), (401, 100001, false), (403, 100003, false),
    ] as [(Int, Int?, Bool)] {
      switch try read(Freedom.refusal(status, code)) {
      case .dead(let word): #expect(isDead && word.name == Freedom.name)
      case .misconfigured: #expect(!isDead)
      case .granted, .rejected, .retry, .unreadable, nil: Issue.record("\(status) is no refusal")
      }
    }
    let wrong = Freedom.said(["error": ["errors": ["token": ["x"]]]], status: 422)
    for outcome in [wrong, Freedom.refusal(404, nil), Freedom.refusal(404, 7)] {
      guard case .rejected? = try read(outcome) else {
        Issue.record("the reply is not read as a rejection")
        continue
      }
    }
    // Such a reply may come from a proxy, so the grant may still be valid.
    for outcome in [reply([:], status: 404), reply(text: "<html>", status: 403)] {
      guard case .retry? = try read(.reply(outcome)) else {
        Issue.record("the reply must not end the grant")
        continue
      }
    }
  }

  @Test(
    "a Freedom ID refresh is retried if the provider is unavailable, but an odd reply is refused")
  func others() throws {
    for status in [408, 429, 500, 503] {
      let reply = reply([:], status: status, headers: ["retry-after": "7"])
      #expect(
        try read(.reply(reply))
          == .retry(message: "the provider answers HTTP \(status)", after: .seconds(7)))
    }
    for json in [
      [:], ["access_token": nil], ["access_token": "a", "access_expire_at": 604_800],
      ["access_token": "a", "access_expire_at": "tomorrow"],
    ] as [JSONValue] {
      guard case .unreadable? = try read(Freedom.said(json)) else {
        Issue.record("read: \(json)")
        continue
      }
    }
  }

  @Test("Freedom ID tokens are revoked only in mode device, by unlinking the account")
  func revocation() throws {
    #expect(
      try dialect(.oauth2).revocation(Secret("t"), .refreshToken, bearer: nil) == nil)
    let dialect = try dialect(.device)
    let call = try #require(dialect.revocation(Secret("t"), .refreshToken, bearer: nil))
    #expect(call as? FreedomDeviceCall == .untying(Secret("t")))
    #expect(dialect.hasRevoked(HTTPReply(status: 204)))
    for (outcome, isBack) in [
      (Freedom.refusal(401, 100004), true), (Freedom.refusal(401, 100001), false),
      (Freedom.refusal(200, 100777), false), (Freedom.refusal(503), false),
    ] {
      guard case .reply(let reply) = outcome else { continue }
      #expect(dialect.hasRevoked(reply) == isBack)
    }
  }
}
