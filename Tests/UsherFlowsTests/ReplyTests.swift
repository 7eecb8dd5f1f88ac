import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Token replies")
struct TokenReplyTests {
  private func read(_ reply: HTTPReply, previous: TokenSet? = nil) -> TokenReply {
    TokenReply(
      reply, to: TokenRequest(provider: name, scope: "openid", previous: previous), at: now)
  }

  private func granted(_ reply: HTTPReply, previous: TokenSet? = nil) -> TokenSet? {
    if case .granted(let tokens) = read(reply, previous: previous) { tokens } else { nil }
  }

  @Test("a token reply grants the tokens with their type, expiry and scope")
  func grants() throws {
    let tokens = try #require(granted(tokenReply(["scope": "openid email"])))
    #expect(tokens.accessToken.unsealed() == Secret("access-secret"))
    #expect(tokens.tokenType == "bearer")
    #expect(tokens.expiresAt == now + .seconds(300))
    #expect(tokens.scope == "openid email")
    #expect(tokens.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(tokens.idToken?.unsealed() == idToken)
  }

  @Test(
    "expires_in of a token reply is read as a number or a string and is limited to ten years",
    arguments: [
      (300, 300), (299.9, 299), ("300", 300), ("12.5", 12), (0, 0), (-5, 0), ("-5", 0),
      (1e300, 315_360_000), (9_223_372_036_854_775_807, 315_360_000), (nil, nil), ("", nil),
      ("soon", nil), ("nan", nil), ("inf", nil), (true, nil), ([1], nil),
    ] as [(JSONValue, Int?)])
  func expiresIn(value: JSONValue, seconds: Int?) throws {
    let tokens = try #require(granted(tokenReply(["expires_in": value])))
    #expect(tokens.expiresAt == seconds.map { now + .seconds($0) })
  }

  @Test(
    "the lifetime of tokens counts from their request, or from now if the clock was set back",
    arguments: [(-14, -14), (0, 0), (60, 0)])
  func lateReply(requestedAfter: Int, issuedAfter: Int) throws {
    var reply = tokenReply(["refresh_expires_in": 600])
    reply.requestedAt = now + .seconds(requestedAfter)
    let tokens = try #require(granted(reply))
    #expect(tokens.expiresAt == now + .seconds(issuedAfter + 300))
    #expect(tokens.refreshExpiresAt == now + .seconds(issuedAfter + 600))
  }

  @Test("a token reply without expires_in grants tokens with an unknown expiry")
  func noExpiry() throws {
    #expect(try #require(granted(tokenReply(["expires_in": .some(nil)]))).expiresAt == nil)
    #expect(try #require(granted(tokenReply(["expires_in": nil]))).expiresAt == nil)
  }

  @Test(
    "a token reply that names no scope grants the requested scope",
    arguments: [
      (nil, "openid"), ("", "openid"), ("a b", "a b"), (["a", "b"], "a b"), ([], "openid"),
      (5, "openid"), ("a\u{1B}b", "ab"),
    ] as [(JSONValue, String)])
  func scope(value: JSONValue, scope: String) throws {
    #expect(try #require(granted(tokenReply(["scope": value]))).scope == scope)
  }

  @Test("a token reply without a refresh token keeps the previous refresh token and ID token")
  func rotation() throws {
    let old = try #require(tokens())
    let kept = granted(
      tokenReply(["refresh_token": .some(nil), "id_token": .some(nil)]), previous: old)
    #expect(kept?.refreshToken == old.refreshToken)
    #expect(kept?.idToken == old.idToken)
    let rotated = granted(tokenReply(["refresh_token": "new"]), previous: old)
    #expect(rotated?.refreshToken?.unsealed() == Secret("new"))
    let empty = granted(tokenReply(["refresh_token": ""]), previous: old)
    #expect(empty?.refreshToken == old.refreshToken)
  }

