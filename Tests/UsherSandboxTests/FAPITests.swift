import Crypto
import Foundation
import Testing

@testable import UsherSandbox

/// The provider with the setting `fapi2`, without HTTP.
@Suite("The FAPI 2.0 provider")
struct FAPITests {
  private let provider: OIDCBackend
  private let key = P256.Signing.PrivateKey()
  private static let issuer = "http://127.0.0.1:1/oidc"

  init() async throws {
    provider = try OIDCBackend(BackendContext.test(), path: "/oidc")
    let point = key.publicKey.rawRepresentation
    let jwk: JSON = [
      "kty": "EC", "crv": "P-256", "kid": "k", "alg": "ES256",
      "x": .string(Base64.url(point.prefix(32))), "y": .string(Base64.url(point.suffix(32))),
    ]
    let settings = try OIDCBackendSettings().changed(by: [
      "fapi2": true, "clientKeys": ["usher-confidential": ["keys": [jwk]]],
    ])
    await provider.apply(settings)
  }

  /// Returns a signed token of the client.
  private func token(_ header: [String: JSON], _ claims: [String: JSON]) throws -> String {
    let now = Int(start.timeIntervalSince1970)
    let usual: [String: JSON] = [
      "iss": "usher-confidential", "sub": "usher-confidential", "aud": .string(Self.issuer),
      "iat": .integer(now), "exp": .integer(now + 60), "jti": .string(UUID().uuidString),
    ]
    let text = [["alg": "ES256", "kid": "k"].merging(header) { $1 }, usual.merging(claims) { $1 }]
      .map { Base64.url(JSON.object($0).encoded()) }.joined(separator: ".")
    return text + "." + Base64.url(try key.signature(for: Data(text.utf8)).rawRepresentation)
  }

  private func send(
    _ path: String, _ fields: [String: String?], _ method: Endpoint.Method = .post
  ) async throws -> Reply {
    var call = EndpointCall(method, "/oidc/\(path)", base: "http://127.0.0.1:1")
    let form = fields.compactMapValues { $0 }
      .map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    if method == .get {
      call.query = form
    } else {
      call.body = Array(form.utf8)
      call.headers["content-type"] = "application/x-www-form-urlencoded"
    }
    let row = provider.endpoints.first { $0.method == method && $0.path == "/oidc/\(path)" }
    return await (try #require(row)).handle(call)
  }

  /// The fields by which the client authenticates itself.
  private func client(
    _ header: [String: JSON] = [:], _ claims: [String: JSON] = [:]
  ) throws -> [String: String?] {
    [
      "client_id": "usher-confidential", "client_assertion": try token(header, claims),
      "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    ]
  }

  private func push(
    _ changes: [String: String?] = [:], by client: [String: String?]
  ) async throws -> Reply {
    let fields: [String: String?] = [
      "redirect_uri": redirectURI, "response_type": "code", "scope": "openid", "state": "s",
      "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256",
    ]
    return try await send("par", fields.merging(client) { $1 }.merging(changes) { $1 })
  }

  private func text(_ reply: Reply) -> String { String(decoding: reply.body, as: UTF8.self) }

  @Test("a pushed request of a client with a key is accepted, and the browser carries a reference")
  func accepted() async throws {
    let pushed = try await push(by: client())
    #expect(pushed.status == 201, "\(text(pushed))")
    let uri = try JSON(parsing: pushed.body)["request_uri"]?.text
    let reference = ["client_id": "usher-confidential", "request_uri": uri]
    let more = try await send("authorize", reference.merging(["scope": "openid"]) { $1 }, .get)
    #expect(more.status == 400)
    #expect(try await send("authorize", reference, .get).status == 200)
    let whole = try await send(
      "authorize", ["client_id": "usher-confidential", "response_type": "code"], .get)
    #expect(whole.status == 400)
  }

  @Test("what the profile does not permit is refused with a description that names it")
  func refused() async throws {
    let secret = ["client_id": "usher-confidential", "client_secret": "s3cret:with/odd+chars"]
    let replies: [(reply: Reply, words: String)] = [
      (try await push(by: secret), "the method client_secret_post"),
      (try await push(by: ["client_id": "usher"]), "the method none"),
      (try await push(by: client(["alg": "RS256"])), "alg of the assertion"),
      (try await push(by: client([:], ["aud": .string(Self.issuer + "/token")])), "aud is not"),
      (try await push(by: client([:], ["aud": [.string(Self.issuer)]])), "aud is not"),
      (try await push(["response_mode": "form_post"], by: client()), "response_mode"),
      (try await push(["code_challenge_method": "plain"], by: client()), "S256"),
      (try await send("device_authorization", client()), "no profile of this grant"),
      (
        try await send("token", client().merging(["grant_type": "client_credentials"]) { $1 }),
        "header DPoP is missing"
      ),
      (try await send("bc-authorize", client().merging(["scope": "openid"]) { $1 }), "login_hint"),
      (
        try await send(
          "bc-authorize", client().merging(["scope": "openid", "login_hint": "alice"]) { $1 }),
        "binding_message"
      ),
    ]
    for (reply, words) in replies {
      #expect([400, 401].contains(reply.status) && text(reply).contains(words), "\(words)")
    }
  }
}
