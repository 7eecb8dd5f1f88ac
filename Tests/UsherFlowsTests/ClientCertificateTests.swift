import Crypto
import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Certificates of a client")
struct ClientCertificateTests {
  private static func random(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
  }

  private func pem() throws -> String {
    try ClientCertificate.selfSigned(for: "usher", at: now, Self.random).revealed()
  }

  private func read(_ pem: String) throws -> ClientCertificate {
    try ClientCertificate(pem: Secret(pem), named: "work-certificate", of: name)
  }

  /// The request of a call by a client with a certificate.
  private func render(
    _ call: OIDCCall, _ pem: String, auth: OIDCClientAuth = .selfSignedTLSClientAuth,
    at time: Timestamp = now
  ) throws -> HTTPRequest {
    let provider = try provider {
      $0.clientCredential = "work-certificate"
      $0.clientAuth = auth
    }
    return try call.render(
      RenderContext(
        provider: Provider(provider)!, credential: Secret(pem), transition: moment(time)))
  }

  @Test("a self-signed certificate names the client, is the key's, and lasts ten years")
  func selfSigned() throws {
    let pem = try pem()
    let certificate = try read(pem)
    #expect(certificate.subject == "CN=usher" && certificate.chain.count == 1)
    #expect(certificate.flaw(at: now + .seconds(9 * 365 * 86_400)) == nil)
    let flaw = certificate.flaw(at: now + .seconds(11 * 365 * 86_400))
    #expect(flaw?.contains("set a new one: usherctl credential set work-certificate") == true)
    #expect(certificate.jwk["x5c"]?.arrayValue?.count == 1 && certificate.jwk["d"] == nil)
    let key = try #require(ClientKey(pem: certificate.key))
    #expect(certificate.jwk["kid"]?.stringValue == key.keyID)
  }