  @Test(
    "a token reply with another token_type than Bearer or a malformed access_token is unreadable",
    arguments: [
      ("token_type", "DPoP"), ("token_type", "mac"), ("token_type", nil), ("token_type", 5),
      ("access_token", nil), ("access_token", ""), ("access_token", 5),
      ("access_token", "a\r\nX-Evil: 1"), ("access_token", "a b"), ("access_token", "ü"),
    ] as [(String, JSONValue)])
  func unusable(member: String, value: JSONValue) {
    guard case .unreadable = read(tokenReply([member: value])) else {
      Issue.record("the reply is not unreadable")
      return
    }
  }

  @Test(
    "the error about a token_type other than Bearer names the type, but never a secret",
    arguments: [
      ("DPoP", "found DPoP"), ("N_A", "found N_A"), (5, "found 5"), (nil, "found null"),
      ("access-secret", "found a text of 13 characters"),
      ("c3VwZXJzZWNyZXQx", "found a text of 16 characters"),
      ("m\u{1B}[31mac", "found a text of 8 characters"), ("", "found nothing"),
      ([1], "found an array"),
    ] as [(JSONValue, String)])
  func tokenType(found: JSONValue, said: String) {
    guard case .unreadable(let message) = read(tokenReply(["token_type": found])) else {
      Issue.record("the reply is not unreadable")
      return
    }
    #expect(message == "the provider's token_type is not Bearer: \(said)")
  }

  @Test(
    "a token reply that is not a JSON object with unique members is unreadable",
    arguments: [
      "", "{", "[]", "null", "<html>", "\"x\"", "{\"access_token\":\"a\",\"access_token\":1}",
    ])
  func noObject(text: String) {
    guard case .unreadable = read(reply(text: text)) else {
      Issue.record("the reply is not unreadable")
      return
    }
  }

