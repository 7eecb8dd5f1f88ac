import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Uses all grants and all methods of client authentication, and then searches for the secrets of
/// all of them in all places where they must not be.
@Suite(
  "Search for the secrets of OpenID clients and grants", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct OIDCCanaryTests {
  private static let secret = "s3cret:with/odd+chars"
  private static let initialToken = "initial-access-token-4d1e77"

  private let fixture: OIDCFixture
  private let admin: RawClient
  private let search: CanarySearch
  /// Kept, because its file ends with it.
  private let trust: TrustedAuthority

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture(logLevel: "trace") { sandbox in
      trust.provider("issued", at: sandbox) + Self.providers(at: sandbox.issuer)
    }
    admin = try fixture.daemon.admin()
    search = try CanarySearch(fixture.daemon)
    try fixture.set([
      "deviceInterval": 1, "registrationToken": .string(Self.initialToken),
    ])
    try fixture.sandbox.control("POST", "exchanges")
  }

  private static func providers(at issuer: String) -> String {
    let rows: [(name: String, client: String?, settings: String)] = [
      (
        "signed", "usher-confidential",
        """
        client_credential = "client-key"
        client_auth = "private_key_jwt"
        pushed_requests = "always"
        signed_requests = "always"
        response_mode = "form_post.jwt"
        dpop = true
        """
      ),
      (
        "posted", "usher-confidential",
        """
        client_credential = "work-secret"
        client_auth = "post"
        client_credentials_grant = true
        response_mode = "form_post"
        """
      ), ("basic", "usher-confidential", "client_credential = \"work-secret\""),
      (
        "exchanging", "usher",
        """
        response_mode = "query.jwt"
        audience_parameter = "audience"
        token_exchange = true
        dpop = true
        """
      ),
      (
        "sealed", "usher",
        """
        id_token_encrypted_response_alg = "ECDH-ES"
        decryption_credential = "decryption-key"
        """
      ),
      (
        "robot", "usher",
        """
        [provider.jwt_bearer]
        key_credential = "robot-key"
        issuer = "robot@project.example"
        """
      ), ("registered", nil, ""),
    ]
    return rows.map { row in
      """
      [[provider]]
      name = "\(row.name)"
      type = "oidc"
      issuer = "\(issuer)"
      \(row.client.map { "client_id = \"\($0)\"" } ?? "")
      \(row.settings)

      """
    }.joined()
  }

  @Test("no secret is in the log, the files, the audit log, events or any reply that is not for it")
  func everywhere() throws {
    var keys = try setKeys()
    keys += [try fixture.setCertificate("issued")]
    try signIns()
    var handedOut = try renewals()
    handedOut += try endOfSession()
    let registration = try changeRegistration()
    try faults()
    try lists()

    let wire = try WireSecrets(recordedBy: fixture.sandbox)
    #expect(
      WireSecrets.allKinds.subtracting(wire.byKind.keys) == [], "secrets that were never exchanged")
    // One of each kind in all encodings, and all of them as they are.
    let lines = keys.flatMap { PrivateKeyText.lines(in: $0) }
    #expect(lines.count >= 8, "each key has two whole lines")
    let samples = wire.byKind.values.compactMap(\.first)
    let others = wire.all.union(handedOut).subtracting(samples)
    #expect(others.count > 50, "only \(others.count) secrets")
    try search.recordEvents()
    let told = Data(search.told.joined(separator: "\n").utf8)
    for (name, bytes) in search.files() + [("replies and events", told)] {
      for secret in others where bytes.range(of: Data(secret.utf8)) != nil {
        let kind = wire.byKind.first { $0.value.contains(secret) }?.key ?? "a token"
        Issue.record("\(name) contains \(kind)")
      }
    }
    try search.expectNone(
      of: samples + lines + registration + [Self.secret, Self.initialToken],
      keys: [PrivateKeyText.start(in: keys[0])],
      found: ["registered", "client-key", "robot@project.example", "token.get"])
  }

  @Test("the search finds a private key in PEM, and the secrets of an exchange")
  func finds() throws {
    let pem = try #require(try setKeys().first)
    let start = Trace(try PrivateKeyText.start(in: pem))
    #expect(start.isIn(Data(pem.utf8)))
    #expect(PrivateKeyText.lines(in: pem).count == 2)
    try fixture.app.signIn("basic")
    let wire = try WireSecrets(recordedBy: fixture.sandbox)
    let token = try fixture.token(["provider": "basic"])["accessToken"]?.stringValue ?? ""
    #expect(wire.byKind["access_token"] == [token])
    #expect(wire.byKind["Authorization"]?.contains(token) == true)
    #expect(wire.byKind["code"] == wire.byKind["redirected code"] && wire.byKind["code"] != nil)
  }
}

