import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Token dialects of providers")
struct TokenDialectTests {
  private static let secret = Secret("s3cret:with/odd+chars ü")

  private func wallet(
    _ change: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws -> ProviderConfig {
    var settings = PaysafeSettings(
      baseURL: try ProviderURL(setting: "https://api.example.com/v1"), clientID: "a:b")
    settings.brandIdentity = "acme"
    settings.clientCredential = "wallet-secret"
    try change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  private func dialect(
    _ provider: ProviderConfig, _ attributes: [String: JSONValue] = [:]
  ) throws -> any TokenDialect {
    switch provider.definition.tokens(attributes: attributes, installation: nil) {
    case .known(let dialect): dialect
    case .discovered(let dialect): dialect(metadata())
    }
  }

  private func render(
    _ call: any ProviderCall, _ provider: ProviderConfig, _ secret: Secret? = secret
  ) throws -> HTTPRequest {
    try call.rendered(at: provider, credential: secret)
  }

  private func header(_ name: String, _ request: HTTPRequest) -> [String] {
    request.headers.filter { $0.name == name }.map { $0.value.revealed() }
  }

  // MARK: Renewal

  @Test(
    "a Paysafe refresh uses the brand's token endpoint and encodes client id and secret for Basic")
  func renewal() throws {
    let provider = try wallet()
    let call = try #require(dialect(provider).renewal(Secret("r/1"), scope: "ignored"))
    #expect(call.name == "token")
    #expect(call.account == nil)
    let request = try render(call, provider)
    #expect(request.method == .post)
    #expect(request.url == "https://api.example.com/v1/auth/brands/acme/token")
    #expect(request.body?.revealed() == "grant_type=refresh_token&refresh_token=r%2F1")
    // Base64 of a%3Ab:s3cret%3Awith%2Fodd%2Bchars+%C3%BC
    #expect(
      header("Authorization", request) == [
        "Basic YSUzQWI6czNjcmV0JTNBd2l0aCUyRm9kZCUyQmNoYXJzKyVDMyVCQw=="
      ])
    #expect(header("Accept", request) == ["application/json"])
    #expect(header("Content-Type", request) == ["application/x-www-form-urlencoded"])
  }

  @Test(
    "the refresh of a public Paysafe client sends client_id in the form, no Authorization header")
  func publicClient() throws {
    let provider = try wallet { $0.clientCredential = nil }
    let dialect = try dialect(provider)
    #expect(dialect.isPublicClient)
    let request = try render(#require(dialect.renewal(Secret("r"), scope: nil)), provider, nil)
    #expect(
      request.body?.revealed() == "grant_type=refresh_token&refresh_token=r&client_id=a%3Ab")
    #expect(header("Authorization", request) == [])
  }

  @Test("the refresh of a confidential Paysafe client fails without the credential and names it")
  func missingCredential() throws {
    let provider = try wallet()
    let dialect = try dialect(provider)
    #expect(!dialect.isPublicClient)
    let call = try #require(dialect.renewal(Secret("r"), scope: nil))
    for secret in [nil, Secret("")] {
      let error = #expect(throws: UsherError.self) { try render(call, provider, secret) }
      #expect(error?.reason == .internalError)
      #expect(error?.message == String.missing("wallet-secret", of: provider.name))
    }
  }

  @Test(
    "a Paysafe refresh uses the account's brand, or the configured brand if the account has none",
    arguments: [
      (["brandIdentity": "umbra"], "umbra"), ([:], "acme"), (["brand": "umbra"], "acme"),
      (["brandIdentity": 5], "acme"), (["brandIdentity": nil], "acme"),
      (["brandIdentity": "../x?y"], "..%2Fx%3Fy"),
    ] as [([String: JSONValue], String)])
  func brand(attributes: [String: JSONValue], brand: String) throws {
    let provider = try wallet { $0.paths.token = try ProviderPath(setting: "/{brandIdentity}/t") }
    let call = try #require(dialect(provider, attributes).renewal(Secret("r"), scope: nil))
    #expect(try render(call, provider).url == "https://api.example.com/v1/\(brand)/t")
  }

  @Test("an OpenID provider's refresh sends the scope to the token endpoint of the metadata")
  func openID() throws {
    let provider = try provider()
    let dialect = try dialect(provider, ["brandIdentity": "umbra"])
    #expect(dialect.isPublicClient)
    let request = try render(
      #require(dialect.renewal(Secret("r"), scope: "openid email")), provider, nil)
    #expect(request.url == issuer + "/token")
    #expect(
      request.body?.revealed()
        == "grant_type=refresh_token&refresh_token=r&scope=openid+email&client_id=usher")
    let confidential = try self.dialect(self.provider { $0.clientCredential = "c" })
    #expect(!confidential.isPublicClient)
  }

  private func provider(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> ProviderConfig {
    ProviderConfig(name: name, settings: try settings(change))
  }

  @Test("the debug descriptions of a Paysafe refresh and of its request contain no secret")
  func secrecy() throws {
    let provider = try wallet()
    let call = try #require(dialect(provider).renewal(Secret("canary-r"), scope: nil))
    for text in [String(reflecting: call), String(reflecting: try render(call, provider))] {
      #expect(!text.contains("canary") && !text.contains("s3cret"))
    }
  }

  // MARK: Reading token replies

  private func read(_ changes: [String: JSONValue?]) throws -> TokenSet? {
    let request = TokenRequest(provider: name, scope: "")
    let answer = try dialect(wallet()).read(tokenReply(changes), to: request, at: now)
    guard case .granted(let tokens) = answer else { return nil }
    return tokens
  }

  @Test(
    "Paysafe's refresh_expires_in, a number or a string, sets the expiry of the refresh token",
    arguments: [
      (1800, 1800), ("1800", 1800), (1800.9, 1800), ("12.5", 12), (1, 1), (0, nil), ("0", nil),
      (0.5, nil), (-1, nil), ("-5", nil), (1e300, 315_360_000), (nil, nil), ("", nil),
      ("soon", nil), ("nan", nil), (true, nil), ([1800], nil),
    ] as [(JSONValue, Int?)])
  func refreshExpiry(value: JSONValue, seconds: Int?) throws {
    let tokens = try #require(try read(["refresh_expires_in": value, "expires_in": 900]))
    #expect(tokens.refreshExpiresAt == seconds.map { now + .seconds($0) })
    #expect(tokens.expiresAt == now + .seconds(900))
  }

  @Test(
    "a Paysafe token reply without refresh_expires_in leaves the refresh token's expiry unknown")
  func noRefreshExpiry() throws {
    #expect(try #require(try read([:])).refreshExpiresAt == nil)
  }

  @Test("an OpenID provider's tokens have a flaw if their ID token names another subject")
  func flaw() throws {
    let other = signed(["alg": "RS256"], claims(nonce: nil, ["sub": "u-2"]))
    let tokens = try #require(try read(["id_token": .string(other.revealed())]))
    #expect(try dialect(provider()).flaw(in: tokens, of: "u-1", signIn: nil) != nil)
    #expect(try dialect(provider()).flaw(in: tokens, of: "u-2", signIn: nil) == nil)
    let none = try #require(try read(["id_token": .some(nil)]))
    #expect(try dialect(provider()).flaw(in: none, of: "u-1", signIn: nil) == nil)
  }

  // MARK: Revocation

  @Test("Paysafe tokens are never revoked, because Paysafe has no revocation endpoint")
  func walletRevocation() throws {
    let dialect = try dialect(wallet())
    for kind in [TokenKind.accessToken, .refreshToken] {
      #expect(dialect.revocation(Secret("t"), kind, bearer: nil) == nil)
      #expect(dialect.revocation(Secret("t"), kind, bearer: Secret("a")) == nil)
    }
  }

  @Test("an OpenID provider's tokens are revoked if its metadata has a revocation endpoint")
  func revocation() throws {
    let dialect = try dialect(provider())
    let call = dialect.revocation(Secret("t"), .accessToken, bearer: Secret("a"))
    #expect(
      call as? OIDCCall
        == .revoke(
          .init(token: Secret("t"), kind: .accessToken, bearer: Secret("a")), metadata()))
    let granted = try #require(tokens())
    #expect(
      OIDCCall.revoking(granted, metadata()) == [
        .revoke(.init(token: Secret("refresh-secret"), kind: .refreshToken), metadata())
      ])
    let short = try #require(tokens(tokenReply(["refresh_token": .some(nil)])))
    #expect(
      OIDCCall.revoking(short, metadata()) == [
        .revoke(.init(token: Secret("access-secret"), kind: .accessToken), metadata())
      ])
    let handling = try provider().definition.tokens(attributes: [:], installation: nil)
    guard case .discovered(let make) = handling else {
      Issue.record("the token dialect is known without discovery")
      return
    }
    let silent = metadata { $0.revocationEndpoint = nil }
    #expect(make(silent).revocation(Secret("t"), .refreshToken, bearer: nil) == nil)
    #expect(OIDCCall.revoking(granted, silent).isEmpty)
  }
}

