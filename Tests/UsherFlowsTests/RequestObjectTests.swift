import Crypto
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Signed authorization requests")
struct RequestObjectTests {
  private static let key = P256.Signing.PrivateKey()

  /// Returns a flow whose listener is open.
  private func opened(
    _ setting: OIDCSignedRequests = .always, requires: Bool = false, pushes: Bool = false,
    _ change: (inout OIDCSettings) -> Void = { _ in },
    _ params: OIDCAuthorize.Params = .init()
  ) throws -> DrivenAuthorize {
    var driven = try DrivenAuthorize(params) {
      $0.clientCredential = "work-key"
      $0.signedRequests = setting
      $0.pushedRequests = pushes ? .always : .auto
      change(&$0)
    }
    driven.toBrowser(
      metadata {
        $0.requiresSignedRequests = requires ? true : nil
        $0.pushedAuthorizationRequestEndpoint = issuer + "/par"
      })
    return driven
  }

  private func object(_ driven: DrivenAuthorize) -> RequestObject? {
    guard case .proceed(let effects) = driven.last, case .sign(let object)? = effects.first
    else { return nil }
    return object
  }

  private func context(_ credential: String?) throws -> RenderContext<OIDCSettings> {
    let provider = try provider { $0.clientCredential = credential.map { _ in "work-key" } }
    return RenderContext(
      provider: try #require(Provider(provider)), credential: credential.map { Secret($0) },
      transition: moment())
  }

  @Test(
    "requests are signed if the provider requires it or the operator wants it",
    arguments: [
      (.auto, false, false), (.auto, true, true), (.always, false, true), (.never, true, false),
    ] as [(OIDCSignedRequests, Bool, Bool)])
  func chosen(setting: OIDCSignedRequests, requires: Bool, isSigned: Bool) throws {
    let driven = try opened(setting, requires: requires)
    #expect((object(driven) != nil) == isSigned)
    #expect(driven.flow.view.state == (isSigned ? "signing" : "authorizing"))
  }

  @Test("the browser carries the signed object, and beside it only what OpenID Connect demands")
  func byValue() throws {
    var params = OIDCAuthorize.Params()
    params.maxAgeSeconds = 60
    params.loginHint = "ada@example.com"
    var driven = try opened(
      .always,
      {
        $0.audienceParameter = .resource
        $0.audiences = ["https://a.example", "https://b.example"]
      }, params)
    let request = try #require(object(driven))
    #expect(request.audience == issuer && request.lifetime == .seconds(600))
    #expect(request.parameters["max_age"] == 60)
    #expect(request.parameters["resource"] == ["https://a.example", "https://b.example"])
    #expect(request.parameters["login_hint"] == "ada@example.com")
    #expect(request.parameters["redirect_uri"]?.stringValue == DrivenAuthorize.redirectURI)
    #expect(request.parameters["code_challenge_method"] == "S256")
    driven.receive(.provider(.signed(.signed(Secret("a.b.c")))))
    #expect(driven.flow.view.state == "authorizing")
    #expect(
      driven.query == [
        "client_id": "usher", "response_type": "code", "scope": "openid profile offline_access",
        "request": "a.b.c",
      ])
    driven.flow = try storedAndRead(driven.flow)
    #expect(driven.query["request"] == "a.b.c")
  }

  @Test("a pushed request has the object only, and a repeated push is signed again")
  func pushed() throws {
    var driven = try opened(pushes: true)
    #expect(object(driven)?.lifetime == .seconds(60))
    driven.receive(.provider(.signed(.signed(Secret("a.b.c")))))
    guard case .pushAuthorization(let fields, _)? = driven.calls.first else {
      Issue.record("the request is not pushed")
      return
    }
    #expect(fields == ["request": "a.b.c"])
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
    driven.receive(.woken)
    #expect(object(driven) != nil && driven.flow.view.state == "signing")
    driven.receive(.provider(.signed(.signed(Secret("d.e.f")))))
    // The reply to the first push is not the reply to this one.
    let accepted = reply(["request_uri": "urn:example:1", "expires_in": 60], status: 201)
    #expect(driven.receive(.called(call, .reply(accepted))) == .ignore)
    driven.receive(
      .called(
        .pushAuthorization(
          ["request": "d.e.f"],
          metadata {
            $0.pushedAuthorizationRequestEndpoint = issuer + "/par"
          }), .reply(accepted)))
    #expect(driven.query == ["client_id": "usher", "request_uri": "urn:example:1"])
  }

  @Test("a request that cannot be signed ends the sign-in; after a restart the round begins anew")
  func refused() throws {
    var driven = try opened()
    driven.receive(.provider(.signed(.refused(message: "credential work-key is not set"))))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message == "credential work-key is not set")
    driven = try opened()
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.resumed)
    #expect(driven.flow.view.state == "preparing")
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(object(driven) != nil)
  }

  @Test("the object names client, issuer, times and key, and the key has signed it")
  func signature() throws {
    let object = RequestObject(
      parameters: ["state": "s", "iss": "another"], audience: issuer, lifetime: .seconds(60))
    let token = try object.signed(context(Self.key.pemRepresentation)).revealed()
    let parts = token.split(separator: ".")
    let header = try JSONValue(parsing: try #require(Base64URL.decode(parts[0])))
    var claims =
      try JSONValue(parsing: try #require(Base64URL.decode(parts[1]))).objectValue ?? [:]
    #expect(header["typ"] == "oauth-authz-req+jwt" && header["alg"] == "ES256")
    #expect(header["kid"] != nil)
    let seconds = now.milliseconds / 1000
    #expect(claims.removeValue(forKey: "jti")?.stringValue?.count == 22)
    #expect(
      claims == [
        "state": "s", "iss": "usher", "client_id": "usher", "aud": .string(issuer),
        "iat": .integer(seconds - 5), "nbf": .integer(seconds - 5), "exp": .integer(seconds + 60),
      ])
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: try #require(Base64URL.decode(parts[2])))
    #expect(
      Self.key.publicKey.isValidSignature(
        signature, for: Array((parts[0] + "." + parts[1]).utf8)))
  }

  @Test("a client with a certificate signs with the certificate's key")
  func certificate() throws {
    let pem = try ClientCertificate.selfSigned(for: "usher", at: now) { count in
      (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
    let provider = try provider {
      $0.clientCredential = "work-certificate"
      $0.clientAuth = .selfSignedTLSClientAuth
    }
    let object = RequestObject(parameters: [:], audience: issuer, lifetime: .seconds(60))
    let token = try object.signed(
      RenderContext(
        provider: try #require(Provider(provider)), credential: pem, transition: moment()))
    let header = try #require(token.revealed().split(separator: ".").first)
    let key = try ClientCertificate(pem: pem, named: "work-certificate", of: name).jwk
    #expect(
      try JSONValue(parsing: #require(Base64URL.decode(header)))["kid"] == key["kid"])
  }

  @Test("a client without a private key cannot sign, and the message says what to do")
  func noKey() throws {
    let object = RequestObject(parameters: [:], audience: issuer, lifetime: .seconds(60))
    for (credential, words) in [
      (nil, "usherctl provider jwks work --create"), ("a secret", "is not a PEM text"),
    ] as [(String?, String)] {
      let error = try #require(throws: UsherError.self) {
        _ = try object.signed(context(credential))
      }
      #expect(error.message.contains(words) && !error.message.contains("a secret"))
    }
  }
}
