import JSONRPC
import Testing
import UsherTestKit

/// The modules of the OpenID Foundation's conformance suite for clients, each by the behavior of
/// the sandbox that has the module's name.
@Suite("Modules of the OpenID conformance suite", .mayBlock, .timeLimit(.minutes(10)))
struct ConformanceTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()
  /// Kept, because its file ends with it.
  private let trust: TrustedAuthority
  /// The public keys of the clients that sign.
  private let clientKeys: JSONValue

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture(clock) { sandbox in
      trust.provider("certificate", at: sandbox)
        + Self.confidential(
          "secret", at: sandbox, "client_credential = \"work-secret\"\nclient_auth = \"basic\"")
        + Self.confidential(
          "mac", at: sandbox,
          "client_credential = \"work-secret\"\nid_token_signed_response_alg = \"HS256\"")
        + Self.confidential("fapi2", at: sandbox, Self.profile("fapi2"))
        + Self.confidential(
          "fapi2_message_signing", at: sandbox,
          Self.profile("fapi2_message_signing") + "\nresponse_mode = \"jwt\"")
        + sandbox.provider("form_post", more: "response_mode = \"form_post\"")
        + sandbox.provider("dpop", more: "dpop = true")
    }
    try fixture.setCertificate("certificate")
    let admin = try fixture.daemon.admin()
    _ = try admin.call(
      "credential.set", ["name": "work-secret", "value": "s3cret:with/odd+chars"])
    clientKeys = [
      "usher-confidential": try admin.call(
        "provider.jwks", ["provider": "fapi2", "create": true])
    ]
  }

  /// Returns a provider that is named after the client of modules.
  private static func confidential(
    _ name: String, at sandbox: SandboxUnderTest, _ more: String
  ) -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(sandbox.issuer)"
    client_id = "usher-confidential"
    \(more)

    """
  }

  private static func profile(_ name: String) -> String {
    """
    profile = "\(name)"
    client_credential = "work-key"
    client_auth = "private_key_jwt"
    dpop = true
    """
  }

  private struct Module {
    let name: String
    /// The provider whose client the module is about.
    let provider: String
    /// What the daemon must do: `accepted`, `refused` or `ignored`.
    let outcome: String
    /// A word in the message of a refusal.
    let fault: String
    /// The reason with which a sign-in is refused.
    let reason: JSONValue

    var isAccepted: Bool { outcome == "accepted" }

    init(_ json: JSONValue) {
      name = json["name"]?.stringValue ?? ""
      provider = json["client"]?.stringValue ?? "demo"
      outcome = json["outcome"]?.stringValue ?? ""
      fault = json["fault"]?.stringValue ?? "no fault"
      reason = json["isByProvider"] == true ? "provider_rejected" : "provider_protocol_error"
    }
  }

  private func modules(_ phase: String) throws -> [Module] {
    let all = try fixture.sandbox.control("GET", "modules")["modules"]?.arrayValue ?? []
    return all.filter { $0["phase"]?.stringValue == phase }.map(Module.init)
  }

  private func choose(_ module: Module) throws {
    try fixture.set(["clientKeys": clientKeys])
    try fixture.sandbox.control("POST", "module", ["name": .string(module.name)])
  }

  /// Lets the daemon read the provider's metadata and keys again.
  private func forget() throws { try clock.advance(by: 3700) }

  @Test("each module about a sign-in is accepted, refused with the fault's name, or ignored")
  func signIn() throws {
    let modules = try modules("signIn")
    #expect(modules.count > 55)
    for module in modules {
      try forget()
      // The daemon must know the earlier keys, so that it has to notice the new ones.
      if module.name.contains("Rotation") {
        try fixture.mend()
        try fixture.app.signIn()
      }
      try choose(module)
      try fixture.forgetRequests()
      let flow = try fixture.app.startFlow(module.provider)
      if flow["status"] == "active" { try Person.signIn(at: flow.url) }
      if module.outcome == "ignored" {
        #expect(try fixture.flow(flow) == flow, "\(module.name)")
        #expect(try fixture.requests("token") == 0, "\(module.name)")
        _ = try fixture.cancel(flow)
        continue
      }
      let end = try fixture.app.finished(flow)
      #expect(
        end["status"]?.stringValue == (module.isAccepted ? "succeeded" : "failed"),
        "\(module.name): \(end.text)")
      if !module.isAccepted {
        let message = end.failure["message"]?.stringValue ?? ""
        #expect(message.contains(module.fault), "\(module.name): \(message)")
        #expect(end.failure["reason"] == module.reason, "\(module.name)")
      }
      #expect(!end.hasSecret, "\(module.name)")
    }
    let accepting = Set(modules.filter(\.isAccepted).map(\.provider))
    #expect(try fixture.accounts.count == accepting.count)
  }

  @Test(
    "each module about a refresh is accepted, or ends the grant with an error that names the fault")
  func refresh() throws {
    let modules = try modules("refresh")
    #expect(modules.count == 6)
    for module in modules {
      try fixture.mend()
      try forget()
      try fixture.app.signIn()
      try choose(module)
      try clock.advance(by: 301)
      for params in [
        ["provider": "demo"], ["provider": "demo", "field": "idToken"],
      ] as [JSONValue] {
        let reply = try fixture.app.reply(to: "token.get", params)
        #expect((reply["result"] != nil) == module.isAccepted, "\(module.name): \(reply.text)")
        guard !module.isAccepted else { continue }
        let error = reply["error"] ?? .null
        #expect(error.data["reason"] == "reauthentication_required", "\(module.name)")
        let said = error.data["provider"]?["message"]?.stringValue ?? ""
        #expect(said.contains(module.fault), "\(module.name): \(error.text)")
        #expect(!error.hasSecret, "\(module.name)")
      }
    }
  }

  @Test("aggregated and distributed claims are not read, and the log names them")
  func claimSources() throws {
    for name in ["AggregatedClaims", "DistributedClaims"] {
      try fixture.sandbox.control("POST", "module", ["name": .string(name)])
      let account = try fixture.app.signIn()["result"]?["account"] ?? .null
      let profile = try fixture.app.call("account.get", ["account": account])["account"]?["profile"]
      #expect(profile?["name"] != nil && profile?["address"] == nil)
    }
    try eventually("the log names the claim") {
      fixture.daemon.log.contains("refers to other sources for the claims address")
    }
  }

  @Test("claims that only the userinfo endpoint has are in the profile (ScopeUserInfoClaims)")
  func userinfo() throws {
    try fixture.sandbox.control("POST", "module", ["name": "ScopeUserInfoClaims"])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let profile = try fixture.app.call("account.get", ["account": account])["account"]?["profile"]
    #expect(profile?["nickname"] == "from userinfo")
  }
}