@Suite("Probes of providers")
struct ProviderProbeTests {
  private func wallet(isPublic: Bool = false, brand: String? = "acme") throws -> ProviderConfig {
    var settings = PaysafeSettings(
      baseURL: try ProviderURL(setting: "https://api.example.com/v1"), clientID: "acme-wallet")
    settings.brandIdentity = brand
    settings.clientCredential = isPublic ? nil : "wallet-secret"
    return ProviderConfig(name: name, settings: settings)
  }

  @Test("the probe of a Paysafe provider requests its brand's config token")
  func call() throws {
    let provider = try wallet()
    let probe = try #require(provider.definition.probe)
    #expect(probe.subject == "token")
    #expect(probe.call as? PaysafeCall == .configToken(brand: "acme"))
    let request = try probe.call.rendered(at: provider, credential: Secret("s"))
    #expect(request.url == "https://api.example.com/v1/auth/brands/acme/token")
    #expect(request.body?.revealed() == "grant_type=client_credentials")
  }

  @Test("a Paysafe provider without a brand and a provider with discovery have no probe")
  func none() throws {
    #expect(try wallet(brand: nil).definition.probe == nil)
    #expect(try provider().definition.probe == nil)
  }

  /// A probe's outcome and its judgement: `isFine` for a confidential client, then a public one.
  struct Row: Sendable, CustomTestStringConvertible {
    var outcome: CallOutcome
    var isFine: [Bool]
    var message: String

