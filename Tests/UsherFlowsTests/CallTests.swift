import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("HTTP requests to an OpenID provider")
struct CallTests {
  let exchange = OIDCCall.exchange(
    .init(
      code: Secret("c/1"), verifier: Secret("v-1"), redirectURI: "http://127.0.0.1:1/callback"),
    metadata())

  private func render(
    _ call: OIDCCall, secret: String? = nil, _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> HTTPRequest {
    let provider = try provider {
      if secret != nil { $0.clientCredential = "work-secret" }
      change(&$0)
    }
    return try call.render(
      RenderContext(
        provider: Provider(provider)!, credential: secret.map { Secret($0) }, transition: moment()))
  }

  private func header(_ name: String, _ request: HTTPRequest) -> [String] {
    request.headers.filter { $0.name == name }.map { $0.value.revealed() }
  }

  @Test(
    "the code exchange of a public client sends client_id, no secret and no Authorization header")
  func publicClient() throws {
    let request = try render(exchange)
    #expect(request.method == .post)
    #expect(request.url == issuer + "/token")
    #expect(
      request.body?.revealed()
        == "grant_type=authorization_code&code=c%2F1"
        + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&code_verifier=v-1&client_id=usher")
    #expect(header("Authorization", request) == [])
    #expect(header("Accept", request) == ["application/json"])
    #expect(header("Content-Type", request) == ["application/x-www-form-urlencoded"])
  }

  @Test("HTTP Basic authentication form-encodes the client id and the secret before it joins them")
  func basic() throws {
    let request = try render(exchange, secret: "s3cret:with/odd+chars ü") {
      $0.clientID = "a:b"
    }
    // Base64 of a%3Ab:s3cret%3Awith%2Fodd%2Bchars+%C3%BC
    #expect(
      header("Authorization", request) == [
        "Basic YSUzQWI6czNjcmV0JTNBd2l0aCUyRm9kZCUyQmNoYXJzKyVDMyVCQw=="
      ])
    #expect(request.body?.revealed().contains("client_id") == false)
    #expect(request.body?.revealed().contains("s3cret") == false)
  }

  @Test(
    "a token request authenticates the client by exactly one method: Basic or client_secret_post",
    arguments: [
      (OIDCClientAuth.auto, nil, true), (.auto, ["client_secret_post"], false),
      (.auto, ["client_secret_post", "client_secret_basic"], true),
      (.auto, ["private_key_jwt"], true), (.auto, [], true),
      (.basic, ["client_secret_post"], true), (.post, ["client_secret_basic"], false),
    ] as [(OIDCClientAuth, [String]?, Bool)])
  func method(configured: OIDCClientAuth, accepted: [String]?, isBasic: Bool) throws {
    let call = OIDCCall.refresh(
      Secret("r"), scope: nil, metadata { $0.clientAuthMethods = accepted })
    let request = try render(call, secret: "s&") { $0.clientAuth = configured }
    #expect(header("Authorization", request).count == (isBasic ? 1 : 0))
    let body = "grant_type=refresh_token&refresh_token=r"
    #expect(
      request.body?.revealed() == (isBasic ? body : body + "&client_id=usher&client_secret=s%26"))
  }

  @Test("the code exchange is not rendered if the configured client credential is missing or empty")
  func missingCredential() throws {
    let provider = try provider { $0.clientCredential = "work-secret" }
    for credential in [nil, Secret("")] {
      let context = RenderContext<OIDCSettings>(
        provider: Provider(provider)!, credential: credential, transition: moment())
      #expect(throws: UsherError.self) { try exchange.render(context) }
    }
  }

  @Test("refresh, revocation, userinfo and device requests need an endpoint in the metadata")
  func missingEndpoint() throws {
    let bare = OIDCMetadata(issuer: issuer)
    let revocation = OIDCCall.Revocation(token: Secret("t"), kind: .accessToken)
    for call in [
      OIDCCall.refresh(Secret("r"), scope: nil, bare), .revoke(revocation, bare),
      .userinfo(accessToken: Secret("a"), bare), .deviceAuthorization(scope: "openid", bare),
      .devicePoll(deviceCode: Secret("d"), bare),
      .backchannelPoll(requestID: Secret("d"), bare),
      .tokenExchange(.init(subject: Secret("a"), audience: "b"), bare),
      .backchannelAuthentication(.init(scope: "openid", loginHint: "a", audiences: []), bare),
    ] {
      #expect(throws: UsherError.self) { try render(call) }
    }
  }

  @Test(
    "a revocation names the token type; its second attempt carries a Bearer token instead of Basic")
  func revoke() throws {
    var revocation = OIDCCall.Revocation(token: Secret("r"), kind: .refreshToken)
    let body = "token=r&token_type_hint=refresh_token&client_id=usher"
    let plain = try render(.revoke(revocation, metadata()))
    #expect(plain.url == issuer + "/revoke")
    #expect(plain.body?.revealed() == body)
    #expect(header("Authorization", plain) == [])
    revocation.bearer = Secret("a")
    let second = try render(.revoke(revocation, metadata()), secret: "s")
    #expect(second.body?.revealed() == body)
    #expect(header("Authorization", second) == ["Bearer a"])
  }

  @Test("the userinfo request is a GET with the access token in the Authorization header")
  func userinfo() throws {
    let request = try render(.userinfo(accessToken: Secret("a"), metadata()), secret: "s")
    #expect(request.method == .get)
    #expect(request.url == issuer + "/userinfo")
    #expect(request.body == nil)
    #expect(header("Authorization", request) == ["Bearer a"])
  }

  @Test("requests for the discovery document and the key set carry no Authorization header")
  func documents() throws {
    for call in [OIDCCall.discovery(url: issuer), .jwks(url: issuer)] {
      let request = try render(call, secret: "s")
      #expect(request.url == issuer)
      #expect(header("Authorization", request) == [])
    }
  }

  @Test(
    "the device authorization request names scope and audience, and the poll names the device code")
  func device() throws {
    let first = try render(.deviceAuthorization(scope: "openid x", metadata())) {
      $0.audience = "api"
    }
    #expect(first.url == issuer + "/device")
    #expect(first.body?.revealed() == "scope=openid+x&audience=api&client_id=usher")
    let poll = try render(.devicePoll(deviceCode: Secret("d"), metadata()))
    #expect(
      poll.body?.revealed()
        == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d"
        + "&client_id=usher")
  }

  @Test("the debug descriptions of a code exchange and of its request contain no secret")
  func secrecy() throws {
    let request = try render(exchange, secret: "canary")
    for text in [String(reflecting: request), String(reflecting: exchange)] {
      #expect(!text.contains("c/1") && !text.contains("v-1") && !text.contains("canary"))
    }
  }
}
