import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens for workloads, by assertions that another program writes into a file (RFC 7523 §2.1), and
/// clients that authenticate themselves by such an assertion (§2.2).
@Suite("Assertions of other issuers", .mayBlock, .timeLimit(.minutes(10)))
struct WorkloadTests {
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  private static let subject = "conformance-workload"

  let fixture: OIDCFixture
  private let place: TemporaryDirectory
  private let clock = MovableClock()

  init() throws {
    let place = try TemporaryDirectory()
    self.place = place
    let file = place.file("token")
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      """
      [[provider]]
      name = "workload"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher"
      audience_parameter = "resource"
      [provider.jwt_bearer]
      assertion_file = "\(file)"

      [[provider]]
      name = "federated"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_assertion_file = "\(file)"
      client_credentials_grant = true

      """
    }
    try fixture.sandbox.control("POST", "module", ["name": "auth/wif-jwt-bearer"])
    try write(assertion())
  }

  private var file: String { place.file("token") }

  /// Returns a token of the issuer that the provider trusts.
  private func assertion(_ more: [String: JSONValue] = [:]) throws -> String {
    let body = ["sub": .string(Self.subject)].merging(more) { $1 }
    let reply = try fixture.sandbox.control("POST", "assertion", .object(body))
    return try #require(reply["assertion"]?.stringValue)
  }

  /// Replaces the file as a program does that renews it.
  private func write(_ text: String, mode: Int = 0o600) throws {
    let draft = place.file("draft")
    try Data("\(text)\n".utf8).write(to: URL(filePath: draft))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: draft)
    #expect(rename(draft, file) == 0)
  }

  private func begin(_ params: JSONValue = [:]) throws -> JSONValue {
    try fixture.app.finished(fixture.app.startFlow("workload", "jwtBearer", params: params))
  }

  private func token(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.token(.object(["provider": "workload"].merging(more) { $1 }))
  }

  private func introspect(_ token: JSONValue) throws -> JSONValue {
    try fixture.set(["clientAuthMethods": []])
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    return try JSONValue(parsing: reply.body)
  }

  private var requests: Int {
    get throws { try fixture.sandbox.requests("token", grantType: Self.grantType) }
  }

  @Test("a workload gets a token by the assertion in its file (auth/wif-jwt-bearer)")
  func whole() throws {
    let end = try begin(["scope": "mcp:basic"])
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account = try fixture.account(of: end)
    #expect(account["subject"] == "usher" && account["label"] == "workload usher")
    #expect(account["attributes"]?["grant"] == "jwt_bearer")
    let token = try token()
    #expect(token["scope"] == "mcp:basic")
    #expect(try self.token() == token)
    #expect(try requests == 1)
    let known = try introspect(token)
    #expect(known["sub"]?.stringValue == Self.subject && known["client_id"] == "usher")
    #expect(!fixture.daemon.log.contains("eyJ"))
  }

  @Test("each request has the assertion that the file has then, also for an audience")
  func rotated() throws {
    _ = try begin(["scope": "mcp:basic"])
    try clock.advance(by: 301)
    // The first assertion has ended by now, as the access token has.
    try write(assertion())
    let resource: JSONValue = "https://api.example.com"
    #expect(try introspect(token())["sub"]?.stringValue == Self.subject)
    #expect(try introspect(token(["audience": resource]))["aud"] == resource)
  }

  @Test("an assertion that has ended is not sent, and the error names the file")
  func ended() throws {
    _ = try begin()
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "workload"])
    let message = error["message"]?.stringValue ?? ""
    #expect(message.contains(file) && message.contains("ended at"), "\(error.text)")
    #expect(try requests == 1)
    // The daemon waits a moment after a failure.
    try clock.advance(by: 60)
    try write(assertion())
    #expect(try token()["accessToken"] != nil)
  }

  @Test(
    "the provider's refusal ends the flow at once, and no other grant is tried",
    arguments: ["invalid_grant", "invalid_scope", "unauthorized_client"])
  func refused(code: String) throws {
    try fixture.spoil("token", ["status": 400, "body": ["error": .string(code)]])
    let end = try begin(["scope": "mcp:basic"])
    #expect(end["failure"]?["provider"]?["code"]?.stringValue == code, "\(end.text)")
    #expect(try fixture.requests("token") == 1)
    #expect(try requests == 1)
  }

  @Test("an assertion for another audience, or of an unknown workload, is refused by the provider")
  func foreign() throws {
    try write(assertion(["aud": "https://wrong.example"]))
    #expect(try begin()["failure"]?["provider"]?["code"] == "invalid_grant")
    try write(assertion(["sub": "another"]))
    #expect(try begin()["failure"]?["provider"]?["code"] == "invalid_grant")
    #expect(try requests == 2)
  }

  @Test("a caller can choose no subject: the assertion says whom the token is for")
  func noSubject() throws {
    let error = try fixture.app.error(
      of: "flow.start",
      ["provider": "workload", "kind": "jwtBearer", "params": ["subject": "usr_alice"]])
    #expect(error.data["reason"] == "permission_denied")
    #expect(try requests == 0)
  }

  @Test("a file that others can write, that is no file, or that has no assertion, is not sent")
  func badFile() throws {
    let finding = { () throws -> JSONValue? in
      let reply = try fixture.daemon.admin().call("provider.check", ["provider": "workload"])
      return reply["findings"]?.arrayValue?.first {
        $0["subject"]?.stringValue == "file \(file)"
      }
    }
    #expect(try finding()?["fine"] == true)
    try write(assertion(), mode: 0o666)
    #expect(try finding()?["message"]?.stringValue?.contains("chmod go-w \(file)") == true)
    try write("s3cret:with/odd+chars")
    let noToken = try finding()
    #expect(noToken?["message"]?.stringValue?.contains("not a JWT") == true)
    #expect(noToken?.hasSecret == false)
    try write(String(repeating: "a", count: 65_537))
    #expect(try finding()?["message"]?.stringValue?.contains("longer") == true)
    try FileManager.default.removeItem(atPath: file)
    #expect(try finding()?["message"]?.stringValue?.contains("No such file") == true)
    #expect(mkfifo(file, 0o600) == 0)
    #expect(try finding()?["message"]?.stringValue?.contains("not a regular file") == true)
    #expect(try begin()["status"] == "failed")
    #expect(try requests == 0)
  }

  @Test("a link leads to the assertion, as in Kubernetes")
  func link() throws {
    try write(assertion())
    #expect(rename(file, place.file("data")) == 0)
    #expect(symlink(place.file("data"), file) == 0)
    #expect(try begin()["status"] == "succeeded")
  }

  @Test("a client authenticates itself by the assertion in the file")
  func federated() throws {
    try fixture.set([
      "clientAuthMethods": ["private_key_jwt"],
      "workloads": [Self.subject: "usher-confidential"],
    ])
    let end = try fixture.app.finished(fixture.app.startFlow("federated", "clientCredentials"))
    #expect(end["status"] == "succeeded", "\(end.text)")
    try fixture.app.signIn("federated")
    try write("no token")
    let refused = try fixture.app.finished(
      fixture.app.startFlow("federated", "clientCredentials"))
    #expect(refused["status"] == "failed")
  }
}
