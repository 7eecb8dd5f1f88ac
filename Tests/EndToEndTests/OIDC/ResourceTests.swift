import JSONRPC
import Testing
import UsherTestKit

/// Sign-ins that begin with a protected resource, such as an MCP server (RFC 9728), and the modules
/// about authorization of the MCP client conformance suite.
@Suite("Sign-ins for a protected resource", .mayBlock, .timeLimit(.minutes(10)))
struct ResourceTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(clock, provider: "audience_parameter = \"resource\"")
  }

  private var resource: String { "\(fixture.sandbox.base)/mcp" }

  /// Runs `usherctl login` with more arguments, and signs in if it shows a page.
  private func login(_ arguments: [String]) throws -> (status: Int32, log: String) {
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["login", "--no-browser", "--socket", fixture.daemon.socketPath] + arguments,
      log: place.file("log"))
    var page = ""
    try eventually("usherctl prints the page's URL, or ends: \(program.log)") {
      page = program.log.firstMatch(of: /http:\S+\/authorize\?\S+/).map { String($0.0) } ?? ""
      return !page.isEmpty || !program.isRunning
    }
    if !page.isEmpty { try Person.signIn(at: page) }
    let status = try program.exitStatus()
    return (status, program.log)
  }

  private func resourceToken() throws -> JSONValue {
    try fixture.token(["provider": "demo", "audience": .string(resource)])
  }

  private func call(_ token: JSONValue) throws -> Web.Reply {
    let text = token["accessToken"]?.stringValue ?? ""
    return try Web.send("GET", resource, headers: ["Authorization": "Bearer \(text)"])
  }

  /// The scopes that the sign-in of a module must have requested, and those that it must not.
  private static let scopes: [String: (has: [String], lacks: [String])] = [
    "auth/scope-from-www-authenticate": (["mcp:basic"], ["mcp:read", "profile"]),
    "auth/scope-from-scopes-supported": (["mcp:basic", "mcp:read"], ["profile"]),
    "auth/scope-omitted-when-undefined": (["openid", "profile"], ["mcp:basic"]),
    "auth/offline-access-scope": (["mcp:basic", "offline_access"], ["profile"]),
    "auth/offline-access-not-supported": (["mcp:basic"], ["offline_access"]),
  ]

  @Test("each module is accepted, or refused with a message that names the fault")
  func modules() throws {
    let all = try fixture.sandbox.control("GET", "modules")["modules"]?.arrayValue ?? []
    let modules = all.filter { $0["phase"] == "resource" }
    #expect(modules.count == 19)
    for module in modules {
      let name = module["name"]?.stringValue ?? ""
      try clock.advance(by: 3700)
      try fixture.sandbox.control("POST", "module", ["name": .string(name)])
      let (status, log) = try login(["--resource", resource])
      guard module["outcome"] == "accepted" else {
        let fault = module["fault"]?.stringValue ?? "none"
        #expect(status != 0 && log.contains(fault), "\(name): \(log)")
        #expect(try fixture.accounts.isEmpty, "\(name)")
        continue
      }
      #expect(status == 0, "\(name): \(log)")
      let token = try fixture.token()
      let words = token["scope"]?.stringValue?.split(separator: " ").map(String.init) ?? []
      if let expected = Self.scopes[name] {
        #expect(Set(words).isSuperset(of: expected.has), "\(name): \(words)")
        #expect(Set(words).isDisjoint(with: expected.lacks), "\(name): \(words)")
      }
      if words.contains("offline_access") {
        #expect(try call(resourceToken()).status == 200, "\(name)")
        #expect(try call(token).status == 401, "\(name)")
      }
      _ = try fixture.app.call("account.forget", ["account": token["account"] ?? .null])
    }
  }

  @Test("a server that is not configured is refused with the lines that configure it")
  func notConfigured() throws {
    try fixture.set([
      "resourceMetadata": ["authorization_servers": ["https://as.example"]]
    ])
    let (status, log) = try login(["--resource", resource])
    #expect(status == 1)
    #expect(log.contains("issuer = \"https://as.example\""))
    #expect(log.contains("usherctl provider register"))
    let (other, text) = try login(["demo", "--resource", resource])
    #expect(other == 1 && text.contains("no tokens of provider demo"))
  }

  @Test(
    "metadata that is elsewhere, absent or no object is refused",
    arguments: [
      ("https://evil.example/metadata", "its own server"),
      ("http://127.0.0.1:1/metadata", "its own server"),
    ])
  func elsewhere(place: String, fault: String) throws {
    let header = "Bearer resource_metadata=\"\(place)\""
    try fixture.spoil(
      "resource", ["status": 401, "headers": ["WWW-Authenticate": .string(header)]])
    let (status, log) = try login(["--resource", resource])
    #expect(status == 1 && log.contains(fault), "\(log)")
  }

  @Test("a challenge beside another status than 401 does not count")
  func withoutRefusal() throws {
    let header = "Bearer resource_metadata=\"https://evil.example/metadata\""
    try fixture.spoil(
      "resource", ["status": 200, "headers": ["WWW-Authenticate": .string(header)]], times: 1)
    let (status, log) = try login(["--resource", resource])
    #expect(status == 0, "\(log)")
  }

  @Test("a service that is busy is not asked for its metadata at another address")
  func busy() throws {
    try fixture.set(["challengeNamesMetadata": false])
    try fixture.spoil("resource_metadata", ["status": 429], times: 1)
    let (status, log) = try login(["--resource", resource])
    #expect(status == 1 && log.contains("answers HTTP 429"), "\(log)")
  }

  @Test("a redirect of the service's metadata is not followed")
  func redirected() throws {
    // The second request would find the metadata.
    let place = "\(fixture.sandbox.base)/.well-known/oauth-protected-resource/mcp"
    let fault: JSONValue = ["status": 302, "headers": ["Location": .string(place)]]
    try fixture.spoil("resource_metadata", fault, times: 1)
    let (status, log) = try login(["--resource", resource])
    #expect(status == 1 && log.contains("answers HTTP 302"), "\(log)")
  }

  @Test("metadata that cannot be read is refused, and names the address")
  func unreadable() throws {
    try fixture.spoil("resource_metadata", ["body": ["no object"]], times: 1)
    #expect(try login(["--resource", resource]).log.contains("is not a JSON object"))
    try fixture.spoil("resource_metadata", ["status": 503], times: 1)
    #expect(try login(["--resource", resource]).log.contains("answers HTTP 503"))
    try fixture.set(["resourceMetadata": ["authorization_servers": []]])
    #expect(try login(["--resource", resource]).log.contains("no authorization server"))
    for bad in ["ftp://a.example/", "http://a.example/mcp", "nonsense"] {
      let (status, log) = try login(["--resource", bad])
      #expect(status == 64 && log.contains("--resource"), "\(bad): \(log)")
    }
    #expect(try login([]).status == 64)
  }

  @Test("a demand for more scope ends with the grant that has it (auth/scope-step-up)")
  func stepUp() throws {
    try fixture.set(["resourceScope": "mcp:basic"])
    #expect(try login(["--resource", resource]).status == 0)
    #expect(try call(resourceToken()).status == 200)
    try fixture.set(["resourceScope": "mcp:basic mcp:write"])
    let refusal = try call(resourceToken())
    #expect(refusal.status == 403)
    let header = try #require(refusal.headers["www-authenticate"])
    #expect(header.contains("resource_metadata="))
    let params: JSONValue = [
      "provider": "demo", "audience": .string(resource), "challenge": .string(header),
    ]
    let error = try fixture.app.error(of: "token.get", params)
    #expect(error.data["reason"] == "consent_required")
    let next = try #require(error.data["next"]?["params"])
    let flow = try fixture.app.startFlow(
      "demo", next["kind"]?.stringValue ?? "", params: next["params"] ?? [:])
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    #expect(try call(fixture.token(params)).status == 200)
  }

  @Test("a service that is never satisfied causes no further sign-in (auth/scope-retry-limit)")
  func retryLimit() throws {
    try fixture.set(["resourceScope": "mcp:basic"])
    #expect(try login(["--resource", resource]).status == 0)
    let token = try resourceToken()
    try fixture.forgetRequests()
    let challenge = #"Bearer error="insufficient_scope", scope="mcp:basic""#
    for _ in 0..<3 {
      let answer = try fixture.token([
        "provider": "demo", "audience": .string(resource), "challenge": .string(challenge),
      ])
      #expect(answer == token)
    }
    #expect(try fixture.requests("token") == 0)
    #expect(try fixture.requests("authorize") == 0)
  }

  @Test("a client that the operator has registered is used as it is (auth/pre-registration)")
  func preRegistration() throws {
    #expect(try login(["--resource", resource]).status == 0)
    #expect(try fixture.requests("registration") == 0)
    let token = try resourceToken()
    try clock.advance(by: 301)
    // The token has expired, and is refreshed for the same resource.
    let refreshed = try resourceToken()
    #expect(refreshed["accessToken"] != token["accessToken"])
    #expect(try call(refreshed).status == 200)
  }

  @Test("provider.get tells the issuer, by which usherctl finds the provider")
  func issuer() throws {
    let reply = try fixture.app.call("provider.get", ["provider": "demo"])
    #expect(reply["issuer"]?.stringValue == fixture.sandbox.issuer)
    #expect(try fixture.app.call("provider.get", ["provider": "local"])["issuer"] == nil)
  }
}
