import FoundationEssentials
import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("Requests to Paysafe's token endpoint")
struct PaysafeTokenCallTests {
  private func render(
    _ call: PaysafeCall, secret: String? = nil,
    _ change: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws -> HTTPRequest {
    let provider = try Driven.provider {
      if secret != nil { $0.clientCredential = "wallet-secret" }
      try change(&$0)
    }
    return try call.render(
      RenderContext(
        provider: Provider(provider)!, credential: secret.map { Secret($0) }, transition: moment()))
  }

  private func header(_ name: String, _ request: HTTPRequest) -> [String] {
    request.headers.filter { $0.name == name }.map { $0.value.revealed() }
  }

  private let exchange = PaysafeCall.exchange(
    .init(
      brand: "acme", code: Secret("c/1+ "), verifier: Secret("v-1"),
      redirectURI: "http://127.0.0.1:1/callback"))

  @Test("a Paysafe token request form-encodes client id and secret before it joins them for Basic")
  func basic() throws {
    for call in [
      PaysafeCall.configToken(brand: "acme"), exchange, .refresh(Secret("r"), brand: "acme"),
    ] {
      let request = try render(call, secret: "s3cret:+/%") { $0.clientID = "acme:wallet" }
      let pair = Data("acme%3Awallet:s3cret%3A%2B%2F%25".utf8).base64EncodedString()
      #expect(header("Authorization", request) == ["Basic \(pair)"])
      #expect(request.method == .post)
      #expect(request.url == "https://wallet.example.com/v1/auth/brands/acme/token")
      #expect(header("Content-Type", request) == ["application/x-www-form-urlencoded"])
      #expect(header("Accept", request) == ["application/json"])
      #expect(request.body?.revealed().contains("client_id") == false)
      #expect(request.body?.revealed().contains("s3cret") == false)
      #expect(call.account == nil && call.name == "token")
    }
  }

  @Test("a Paysafe token request has the fields of its grant, and a public client's client_id")
  func bodies() throws {
    let bodies: [(PaysafeCall, String)] = [
      (.configToken(brand: "acme"), "grant_type=client_credentials"),
      (
        exchange,
        "grant_type=authorization_code&code=c%2F1%2B+"
          + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&code_verifier=v-1"
      ),
      (
        .refresh(Secret("r&1"), brand: "acme"), "grant_type=refresh_token&refresh_token=r%261"
      ),
    ]
    for (call, body) in bodies {
      #expect(try render(call, secret: "s").body?.revealed() == body)
      let open = try render(call)
      #expect(open.body?.revealed() == body + "&client_id=acme-wallet")
      #expect(header("Authorization", open) == [])
    }
  }

  @Test("a Paysafe token request goes to its brand's endpoint, even at another host")
  func address() throws {
    let call = PaysafeCall.configToken(brand: "globex")
    #expect(try render(call).url == "https://wallet.example.com/v1/auth/brands/globex/token")
    let elsewhere = try render(call) {
      $0.paths.token = try ProviderPath(setting: "https://id.example.com/{brandIdentity}/t")
    }
    #expect(elsewhere.url == "https://id.example.com/globex/t")
  }

  @Test("a Paysafe code exchange is not rendered without the configured client credential")
  func missingCredential() throws {
    let provider = try Driven.provider { $0.clientCredential = "wallet-secret" }
    for credential in [nil, Secret("")] {
      let context = RenderContext<PaysafeSettings>(
        provider: Provider(provider)!, credential: credential, transition: moment())
      #expect(throws: UsherError.self) { try exchange.render(context) }
    }
  }

  @Test("the debug descriptions of a Paysafe code exchange and of its request contain no secret")
  func secrecy() throws {
    let request = try render(exchange, secret: "canary")
    for text in [String(reflecting: request), String(reflecting: exchange)] {
      #expect(!text.contains("c/1") && !text.contains("v-1") && !text.contains("canary"))
    }
  }
}

@Suite("Paysafe tokens")
struct PaysafeTokensTests {
  private func dialect(_ attributes: [String: JSONValue]) throws -> any TokenDialect {
    let handling = try Driven.provider().definition.tokens(
      attributes: attributes, installation: nil)
    guard case .known(let dialect) = handling else { throw UnusableReply("not known") }
    return dialect
  }

  @Test("Paysafe tokens are refreshed at the brand of their account and are never revoked")
  func brand() throws {
    for (attributes, brand) in [
      (["brandIdentity": "globex"], "globex"), ([:], "acme"),
    ] as [([String: JSONValue], String)] {
      let call = try dialect(attributes).renewal(Secret("r"), scope: "x") as? PaysafeCall
      #expect(call == .refresh(Secret("r"), brand: brand))
      #expect(try dialect(attributes).revocation(Secret("r"), .refreshToken, bearer: nil) == nil)
    }
  }

  private func granted(_ changes: [String: JSONValue?]) throws -> TokenSet {
    let request = TokenRequest(provider: name, scope: "")
    let reply = TokenReply(Driven.tokenReply(changes), to: request, at: now)
    guard case .granted(let tokens) = reply else { throw UnusableReply("not granted") }
    return tokens
  }

  @Test("Paysafe tokens that name another subject than the account's have a flaw")
  func flaw() throws {
    let dialect = try dialect([:])
    #expect(dialect.flaw(in: try granted([:]), of: "c-1", signIn: nil) == nil)
    #expect(dialect.flaw(in: try granted([:]), of: "c-2", signIn: nil) != nil)
    let other = JSONValue.string(Driven.token(["sub": "c-2"]).revealed())
    #expect(dialect.flaw(in: try granted(["access_token": other]), of: "c-1", signIn: nil) != nil)
    let mute = try granted(["access_token": "opaque", "id_token": .some(nil)])
    #expect(dialect.flaw(in: mute, of: "c-1", signIn: nil) == nil)
  }
}