  @Test("a credential without exactly one private key, and its certificate first, is refused")
  func malformed() throws {
    let (one, other) = (try pem(), try pem())
    let begin = "-----BEGIN CERTIFICATE-----"
    let (oneParts, otherParts) = (one.split(separator: begin), other.split(separator: begin))
    let (key, certificate) = (String(oneParts[0]), begin + oneParts[1])
    let stranger = begin + otherParts[1]
    for bad in ["", "secret", key, certificate, key + key + certificate, key + begin] {
      #expect(throws: InvalidValue.self, "\(bad.count)") { try read(bad) }
    }
    #expect(throws: InvalidValue("has a first certificate that is not the private key's")) {
      try read(key + stranger + certificate)
    }
    #expect(try read(certificate + stranger + key).chain.count == 2)
    // An intermediate certificate with which no TLS connection can be made.
    let broken = begin + "\nAAAA\n-----END CERTIFICATE-----\n"
    #expect(throws: InvalidValue.self) { try read(key + certificate + broken) }
  }

  @Test("a client with a certificate presents it, and sends its id alone")
  func rendered() throws {
    let pem = try pem()
    let all = metadata {
      $0.pushedAuthorizationRequestEndpoint = issuer + "/par"
      $0.backchannelAuthenticationEndpoint = issuer + "/backchannel"
    }
    let refresh = OIDCCall.refresh(Secret("r"), scope: nil, metadata())
    let calls: [OIDCCall] = [
      refresh, .clientCredentials(scope: "", metadata()),
      .revoke(.init(token: Secret("t"), kind: .accessToken), metadata()),
      .deviceAuthorization(scope: "a", metadata()),
      .devicePoll(deviceCode: Secret("d"), metadata()),
      .pushAuthorization(["scope": "a"], all),
      .backchannelAuthentication(
        .init(scope: "a", loginHint: "ada", bindingMessage: nil, acrValues: nil, audiences: []),
        all),
      .backchannelPoll(requestID: Secret("q"), all),
      .tokenExchange(.init(subject: Secret("t"), scope: nil, audience: "a"), metadata()),
      refresh.bound(to: DPoPKey.make(Self.random)),
    ]
    for call in calls {
      let request = try render(call, pem)
      #expect(request.certificate == (try read(pem)), "\(call.name)")
      #expect(!request.headers.contains { $0.name == "Authorization" })
      let fields = try #require(FormEncoding.decode(request.body?.revealed() ?? ""))
      #expect(fields.contains { $0.name == "client_id" && $0.value == "usher" })
      #expect(!fields.contains { $0.name.hasPrefix("client_") && $0.name != "client_id" })
    }
    let userinfo = try render(.userinfo(accessToken: Secret("a"), metadata()), pem)
    #expect(userinfo.certificate != nil)
    let keys = try render(.jwks(url: "https://id.example.com/jwks"), pem)
    #expect(keys.certificate == nil)
    let secret = try render(calls[0], "secret", auth: .post)
    #expect(secret.certificate == nil)
  }

  @Test("a certificate that has ended, or an endpoint without TLS, stops the request")
  func stopped() throws {
    let pem = try pem()
    let call = OIDCCall.refresh(Secret("r"), scope: nil, metadata())
    #expect(throws: UsherError.self) {
      try render(call, pem, at: now + .seconds(11 * 365 * 86_400))
    }
    let plain = OIDCCall.refresh(
      Secret("r"), scope: nil, metadata { $0.tokenEndpoint = "http://127.0.0.1:1/token" })
    #expect(throws: UsherError.self) { try render(plain, pem) }
    #expect(throws: UsherError.self) { try render(call, "secret") }
  }

  @Test("the aliases for mutual TLS replace the endpoints of a client with a certificate only")
  func aliases() throws {
    let document: JSONValue = [
      "issuer": .string(issuer), "token_endpoint": "https://id.example.com/token",
      "userinfo_endpoint": "https://id.example.com/userinfo",
      "authorization_endpoint": "https://id.example.com/authorize",
      "jwks_uri": "https://id.example.com/jwks",
      "tls_client_certificate_bound_access_tokens": true,
      "mtls_endpoint_aliases": [
        "token_endpoint": "https://mtls.example.com/token",
        "authorization_endpoint": "https://mtls.example.com/authorize",
        "jwks_uri": "https://mtls.example.com/jwks",
      ],
    ]
    func read(_ auth: OIDCClientAuth, _ document: JSONValue) throws -> Discovery {
      OIDCMetadata.read(
        documents: [document],
        settings: try settings {
          $0.clientAuth = auth
          $0.clientCredential = auth == .auto ? nil : "work-certificate"
        })
    }
    for auth in [OIDCClientAuth.tlsClientAuth, .selfSignedTLSClientAuth, .auto] {
      guard case .found(let metadata) = try read(auth, document) else {
        Issue.record("the metadata is refused")
        continue
      }
      let host = auth == .auto ? "id" : "mtls"
      #expect(metadata.tokenEndpoint == "https://\(host).example.com/token")
      #expect(metadata.userinfoEndpoint == "https://id.example.com/userinfo")
      #expect(metadata.authorizationEndpoint == "https://id.example.com/authorize")
      #expect(metadata.jwksURI == "https://id.example.com/jwks")
      #expect(metadata.bindsAccessTokensToCertificate == true)
    }
    // The operator's choice precedes that of the metadata.
    let chosen = try ProviderURL(setting: "https://chosen.example.com/token")
    let configured = OIDCMetadata.read(
      documents: [document],
      settings: try settings {
        ($0.clientAuth, $0.clientCredential) = (.tlsClientAuth, "work-certificate")
        $0.endpoints.token = chosen
      })
    guard case .found(let metadata) = configured else {
      Issue.record("the metadata is refused")
      return
    }
    #expect(metadata.tokenEndpoint == chosen.text)
    // An alias that names this machine is refused like any other endpoint.
    var bad = document
    bad["mtls_endpoint_aliases"] = ["token_endpoint": "https://127.0.0.1/token"]
    guard case .unusable(let message) = try read(.tlsClientAuth, bad) else {
      Issue.record("the metadata is accepted")
      return
    }
    #expect(message.contains("mtls_endpoint_aliases.token_endpoint"))
  }
}
