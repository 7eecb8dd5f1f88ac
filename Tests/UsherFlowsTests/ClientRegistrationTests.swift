import Crypto
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Dynamic client registration")
struct ClientRegistrationTests {
  private static let key = Secret(P256.Signing.PrivateKey().pemRepresentation)

  private func typed(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> Provider<OIDCSettings> {
    try #require(
      Provider(
        provider {
          $0.clientID = ""
          change(&$0)
        }))
  }

  private func request(
    _ methods: [String]?, key: Secret? = nil, _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> ClientMetadata {
    try ClientMetadata(
      typed(change), metadata { $0.clientAuthMethods = methods },
      key: key.flatMap { ClientKey(pem: $0) })
  }

  private func read(
    _ body: JSONValue, status: Int = 201, replacing earlier: ClientRegistration? = nil,
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> RegistrationReply {
    RegistrationReply(
      .reply(HTTPReply(status: status, body: body.encoded())),
      to: try request(["client_secret_basic"], change), at: issuer + "/register", of: try typed(),
      replacing: earlier)
  }

  @Test(
    "the method of authentication is the best that the provider offers and the settings permit",
    arguments: [
      (["none", "client_secret_post", "client_secret_basic"], "client_secret_basic"),
      (["none", "client_secret_post"], "client_secret_post"), (["none"], "none"),
      (nil, "client_secret_basic"), (["private_key_jwt", "none"], "none"),
    ] as [([String]?, String)])
  func method(offered: [String]?, expected: String) throws {
    #expect(try request(offered).members["token_endpoint_auth_method"]?.stringValue == expected)
  }

  @Test("a client with a key registers its public part; a method that is not offered is refused")
  func key() throws {
    let members = try request(["private_key_jwt"], key: Self.key).members
    #expect(members["token_endpoint_auth_method"] == "private_key_jwt")
    #expect(members["jwks"]?["keys"]?[0]?["kty"] == "EC")
    #expect(members["jwks"]?["keys"]?[0]?["d"] == nil)
    #expect(throws: UsherError.self) { try request(["none"], key: Self.key) }
    #expect(throws: UsherError.self) { try request(["none"]) { $0.clientAuth = .post } }
    #expect(throws: UsherError.self) {
      try request(["private_key_jwt"]) { $0.clientAuth = .privateKeyJWT }
    }
  }

  @Test("a client with a certificate is not registered, and the message says what to do")
  func certificate() throws {
    for (auth, name) in [
      (OIDCClientAuth.tlsClientAuth, "tls_client_auth"),
      (.selfSignedTLSClientAuth, "self_signed_tls_client_auth"),
    ] {
      let error = try #require(throws: UsherError.self) {
        _ = try request([name]) { $0.clientAuth = auth }
      }
      #expect(error.message.contains(name) && error.message.contains("set client_id"))
    }
  }

