import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Mutual TLS (RFC 8705). The sandbox demands the certificates at its TLS listener, to which only
/// `mtls_endpoint_aliases` leads; its other endpoints are plain http.
@Suite("Clients with certificates", .mayBlock, .timeLimit(.minutes(10)))
struct CertificateTests {
  let fixture: OIDCFixture
  let admin: RawClient
  private let clock = MovableClock()
  private let trust: TrustedAuthority

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      trust.provider("issued", at: sandbox) + trust.provider("twin", at: sandbox)
        + trust.provider("own", at: sandbox)
    }
    admin = try fixture.daemon.admin()
  }

  /// Signs in at a provider, refreshes and revokes: authenticated requests at each endpoint.
  private func useAll(_ provider: String) throws {
    let account = try fixture.app.signIn(provider)["result"]?["account"] ?? .null
    let first = try fixture.token(["account": account])
    let second = try fixture.token(["account": account, "forceRefresh": true])
    #expect(second["accessToken"] != first["accessToken"])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
  }

  private func finding(_ subject: String, _ provider: String = "issued") throws -> JSONValue {
    let findings = try admin.call("provider.check", ["provider": .string(provider)])["findings"]
    return findings?.arrayValue?.first { $0["subject"]?.stringValue == subject } ?? .null
  }

  @Test(
    "a client with an issued certificate signs in, refreshes and revokes at the aliases",
    arguments: [false, true])
  func issued(pushes: Bool) throws {
    try fixture.set(["requirePushedRequests": .bool(pushes)])
    try fixture.setCertificate("issued")
    try useAll("issued")
    #expect(try fixture.requests("par") == (pushes ? 1 : 0))
    #expect(try finding("token endpoint")["message"] == "it accepts the client")
    #expect(try finding("access tokens") == .null)
    #expect(!fixture.daemon.log.contains("PRIVATE KEY"))
  }

  @Test("a client with an issued certificate gets tokens for itself")
  func clientCredentials() throws {
    try fixture.setCertificate("issued")
    let flow = try fixture.app.startFlow("issued", "clientCredentials")
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.token(["provider": "issued"])["accessToken"] != nil)
  }

  @Test("a client signs in by the self-signed certificate that usherctl made and registered")
  func selfSigned() throws {
    let made = try fixture.daemon.usherctl(["provider", "jwks", "own", "--create"])
    #expect(made.status == 0, "\(made.errors)")
    let keySet = try JSONValue(parsing: Array(made.output.utf8))
    let encoded = try #require(keySet["keys"]?[0]?["x5c"]?[0]?.stringValue)
    #expect(keySet["keys"]?[0]?["d"] == nil)
    // The provider does not know the certificate yet.
    let unknown = try finding("token endpoint", "own")
    #expect(unknown["fine"] == false)
    #expect(unknown["message"]?.stringValue?.contains("usherctl provider jwks own") == true)
    try fixture.set(["clientKeys": ["usher-self-signed": keySet]])
    try useAll("own")

    let printed = try fixture.daemon.usherctl(["provider", "jwks", "own", "--certificate"])
    #expect(printed.output.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
    let lines = printed.output.split(separator: "\n").filter { !$0.hasPrefix("-----") }
    #expect(lines.joined() == encoded && lines.allSatisfy { $0.count <= 64 })
    // It is kept, and not made anew.
    try fixture.daemon.restart()
    let again = try fixture.daemon.admin().call(
      "provider.jwks", ["provider": "own", "create": true])
    #expect(again == keySet)
  }

  @Test("a token that is bound to the certificate is refreshed with no other certificate")
  func bound() throws {
    try fixture.set(["certificateBoundTokens": true])
    try fixture.setCertificate("issued")
    _ = try fixture.app.signIn("issued")
    let token = try fixture.token(["provider": "issued", "forceRefresh": true])
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    #expect(try JSONValue(parsing: reply.body)["cnf"]?["x5t#S256"]?.stringValue?.count == 43)
    // Without the certificate nobody can use it.
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
    try clock.advance(by: 2)
    #expect(
      try finding("access tokens")["message"]?.stringValue?.contains("binds them") == true)
    try fixture.setCertificate("issued")
    let error = try fixture.app.error(
      of: "token.get", ["provider": "issued", "forceRefresh": true])
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(!error.hasSecret)
  }

  @Test("a certificate of another client is refused, also beside a connection of the right one")
  func otherSubject() throws {
    try fixture.setCertificate("issued")
    try fixture.setCertificate("twin", name: "somebody-else")
    _ = try fixture.app.signIn("issued")
    let flow = try fixture.app.startFlow("twin")
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end.failure["provider"]?["code"] == "invalid_client")
    #expect(!end.hasSecret)
    let refused = try finding("token endpoint", "twin")
    #expect(refused["message"]?.stringValue?.contains("refuses the client") == true)
  }

  @Test("the error of a handshake in which the certificate is refused names the certificate")
  func refusedHandshake() throws {
    try fixture.setCertificate("issued", isForeign: true)
    let refused = try finding("token endpoint")
    #expect(refused["fine"] == false)
    let message = refused["message"]?.stringValue ?? ""
    #expect(message.contains("refuses the certificate in credential issued-certificate"))
  }

  @Test("provider.check tells when the certificate ends; an ended one is not sent")
  func ending() throws {
    try fixture.setCertificate("issued", seconds: 20 * 86_400)
    _ = try fixture.app.signIn("issued")
    let early = try finding("credential")
    #expect(early["message"]?.stringValue?.hasPrefix("it is set; its certificate for CN=") == true)
    #expect(early["message"]?.stringValue?.contains("soon") == false)
    try clock.advance(by: 10 * 86_400)
    let late = try finding("credential")
    #expect(late["fine"] == true && late["message"]?.stringValue?.contains("soon") == true)
    try clock.advance(by: 10 * 86_400 + 60)
    try fixture.forgetRequests()
    let over = try finding("credential")
    #expect(over["fine"] == false)
    let remedy = "set a new one: usherctl credential set issued-certificate"
    #expect(over["message"]?.stringValue?.contains(remedy) == true)
    let error = try fixture.app.error(of: "token.get", ["provider": "issued"])
    #expect(error.text.contains(remedy))
    #expect(try fixture.requests("token") == 0)
    // A new certificate ends the error.
    try fixture.setCertificate("issued")
    try eventually("the token is refreshed", moving: clock) {
      try fixture.app.reply(to: "token.get", ["provider": "issued"])["result"] != nil
    }
  }

  @Test("the aliases are for clients with certificates only, and must be https")
  func aliases() throws {
    try fixture.setCertificate("issued")
    try fixture.set([
      "discovery": ["mtls_endpoint_aliases": ["token_endpoint": "http://127.0.0.1:1/token"]]
    ])
    _ = try fixture.app.signIn()
    let flow = try fixture.app.startFlow("issued")
    #expect(flow["status"] == "failed")
    let message = flow.failure["message"]?.stringValue ?? ""
    #expect(message.contains("token_endpoint is not https"))
  }

  @Test("provider.jwks says what is missing, and makes no certificate that an authority must issue")
  func missing() throws {
    let error = try admin.error(of: "provider.jwks", ["provider": "issued", "create": true])
    #expect(error.data["field"] == "create")
    #expect(error["message"]?.stringValue?.contains("credential set issued-certificate") == true)
    try fixture.daemon.setCredential("issued-certificate", "not a certificate")
    let bad = try finding("credential")
    #expect(bad["fine"] == false)
    #expect(
      bad["message"] == "it is not a PEM text with a private key and its certificate")
  }
}