// Uses of the secrets.
extension OIDCCanaryTests {
  /// Sets a key of the operator's for each purpose, and registers them with the provider.
  ///
  /// - Returns: The keys in PEM.
  private func setKeys() throws -> [String] {
    let names = ["client-key", "robot-key", "decryption-key"]
    let pems = try names.map { name in
      let issued = try fixture.sandbox.control("POST", "certificate", ["name": "usher-tls"])["pem"]
      let pem = issued?.stringValue ?? ""
      let end = "-----END PRIVATE KEY-----"
      let key = try #require(pem.range(of: end).map { String(pem[..<$0.lowerBound]) + end + "\n" })
      try fixture.daemon.setCredential(name, key)
      return key
    }
    try fixture.daemon.setCredential("work-secret", Self.secret)
    var sets: [JSONValue] = []
    for provider in ["signed", "robot", "sealed"] {
      let keys = try admin.call("provider.jwks", ["provider": .string(provider)])
      sets.append(search.record(keys))
    }
    try fixture.set([
      "clientKeys": [
        "usher-confidential": sets[0], "robot@project.example": sets[1], "usher": sets[2],
      ]
    ])
    return pems
  }

  private func signIns() throws {
    let made = try fixture.daemon.usherctl(
      ["provider", "register", "registered", "--initial-access-token"],
      input: Self.initialToken + "\n")
    try #require(made.status == 0, "\(made.errors)")
    search.record(["output": .string(made.output + made.errors)])
    for provider in ["signed", "posted", "basic", "exchanging", "issued", "registered"] {
      try succeed(provider, "authorize")
    }
    try fixture.set(["idToken": ["encryption": ["alg": "ECDH-ES"]]])
    try succeed("sealed", "authorize")
    try fixture.set(["idToken": .null])
    try succeed("demo", "device")
    try succeed("basic", "backchannel", ["loginHint": "alice"])
    for provider in ["posted", "issued"] { try succeed(provider, "clientCredentials") }
    try succeed("robot", "jwtBearer")
  }

  private func succeed(
    _ provider: String, _ kind: String, _ params: JSONValue = [:]
  ) throws {
    let end = try run(provider, kind, params)
    try #require(end["status"] == "succeeded", "\(provider) \(kind): \(end.text)")
  }

  /// Runs a flow until it ends or has a problem, and records what the daemon shows of it.
  @discardableResult
  private func run(
    _ provider: String, _ kind: String, _ params: JSONValue = [:]
  ) throws -> JSONValue {
    var flow = try fixture.app.flow(
      in: fixture.app.call(
        "flow.start",
        ["provider": .string(provider), "kind": .string(kind), "params": params]))
    var shown = ""
    try eventually("the flow \(kind) at \(provider) ends or has a problem") {
      guard flow["status"] == "active", flow["problem"]?.isNull != false else { return true }
      switch flow.stepType {
      case "openURL" where shown != flow.url:
        shown = flow.url
        search.record(page: try Person.deliver(Person.decide(at: shown)))
      case "displayCode" where shown != flow["step"]?["userCode"]?.stringValue:
        shown = flow["step"]?["userCode"]?.stringValue ?? ""
        let page = flow["step"]?["verificationURI"]?.stringValue ?? ""
        _ = try Person.decide(at: page, userCode: shown)
      case "wait" where flow["state"] == "authorization_pending":
        try fixture.sandbox.control("POST", "backchannel", ["user": "alice"])
      default: break
      }
      let wait: JSONValue = [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 2000,
      ]
      flow = try fixture.app.flow(in: fixture.app.call("flow.wait", wait))
      return false
    }
    search.record(flow)
    if flow["status"] == "active" { search.record(try fixture.cancel(flow)) }
    return flow
  }