  @Test("a registration is stored with its secrets, and is the same after it was read")
  func stored() throws {
    let reply = try read([
      "client_id": "c1", "client_secret": "s1", "client_secret_expires_at": 1_900_000_000,
      "registration_client_uri": .string(issuer + "/register/c1"),
      "registration_access_token": "r1",
    ])
    guard case .granted(let registration) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(ClientRegistration(stored: registration.stored) == registration)
    #expect(registration.secretExpiresAt == Timestamp(seconds: 1_900_000_000))
    #expect(registration.client.hasSecret && registration.management?.token == Secret("r1"))
    #expect(
      registration.stored.revealed() == """
        {"client_id":"c1","client_secret":"s1","client_secret_expires_at":1900000000,\
        "issuer":"https://id.example.com","redirect_uris":["http://127.0.0.1/callback"],\
        "registration_access_token":"r1",\
        "registration_client_uri":"https://id.example.com/register/c1",\
        "token_endpoint_auth_method":"client_secret_basic"}
        """)
    #expect(ClientRegistration(stored: Secret("{}")) == nil)
    #expect(ClientRegistration(stored: Secret("a secret")) == nil)
  }

  @Test("a secret that an update does not replace keeps the time at which it expires")
  func keptSecret() throws {
    let end = Timestamp(seconds: 1_900_000_000)
    let earlier = ClientRegistration(
      issuer: issuer, clientID: "c1", auth: .basic, secret: Secret("s1"), secretExpiresAt: end,
      redirectURIs: [], management: .init(uri: issuer + "/register/c1", token: Secret("r1")))
    for (more, expected) in [
      ([:], end), (["client_secret_expires_at": 0], nil), (["client_secret": "s2"], nil),
    ] as [([String: JSONValue], Timestamp?)] {
      let body = JSONValue.object(["client_id": "c1"].merging(more) { $1 })
      guard case .granted(let registration) = try read(body, status: 200, replacing: earlier) else {
        Issue.record("\(more)")
        continue
      }
      #expect(registration.secretExpiresAt == expected, "\(more)")
      #expect(registration.secret == Secret(more["client_secret"]?.stringValue ?? "s1"))
      #expect(registration.management == earlier.management)
    }
    guard case .unreadable = try read(["client_id": "c2"], status: 200, replacing: earlier) else {
      Issue.record("the answer about another client is used")
      return
    }
  }

  @Test("a provider may register another method only if the configuration names none")
  func otherMethod() throws {
    for name in ["client_secret_post", "none"] {
      let body: JSONValue = [
        "client_id": "c1", "client_secret": "s1", "token_endpoint_auth_method": .string(name),
      ]
      guard case .granted(let registration) = try read(body) else {
        Issue.record("\(name) is refused")
        continue
      }
      #expect(registration.auth.registeredName == name)
      guard case .unreadable(let message) = try read(body, { $0.clientAuth = .basic }) else {
        Issue.record("\(name) is used in place of basic")
        continue
      }
      #expect(message.contains(name) && message.contains("client_secret_basic"))
    }
  }

  @Test("without RFC 7592 a registration is not managed; a secret that expires at 0 never expires")
  func unmanaged() throws {
    let reply = try read([
      "client_id": "c1", "client_secret": "s1", "client_secret_expires_at": 0,
    ])
    guard case .granted(let registration) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(registration.management == nil && registration.secretExpiresAt == nil)
  }

  @Test(
    "the address of the registration must be at the provider's own server",
    arguments: [
      "https://evil.example/c1", "http://id.example.com/c1", "https://id.example.com:444/c1", "/c1",
    ])
  func elsewhere(uri: String) throws {
    let reply = try read([
      "client_id": "c1", "client_secret": "s1", "registration_client_uri": .string(uri),
      "registration_access_token": "r1",
    ])
    guard case .unreadable(let message) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(message.contains("another server"))
  }

  @Test("the address of the registration may be at the server of the registration endpoint")
  func atEndpoint() throws {
    func read(_ uri: String) throws -> RegistrationReply {
      let body: JSONValue = [
        "client_id": "c1", "client_secret": "s1", "registration_client_uri": .string(uri),
        "registration_access_token": "r1",
      ]
      return RegistrationReply(
        .reply(HTTPReply(status: 201, body: body.encoded())),
        to: try request(["client_secret_basic"]), at: "https://reg.example.com/register",
        of: try typed())
    }
    guard case .granted(let registration) = try read("https://reg.example.com/c1") else {
      Issue.record("the address is refused")
      return
    }
    #expect(registration.management?.uri == "https://reg.example.com/c1")
    guard case .unreadable = try read("https://reg.example.com:8443/c1") else {
      Issue.record("another port is accepted")
      return
    }
  }

  @Test(
    "a client_id that is empty, too long or not printable is refused",
    arguments: ["", "a b", "caf\u{E9}", "a\n", String(repeating: "a", count: 1025)])
  func clientID(id: String) throws {
    guard
      case .unreadable(let message) = try read([
        "client_id": .string(id), "client_secret": "s1",
      ])
    else {
      Issue.record("the client_id is used")
      return
    }
    #expect(message.contains("client_id"))
  }

  @Test("an error that repeats the secret of an update is shown without it")
  func echoedSecret() throws {
    let management = ClientRegistration.Management(
      uri: issuer + "/register/c1", token: Secret("registration-token"))
    let registration = ClientRegistration(
      issuer: issuer, clientID: "c1", auth: .basic, secret: Secret("secret-of-the-client"),
      redirectURIs: [], management: management)
    let update = RegistrationCall.update(
      try request(["client_secret_basic"]), registration, management)
    let sent = try update.render(
      RenderContext(provider: try typed(), credential: nil, transition: moment()))
    let answer = reply(
      [
        "error": "invalid_client_metadata",
        "error_description": "secret-of-the-client or registration-token is wrong",
      ], status: 400)
    let shown = answer.withoutEchoes(of: sent).jsonObject?["error_description"]
    #expect(shown == "… or … is wrong")
  }

  @Test("the registered client completes a provider without client_id at the same issuer only")
  func completed() throws {
    let client = RegisteredClient(issuer: issuer, id: "c1", hasSecret: true, auth: .post)
    let completed = try typed().config.completed(by: client)
    let settings = try #require(completed.settings as? OIDCSettings)
    #expect(settings.clientID == "c1" && settings.clientAuth == .post)
    #expect(settings.clientCredential == "usherd.client.work")
    let configured = try provider()
    #expect(configured.completed(by: client) == configured)
    var other = client
    other.issuer = "https://other.example"
    #expect(try typed().config.completed(by: other).needsRegistration)
  }

  @Test(
    "a flow of a registered client is read as it was stored, whatever the provider has registered",
    arguments: [
      RegisteredClient(issuer: issuer, id: "c1", hasSecret: false, auth: .none),
      RegisteredClient(issuer: issuer, id: "c1", hasSecret: true, auth: .basic),
      RegisteredClient(issuer: issuer, id: "c1", hasSecret: false, auth: .privateKeyJWT),
    ])
  func storedFlow(client: RegisteredClient) throws {
    let changes: [(inout OIDCSettings) -> Void] = [
      { $0.clientCredentialsGrant = true },
      { ($0.signedRequests, $0.clientCredential) = (.always, "key") },
      { ($0.protection.idTokenSigning, $0.clientCredential) = (.hs256, "key") },
    ]
    for change in changes {
      let config = try typed(change).config.completed(by: client)
      var driven = try DrivenAuthorize(provider: config)
      driven.flow = try storedAndRead(driven.flow)
      #expect(driven.flow.provider.config == config)
    }
  }

  @Test("a sign-in is refused if the provider lists its PKCE methods without S256")
  func withoutS256() throws {
    for (methods, isRefused) in [([], true), (["plain"], true), (["plain", "S256"], false)]
      as [([String], Bool)]
    {
      var driven = try DrivenAuthorize()
      let answer = driven.receive(
        .discovered(.found(metadata { $0.codeChallengeMethods = methods })))
      guard case .fail(let failure, _) = answer else {
        #expect(!isRefused)
        continue
      }
      #expect(isRefused && failure.message.contains("S256"))
    }
  }

  @Test("offline_access is added to a service's scope if the provider lists it, and only then")
  func offlineAccess() throws {
    for (listed, expected) in [
      (["offline_access"], "openid mcp offline_access"), (["openid"], "openid mcp"),
      (nil, "openid mcp"),
    ] as [([String]?, String)] {
      var params = OIDCAuthorize.Params()
      params.scope = "mcp"
      params.offlineAccess = true
      var driven = try DrivenAuthorize(params)
      driven.toBrowser(metadata { $0.scopes = listed })
      #expect(driven.query["scope"] == expected)
    }
  }
}
