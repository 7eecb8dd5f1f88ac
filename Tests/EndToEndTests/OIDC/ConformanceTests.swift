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

  init() throws {
    let trust = try TrustedAuthority()
    self.trust = trust
    fixture = try OIDCFixture(clock) { sandbox in
      trust.provider("issued", at: sandbox)
        + """
        [[provider]]
        name = "confidential"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "work-secret"
        client_auth = "basic"

        [[provider]]
        name = "mac"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "work-secret"
        id_token_signed_response_alg = "HS256"

        """
        + Self.responseModes.map { mode in
          """
          [[provider]]
          name = "\(mode)"
          type = "oidc"
          issuer = "\(sandbox.issuer)"
          client_id = "usher"
          response_mode = "\(mode)"

          """
        }.joined() + sandbox.provider("bound", more: "dpop = true")
    }
    try fixture.setCertificate("issued")
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret:with/odd+chars"])
  }

  /// The response modes of modules. A provider is named after each.
  private static let responseModes = ["form_post", "jwt"]

  private struct Module {
    /// The modules whose client demands tokens that are bound to a key.
    private static let dpop: Set = [
      "FAPI2HappyPath", "FAPI2NoDpopNonce", "FAPI2InvalidTokenType", "MCPDPoP",
      "MCPDPoPUnknownAlgorithm",
    ]

    let name: String
    let isAccepted: Bool
    let fault: String
    /// The response mode that a client must request; nil: any.
    let responseMode: String?

    /// The reason with which a sign-in is refused.
    var reason: JSONValue {
      name == "FormPostError" ? "provider_rejected" : "provider_protocol_error"
    }

    /// The provider whose client the module is about.
    var provider: String {
      if Self.dpop.contains(name) { return "bound" }
      let others = [
        "ClientSecretBasic": "confidential", "SignedUsingHS256": "mac",
        "MtlsEndpointAliases": "issued",
      ]
      return responseMode ?? others[name] ?? "demo"
    }

    init(_ json: JSONValue) {
      name = json["name"]?.stringValue ?? ""
      isAccepted = json["isAccepted"] == true
      fault = json["fault"]?.stringValue ?? ""
      responseMode = json["responseMode"]?.stringValue
    }
  }

  private func modules(_ phase: String) throws -> [Module] {
    let all = try fixture.sandbox.control("GET", "modules")["modules"]?.arrayValue ?? []
    return all.filter { $0["phase"]?.stringValue == phase }.map(Module.init)
  }

  private func choose(_ module: Module) throws {
    try fixture.sandbox.control("POST", "module", ["name": .string(module.name)])
  }

  /// Lets the daemon read the provider's metadata and keys again.
  private func forget() throws { try clock.advance(by: 3700) }

  @Test("each module about a sign-in is accepted, or refused with a message that names the fault")
  func signIn() throws {
    let modules = try modules("signIn")
    #expect(modules.count > 40)
    for module in modules {
      try forget()
      // The daemon must know the earlier keys, so that it has to notice the new ones.
      if module.name.contains("Rotation") {
        try fixture.mend()
        try fixture.app.signIn()
      }
      try choose(module)
      let flow = try fixture.app.startFlow(module.provider)
      if flow["status"] == "active" { try Person.signIn(at: flow.url) }
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