  /// Gets tokens and proofs in all ways.
  ///
  /// - Returns: The tokens and proofs that the daemon handed out.
  private func renewals() throws -> [String] {
    var handedOut: [String] = []
    for provider in ["signed", "exchanging", "issued", "registered", "sealed"] {
      let account = try accountID(provider)
      // A refresh would return an ID token that is not encrypted any more.
      if provider != "sealed" {
        let token = try fixture.token(["account": account, "forceRefresh": true])
        handedOut += [token["accessToken"]?.stringValue ?? ""]
      }
      let token = try fixture.token(["account": account, "field": "idToken"])
      handedOut += [token["idToken"]?.stringValue ?? ""]
    }
    let exchanged = try fixture.token([
      "account": accountID("exchanging"), "audience": "mail",
    ])
    handedOut += [exchanged["accessToken"]?.stringValue ?? ""]
    let proof = try fixture.app.call(
      "token.proof",
      [
        "account": accountID("signed"), "method": "GET",
        "url": .string("\(fixture.sandbox.issuer)/userinfo"),
      ])
    #expect(proof["tokenType"] == "DPoP")
    handedOut += [proof["proof"]?.stringValue ?? ""]
    #expect(handedOut.allSatisfy { $0.count >= 16 })
    search.record(
      try fixture.app.reply(to: "account.forget", ["account": accountID("posted")]))
    return handedOut
  }

  /// Returns the id of the first account of a person at a provider.
  private func accountID(_ provider: String) throws -> JSONValue {
    let mine = try fixture.accounts.filter {
      $0["provider"]?.stringValue == provider && $0["subject"]?.stringValue == "usr_alice"
    }
    return try #require(mine.first?["id"], "there is no account at \(provider)")
  }

  /// Ends a session, whose page has the ID token in its address.
  ///
  /// - Returns: The ID token.
  private func endOfSession() throws -> [String] {
    let flow = try fixture.app.startFlow("basic", "endSession")
    let hint = try #require(flow.url.firstMatch(of: /id_token_hint=([^&]*)/)?.1)
    let back = try #require(try Web.get(flow.url).location)
    search.record(page: try Web.get(back))
    search.record(try fixture.app.finished(flow))
    return [String(hint)]
  }

