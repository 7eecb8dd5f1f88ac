import Crypto
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Tokens that are bound to a key")
struct DPoPTests {
  private func parts(_ proof: Secret) throws -> (header: JSONValue, claims: JSONValue) {
    let parts = proof.revealed().split(separator: ".")
    try #require(parts.count == 3)
    return (
      try JSONValue(parsing: try #require(Base64URL.decode(parts[0]))),
      try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
    )
  }

  private func header(_ name: String, _ request: HTTPRequest) -> [String] {
    request.headers.filter { $0.name == name }.map { $0.value.revealed() }
  }

  private func render(
    _ call: OIDCCall, nonces: DPoPNonces = DPoPNonces()
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(
        provider: Provider(provider { $0.dpop = true })!, credential: nil, dpopNonces: nonces,
        transition: moment()))
  }

  private func dpopKey() -> Sealed<Secret> {
    var transition = moment()
    return DPoPKey.make { transition.random($0) }
  }

  @Test("a proof names the request without its query, the token and the nonce, and is signed")
  func proof() throws {
    let stored = dpopKey()
    let key = try DPoPKey(stored: stored.unsealed())
    let proof = try key.proof(
      for: .init(
        method: "POST", url: "https://api.example.com/a?b=c#d", accessToken: Secret("access"),
        nonce: "n-1"), at: moment())
    let (header, claims) = try parts(proof)
    #expect(header["typ"] == "dpop+jwt" && header["alg"] == "ES256")
    #expect(header["jwk"]?.objectValue?.keys.sorted() == ["crv", "kty", "x", "y"])
    #expect(claims["htm"] == "POST" && claims["htu"] == "https://api.example.com/a")
    #expect(claims["nonce"] == "n-1" && claims["jti"]?.stringValue?.count == 22)
    #expect(claims["iat"]?.integerValue == now.milliseconds / 1000 - 5)
    #expect(
      claims["ath"]?.stringValue
        == Base64URL.encode(SHA256.hash(data: Array("access".utf8))))
    let text = proof.revealed()
    let dot = try #require(text.lastIndex(of: "."))
    let signature = try #require(Base64URL.decode(text[text.index(after: dot)...]))
    let pem = try P256.Signing.PrivateKey(pemRepresentation: stored.unsealed().revealed())
    #expect(
      pem.publicKey.isValidSignature(
        try P256.Signing.ECDSASignature(rawRepresentation: signature),
        for: Array(text[..<dot].utf8)))
    let plain = try parts(key.proof(for: .init(method: "GET", url: issuer), at: moment())).claims
    #expect(plain["ath"] == nil && plain["nonce"] == nil)
    let fragment = DPoPKey.Request(method: "GET", url: "https://api.example.com/a#b?c")
    #expect(
      try parts(key.proof(for: fragment, at: moment())).claims["htu"]
        == "https://api.example.com/a")
    #expect(throws: UsherError.self) { try DPoPKey(stored: Secret("no key")) }
  }

  @Test("a nonce is remembered for its server, and one that no proof can have is ignored")
  func nonces() {
    var nonces = DPoPNonces()
    nonces.record(reply([:], headers: ["dpop-nonce": "a"]), from: "https://one.example/token")
    nonces.record(reply([:], headers: ["dpop-nonce": "b"]), from: "https://two.example:8443/x?y")
    for bad in ["", "a b", "a\"b", "a\\b", "é", String(repeating: "a", count: 1025)] {
      nonces.record(reply([:], headers: ["dpop-nonce": bad]), from: "https://one.example/token")
    }
    nonces.record(reply([:]), from: "https://one.example/token")
    #expect(nonces.nonce(for: "https://ONE.example/userinfo") == "a")
    #expect(nonces.nonce(for: "https://two.example:8443") == "b")
    #expect(nonces.nonce(for: "https://two.example/") == nil)
    #expect(nonces.nonce(for: "http://one.example/token") == nil)
  }

  @Test("the nonces of many servers do not fill the memory")
  func manyNonces() {
    var nonces = DPoPNonces()
    for number in 0...256 {
      nonces.record(reply([:], headers: ["dpop-nonce": "n"]), from: "https://a\(number).example/")
    }
    #expect(nonces.nonce(for: "https://a0.example/") == nil)
    #expect(nonces.nonce(for: "https://a256.example/") == "n")
  }

  @Test("only a refusal with the error use_dpop_nonce and a nonce demands another proof")
  func demand() {
    let nonce = ["dpop-nonce": "a"]
    let error: JSONValue = ["error": "use_dpop_nonce"]
    #expect(reply(error, status: 400, headers: nonce).demandsDPoPNonce)
    #expect(reply(error, status: 401, headers: nonce).demandsDPoPNonce)
    let challenge = [
      "dpop-nonce": "a", "www-authenticate": #"Bearer, DPoP error="use_dpop_nonce""#,
    ]
    #expect(reply([:], status: 401, headers: challenge).demandsDPoPNonce)
    #expect(!reply(error, status: 400).demandsDPoPNonce)
    #expect(!reply(error, status: 200, headers: nonce).demandsDPoPNonce)
    #expect(!reply(["error": "invalid_grant"], status: 400, headers: nonce).demandsDPoPNonce)
  }

  @Test("a sign-in names the key, and proves it for the code and at the userinfo endpoint")
  func signIn() throws {
    var driven = try DrivenAuthorize { $0.dpop = true }
    driven.toBrowser()
    let thumbprint = try #require(driven.query["dpop_jkt"])
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let exchange = try #require(driven.calls.first)
    guard case .bound(.exchange, key: let key) = exchange else {
      Issue.record("the code is redeemed without a proof")
      return
    }
    #expect(try DPoPKey(stored: key).thumbprint == thumbprint)
    let request = try render(exchange)
    let claims = try parts(Secret(try #require(header("DPoP", request).first))).claims
    #expect(claims["htm"] == "POST" && claims["htu"]?.stringValue == issuer + "/token")
    #expect(claims["ath"] == nil)
    driven.receive(.called(exchange, .reply(tokenReply(["token_type": "dpop"]))))
    #expect(driven.flow.view.state == "verifying")
  }

  @Test("a Bearer token is refused if tokens must be bound, and a bound one if they must not be")
  func types() throws {
    for (isBound, type, isAccepted) in [
      (true, "DPoP", true), (true, "Bearer", false), (false, "DPoP", false),
      (false, "Bearer", true),
    ] {
      var driven = try DrivenAuthorize { $0.dpop = isBound }
      driven.toVerify(reply: tokenReply(["token_type": .string(type)]))
      #expect((driven.flow.view.state == "verifying") == isAccepted, "\(isBound) \(type)")
    }
  }

  @Test("the request to the userinfo endpoint has the token as one of type DPoP, and its hash")
  func userinfo() throws {
    var nonces = DPoPNonces()
    nonces.record(reply([:], headers: ["dpop-nonce": "n-1"]), from: issuer)
    let call = OIDCCall.userinfo(accessToken: Secret("access"), metadata()).bound(to: dpopKey())
    let request = try render(call, nonces: nonces)
    #expect(header("Authorization", request) == ["DPoP access"])
    let claims = try parts(Secret(try #require(header("DPoP", request).first))).claims
    #expect(claims["htm"] == "GET" && claims["nonce"] == "n-1")
    #expect(claims["ath"]?.stringValue?.count == 43)
    #expect(call.carriesProof && !call.unbound.carriesProof)
    #expect(call.name == "userinfo" && call.unbound.bound(to: nil) == call.unbound)
  }

  @Test("a refresh and a client's own request carry a proof of the grant's key")
  func refresh() throws {
    let (settings, key) = (
      try provider { settings in
        settings.dpop = true
        settings.audienceParameter = .resource
        settings.clientCredentialsGrant = true
      }, dpopKey()
    )
    let dialect = OIDCTokens(provider: Provider(settings)!, metadata: metadata()).bound(to: key)
    let calls = [
      dialect.renewal(Secret("r"), scope: nil),
      dialect.renewal(Secret("r"), scope: nil, audience: "https://a.example"),
      dialect.clientToken(scope: "a", audience: nil),
    ]
    for call in calls { #expect(try #require(call).carriesProof) }
    let request = TokenRequest(provider: name, scope: "a")
    guard
      case .granted(let tokens) = dialect.read(
        tokenReply(["token_type": "dPoP"]), to: request, at: now)
    else {
      Issue.record("a token of type DPoP is refused")
      return
    }
    #expect(tokens.tokenType == "DPoP")
    guard case .unreadable = dialect.read(tokenReply(), to: request, at: now) else {
      Issue.record("a Bearer token is accepted")
      return
    }
  }

  @Test("a grant that has a key accepts no Bearer token, even if the setting was removed")
  func settingRemoved() throws {
    let dialect = OIDCTokens(provider: Provider(try provider())!, metadata: metadata())
      .bound(to: dpopKey())
    let request = TokenRequest(provider: name, scope: "a")
    guard case .unreadable = dialect.read(tokenReply(), to: request, at: now) else {
      Issue.record("a Bearer token is accepted")
      return
    }
    let bound = dialect.read(tokenReply(["token_type": "DPoP"]), to: request, at: now)
    guard case .granted(let tokens) = bound else {
      Issue.record("a token of type DPoP is refused")
      return
    }
    #expect(tokens.tokenType == "DPoP")
  }

  @Test("a provider that lists other algorithms than ES256 is refused before the browser opens")
  func algorithms() throws {
    for (listed, isAccepted) in [
      (nil, true), (["RS256", "ES256"], true), (["RS256"], false), ([], false),
    ] as [([String]?, Bool)] {
      var driven = try DrivenAuthorize { $0.dpop = true }
      driven.receive(.discovered(.found(metadata { $0.dpopAlgorithms = listed })))
      guard case .fail(let failure, _) = driven.last else {
        #expect(isAccepted, "\(String(describing: listed))")
        continue
      }
      #expect(!isAccepted && failure.message.contains("ES256"))
    }
  }
}