  @Test(
    "a refused token request is classified by its HTTP status and its error code",
    arguments: [
      (
        400, #"{"error":"invalid_grant","error_description":"to\u001bo old"}"#,
        .dead(word("invalid_grant", "too old"))
      ),
      (403, #"{"error":"invalid_code"}"#, .dead(word("invalid_code"))),
      (401, #"{"error":"invalid_token"}"#, .dead(word("invalid_token"))),
      (200, #"{"error":"invalid_grant"}"#, .dead(word("invalid_grant"))),
      (401, #"{"error":"invalid_client"}"#, .misconfigured(word("invalid_client"))),
      (400, #"{"error":"unauthorized_client"}"#, .misconfigured(word("unauthorized_client"))),
      (400, #"{"error":"invalid_scope"}"#, .rejected(word("invalid_scope"))),
      (400, #"{"error":"brand_new"}"#, .rejected(word("brand_new"))),
      (400, "", .rejected(word("http_400"))), (403, "<html>", .rejected(word("http_403"))),
      (401, #"{"error":5}"#, .rejected(word("http_401"))),
      (400, #"{"error":""}"#, .rejected(word("http_400"))),
      (
        400, #"{"error":"temporarily_unavailable"}"#,
        .retry(message: "the provider answers temporarily_unavailable", after: nil)
      ),
      (
        503, #"{"error":"invalid_grant"}"#,
        .retry(message: "the provider answers HTTP 503", after: nil)
      ),
      (429, "", .retry(message: "the provider answers HTTP 429", after: nil)),
      (302, "", .unreadable(message: "the provider answers HTTP 302")),
      (0, "", .unreadable(message: "the provider answers HTTP 0")),
    ] as [(Int, String, TokenReply)])
  func refusals(status: Int, body: String, expected: TokenReply) {
    #expect(read(reply(text: body, status: status)) == expected)
  }

  @Test(
    "Retry-After in a token reply is read as seconds or as a date and is limited to one hour",
    arguments: [
      ("7", .seconds(7)), ("0", .zero), ("99999999", .seconds(3600)), ("-1", nil),
      ("99999999999999999999", .seconds(3600)), (" 7\t", .seconds(7)), ("1.5", .seconds(2)),
      ("Wed, 21 Oct 2015 07:28:30 GMT", .seconds(30)),
      ("Wed, 21 Oct 2015 07:27:00 GMT", .zero), ("Sun, 25 Oct 2015 07:28:00 GMT", .seconds(3600)),
      ("", nil), ("soon", nil), ("1.", nil), ("5, 7", nil), ("1e3", nil), ("+5", nil),
    ] as [(String, Duration?)])
  func retryAfter(value: String, after: Duration?) {
    let busy = reply(
      text: "", status: 503,
      headers: ["retry-after": value, "date": "Wed, 21 Oct 2015 07:28:00 GMT"])
    #expect(read(busy) == .retry(message: "the provider answers HTTP 503", after: after))
  }
}

@Suite("Userinfo replies")
struct UserinfoTests {
  @Test("a userinfo reply brings only the standard claims, with their text cleaned")
  func limitedClaims() {
    let reply = reply([
      "sub": "u-1", "name": "A\u{1B}da", "email_verified": true, "address": ["country": "GB"],
      "roles": ["admin"], "locale": nil,
    ])
    guard case .claims(let person) = UserinfoReply(reply, subject: "u-1") else {
      Issue.record("the reply has no claims")
      return
    }
    #expect(
      person.profile == ["name": "Ada", "email_verified": true, "address": ["country": "GB"]])
    #expect(person.label == "Ada")
  }

  @Test(
    "a userinfo reply with another subject is reported as another subject",
    arguments: ["u-2", "U-1", "u-1 ", "u"])
  func otherSubject(subject: String) {
    #expect(UserinfoReply(reply(["sub": .string(subject)]), subject: "u-1") == .otherSubject)
  }

  @Test(
    "a userinfo reply without a subject, or that is not a JSON object with status 200, is unusable")
  func unusable() {
    let replies = [
      reply([:]), reply(["sub": 5]), reply(["sub": ""]), reply(["sub": "a\u{0}b"]),
      reply(["sub": .string(String(repeating: "x", count: 256))]), reply(text: "<html>"),
      reply(["sub": "u-1"], status: 401),
    ]
    for reply in replies {
      guard case .unusable = UserinfoReply(reply, subject: "u-1") else {
        Issue.record("used: \(reply)")
        continue
      }
    }
  }

  @Test("a userinfo reply that is a token is to be verified, unless the server has no ID tokens")
  func token() {
    let jwt = reply(
      text: "a.b.c", headers: ["content-type": "Application/JWT; charset=utf-8"])
    #expect(UserinfoReply(jwt, subject: "u-1") == .token(Secret("a.b.c")))
    guard case .unusable = UserinfoReply(jwt, subject: nil, members: .blank) else {
      Issue.record("an oauth2 server's token is used")
      return
    }
  }

  @Test("a userinfo reply that must be a token and is not one is unusable, by the setting's name")
  func demanded() {
    let plain = reply(["sub": "u-1"])
    var demand = OIDCProtectionSettings()
    demand.userinfoSigning = .es256
    for setting in ["userinfo_signed_response_alg", "userinfo_encrypted_response_alg"] {
      guard case .unusable(let message) = UserinfoReply(plain, subject: "u-1", demand) else {
        Issue.record("used")
        return
      }
      #expect(message.contains(setting))
      demand.userinfoEncryption = .ecdhES
    }
  }

  @Test(
    "the claims of a signed userinfo answer must name the issuer and this client",
    arguments: [
      ([:], nil), (["aud": ["other", "usher"]], nil), (["exp": 1_800_000_000], nil),
      (["iss": "https://evil.example.com"], "iss"), (["iss": nil], "iss"), (["iss": 5], "iss"),
      (["aud": "other"], "aud"), (["aud": nil], "aud"), (["aud": []], "aud"),
      (["exp": 1_799_999_940], "exp"), (["exp": "x"], "exp"), (["sub": nil], "sub"),
    ] as [([String: JSONValue?], String?)])
  func signedClaims(changes: [String: JSONValue?], word: String?) {
    let expected = UserinfoReply.Expectation(
      issuer: issuer, clientID: "usher", subject: "u-1", now: now, skew: .seconds(60))
    let payload = claims(nonce: nil, changes).encoded()
    switch UserinfoReply(payload: payload, isSigned: true, expected) {
    case .claims: #expect(word == nil, "\(changes)")
    case .unusable(let message): #expect(message.contains(word ?? "?"), "\(message)")
    case .token, .otherSubject: Issue.record("\(changes)")
    }
    let other = claims(nonce: nil, ["sub": "u-2"]).encoded()
    #expect(UserinfoReply(payload: other, isSigned: true, expected) == .otherSubject)
    // Without a signature they may be missing, and must not be wrong.
    let bare = UserinfoReply(
      payload: claims(nonce: nil, ["iss": nil, "aud": nil]).encoded(), isSigned: false, expected)
    guard case .claims = bare else {
      Issue.record("\(bare)")
      return
    }
    let wrong = claims(nonce: nil, ["iss": "https://evil.example.com"]).encoded()
    guard case .unusable = UserinfoReply(payload: wrong, isSigned: false, expected) else {
      Issue.record("another issuer")
      return
    }
  }

  @Test(
    "the label of a person is the name, preferred_username or email claim, else the subject",
    arguments: [
      (["name": "Ada"], "Ada"), (["name": "", "email": "a@b.c"], "a@b.c"),
      (["preferred_username": "ada"], "ada"), ([:], "u-1"), (["name": 5], "u-1"),
    ] as [([String: JSONValue], String)])
  func label(claims: [String: JSONValue], label: String) {
    let members = claims.merging(["sub": "u-1"]) { $1 }
    #expect(PersonClaims(members)?.label == label)
  }
}

@Suite("Device authorization replies")
struct DeviceReplyTests {
  private func read(_ changes: [String: JSONValue?], status: Int = 200) -> DeviceReply {
    var members: [String: JSONValue] = [
      "device_code": "device-secret", "user_code": "ABCD-EFGH",
      "verification_uri": "https://id.example.com/device", "expires_in": 600, "interval": 7,
    ]
    for (name, value) in changes { members[name] = value }
    return DeviceReply(reply(.object(members), status: status), from: name, at: now)
  }

  @Test("a device authorization reply brings the codes, the URIs, the expiry and the interval")
  func grants() {
    let expected = DeviceAuthorization(
      deviceCode: Sealed(Secret("device-secret")), userCode: "ABCD-EFGH",
      verificationURI: "https://id.example.com/device",
      verificationURIComplete: "https://id.example.com/device?c=1",
      expiresAt: now + .seconds(600), interval: 7)
    #expect(
      read(["verification_uri_complete": "https://id.example.com/device?c=1"])
        == .granted(expected))
  }

  @Test(
    "the interval of a device authorization reply defaults to 5 s and is limited to 1 to 300 s",
    arguments: [
      (nil, 5), (7.9, 7), ("3", 3), (0, 1), (-1, 1), (100_000, 300), (true, 5),
    ] as [(JSONValue, Int)])
  func interval(value: JSONValue, seconds: Int) {
    guard case .granted(let device) = read(["interval": value]) else {
      Issue.record("the reply grants no codes")
      return
    }
    #expect(device.interval == seconds)
  }

  @Test(
    "a device authorization reply without codes or with an unsafe URI is unreadable",
    arguments: [
      ("device_code", nil), ("device_code", ""), ("user_code", "\u{1B}"), ("user_code", 5),
      ("verification_uri", "javascript:alert(1)"), ("verification_uri", "http://evil.example.com"),
      ("verification_uri", nil),
    ] as [(String, JSONValue)])
  func unusable(member: String, value: JSONValue) {
    guard case .unreadable = read([member: value]) else {
      Issue.record("the reply is not unreadable")
      return
    }
  }

  @Test(
    "a device authorization reply may use verification_url; an unusable complete URI is dropped")
  func lenient() {
    let reply = read([
      "verification_uri_complete": "file:///x", "verification_uri": .some(nil),
      "verification_url": "https://id.example.com/d",
    ])
    guard case .granted(let device) = reply else {
      Issue.record("the reply grants no codes")
      return
    }
    #expect(device.verificationURIComplete == nil)
    #expect(device.verificationURI == "https://id.example.com/d")
  }
}