  /// Replaces the registration access token.
  ///
  /// - Returns: The secrets of the client.
  private func changeRegistration() throws -> [String] {
    let update: JSONValue = ["provider": "registered", "update": true]
    search.record(try admin.call("provider.register", update))
    let client = try #require(
      try fixture.sandbox.control("GET", "registrations")["clients"]?.arrayValue?.first)
    let secrets = ["client_secret", "registration_access_token"].compactMap {
      client[$0]?.stringValue
    }
    #expect(secrets.count == 2)
    // The provider repeats the secrets of each request in its error.
    try fixture.spoil("registration", Self.echo(secrets), times: 1)
    search.record(try admin.error(of: "provider.register", update))
    try fixture.spoil("token", Self.echo([secrets[0]]), times: 1)
    search.record(try refreshError("registered"))
    return secrets
  }

  /// Makes a refresh that must fail, and returns its error.
  private func refreshError(_ provider: String) throws -> JSONValue {
    let params: JSONValue = ["account": try accountID(provider), "forceRefresh": true]
    var error: JSONValue = .null
    try eventually("a refresh is not limited") {
      error = try fixture.app.error(of: "token.get", params)
      return error.data["reason"] != "rate_limited"
    }
    return error
  }

  /// An error of the provider that repeats secrets.
  private static func echo(_ secrets: [String]) -> JSONValue {
    let text = "not accepted: " + secrets.joined(separator: " and ")
    return [
      "status": 400, "body": ["error": "invalid_request", "error_description": .string(text)],
    ]
  }

  /// Makes each call of the flows fail once: its answer is cut after the provider has processed it,
  /// or is an error that repeats the client's secret.
  private func faults() throws {
    let cut: JSONValue = ["processed": true, "halfBody": true]
    let echo = Self.echo([Self.secret])
    let faults: [(fault: JSONValue, endpoint: String, provider: String, kind: String)] = [
      (cut, "par", "signed", "authorize"), (cut, "token", "signed", "authorize"),
      (cut, "token", "posted", "authorize"), (cut, "token", "exchanging", "authorize"),
      (cut, "userinfo", "basic", "authorize"), (cut, "device", "demo", "device"),
      (cut, "token", "demo", "device"), (cut, "backchannel", "basic", "backchannel"),
      (cut, "token", "basic", "backchannel"), (cut, "token", "posted", "clientCredentials"),
      (cut, "token", "robot", "jwtBearer"), (echo, "token", "posted", "authorize"),
      (echo, "backchannel", "basic", "backchannel"), (echo, "token", "basic", "authorize"),
      (echo, "token", "posted", "clientCredentials"),
    ]
    for (fault, endpoint, provider, kind) in faults {
      try spoiling(endpoint, fault) {
        try run(provider, kind, kind == "backchannel" ? ["loginHint": "alice"] : [:])
      }
    }
    try spoiling("token", cut) { search.record(try refreshError("signed")) }
    let params: JSONValue = ["account": try accountID("exchanging"), "audience": "files"]
    try spoiling("token", cut) {
      search.record(try fixture.app.error(of: "token.get", params))
    }
  }

  /// Runs `body` while the next request for an endpoint fails.
  private func spoiling(_ endpoint: String, _ fault: JSONValue, _ body: () throws -> Void) throws {
    try fixture.spoil(endpoint, fault, times: 1)
    try body()
    try fixture.sandbox.control("DELETE", "faults")
  }

  private func lists() throws {
    for provider in ["signed", "posted", "issued", "sealed", "robot", "registered"] {
      for method in ["provider.check", "provider.jwks"] {
        search.record(try admin.reply(to: method, ["provider": .string(provider)]))
      }
      search.record(try fixture.app.reply(to: "provider.get", ["provider": .string(provider)]))
    }
    for account in try fixture.accounts {
      search.record(
        try fixture.app.reply(to: "account.get", ["account": account["id"] ?? .null]))
    }
    for method in ["audit.list", "system.status", "credential.list"] {
      search.record(try admin.reply(to: method))
    }
    try search.recordLists(
      commands: [
        ["config", "show"], ["credential", "list"], ["account", "list"], ["token", "list"],
        ["flow", "list"], ["provider", "list"], ["provider", "jwks", "signed"],
        ["--json", "account", "list"], ["--json", "flow", "list"],
      ])
  }
}

extension OIDCFixture {
  /// Creates a fixture whose daemon logs in detail.
  ///
  /// - Parameter more: Returns further `[[provider]]` tables for the sandbox.
  fileprivate init(logLevel: String, more: (SandboxUnderTest) -> String) throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: sandbox.provider() + more(sandbox) + """
        [limits]
        flow_starts_per_minute = 10000
        force_refresh_seconds = 1
        """, logLevel: logLevel)
    app = try daemon.client()
  }
}