    init(_ outcome: CallOutcome, _ isFine: [Bool], _ message: String) {
      self.outcome = outcome
      self.isFine = isFine
      self.message = message
    }

    var testDescription: String { message }
  }

  private static func error(_ code: String, _ status: Int) -> CallOutcome {
    .reply(reply(["error": .string(code)], status: status))
  }

  @Test(
    "the probe of a Paysafe provider describes every outcome in a sentence",
    arguments: [
      Row(.reply(tokenReply()), [true, true], "it issues a config token"),
      Row(
        .reply(tokenReply(["refresh_token": .some(nil), "id_token": .some(nil)])), [true, true],
        "it issues a config token"),
      Row(error("invalid_client", 401), [false, true], "it answers HTTP 401"),
      Row(error("unauthorized_client", 400), [false, true], "it answers HTTP 400"),
      Row(error("unsupported_grant_type", 400), [false, true], "it answers HTTP 400"),
      Row(.reply(reply(text: "", status: 403)), [false, true], "it answers HTTP 403"),
      Row(.reply(reply(text: "<html>", status: 404)), [false, false], "it answers HTTP 404"),
      Row(.reply(reply(text: "", status: 405)), [false, false], "it answers HTTP 405"),
      Row(error("invalid_grant", 400), [false, false], "it answers invalid_grant"),
      Row(
        .reply(reply(text: "", status: 503)), [false, false], "the provider answers HTTP 503"),
      Row(
        .reply(reply(text: "", status: 429)), [false, false], "the provider answers HTTP 429"),
      Row(
        .reply(reply(text: "<html>")), [false, false],
        "the provider's answer is not a JSON object"),
      Row(.reply(reply(text: "", status: 302)), [false, false], "the provider answers HTTP 302"),
      Row(
        .unreachable(message: "no connection", sent: false), [false, false], "no connection"),
      Row(.unreadable(message: "over 1 MiB"), [false, false], "over 1 MiB"),
      Row(.noToken(message: "no token"), [false, false], "no token"),
    ])
  func judgements(row: Row) throws {
    for (isPublic, isFine) in zip([false, true], row.isFine) {
      let probe = try #require(wallet(isPublic: isPublic).definition.probe)
      let found = probe.evaluate(row.outcome)
      #expect(found.fine == isFine)
      #expect(found.message == row.message)
    }
  }
}