@Suite("Private keys of certificates", .mayBlock, .timeLimit(.minutes(10)))
struct CertificateSurvivalTests {
  let fixture: OIDCFixture
  /// Kept, because its file ends with it.
  private let trust: TrustedAuthority

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture { trust.provider("issued", at: $0) }
  }

  @Test("the private key of a certificate is in no file, log, reply or event", .ownProcess)
  func canary() throws {
    let search = try CanarySearch(fixture.daemon)
    let pem = try fixture.setCertificate("issued")
    let key = pem.components(separatedBy: "-----")[2].split(separator: "\n").map { String($0) }
    search.record(try fixture.app.signIn("issued"))
    search.record(try fixture.daemon.admin().call("provider.check", ["provider": "issued"]))
    search.record(try fixture.daemon.admin().call("provider.jwks", ["provider": "issued"]))
    try fixture.setCertificate("issued", isForeign: true)
    search.record(try fixture.daemon.admin().call("provider.check", ["provider": "issued"]))
    try search.recordLists()
    #expect(key.count >= 2)
    try search.expectNone(of: key.filter { $0.count == 64 }, found: ["issued-certificate"])
  }

  @Test("after kill -9 during the code exchange a client with a certificate signs in", .ownProcess)
  func killed() throws {
    try fixture.setCertificate("issued")
    try fixture.spoil("token", ["held": true])
    let flow = try fixture.app.startFlow("issued")
    try Person.signIn(at: flow.url)
    try eventually("the code is being redeemed") {
      try fixture.flow(flow)["state"] == "exchanging"
    }
    fixture.daemon.killAtOnce()
    try fixture.sandbox.control("DELETE", "faults")
    try fixture.daemon.start()
    let restarted = try fixture.again()
    var again: JSONValue = .null
    try eventually("the flow asks for a new sign-in") {
      again = try restarted.flow(flow)
      return again["step"]?["type"] == "openURL"
    }
    try Person.signIn(at: again.url)
    #expect(try restarted.app.finished(again)["status"] == "succeeded")
    #expect(try restarted.token(["provider": "issued"])["accessToken"] != nil)
  }
}

/// A file with the certificate of a sandbox's authority, and providers that trust it.
struct TrustedAuthority {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  /// Returns a `[[provider]]` whose client has a certificate: one that it signs itself with the
  /// name `own`, else one of the sandbox's authority, in the credential `NAME-certificate`.
  func provider(_ name: String, at sandbox: SandboxUnderTest) -> String {
    let isOwn = name == "own"
    let pem = try? sandbox.control("GET", "authority")["pem"]?.stringValue
    _ = try? place.write(pem ?? "", to: "authority.pem")
    return """
      [[provider]]
      name = "\(name)"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      ca_file = "\(place.file("authority.pem"))"
      client_id = "\(isOwn ? "usher-self-signed" : "usher-tls")"
      client_credential = "\(name)-certificate"
      client_auth = "\(isOwn ? "self_signed_tls_client_auth" : "tls_client_auth")"
      client_credentials_grant = true

      """
  }
}

extension OIDCFixture {
  /// Gives the client of a provider a new private key with a certificate of the sandbox.
  ///
  /// - Returns: Both, in PEM.
  @discardableResult
  func setCertificate(
    _ provider: String, name: String = "usher-tls", seconds: Int64 = 365 * 86_400,
    isForeign: Bool = false
  ) throws -> String {
    let pem = try sandbox.control(
      "POST", "certificate",
      ["name": .string(name), "seconds": .integer(seconds), "isForeign": .bool(isForeign)])["pem"]
    try daemon.setCredential("\(provider)-certificate", pem?.stringValue ?? "")
    return pem?.stringValue ?? ""
  }
}
