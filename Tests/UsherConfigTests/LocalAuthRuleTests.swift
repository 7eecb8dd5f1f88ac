import Testing
import UsherConfig

@Suite("Rules that require local authentication")
struct LocalAuthRuleTests {
  private static let till = CallerIdentity(uid: 2000, gid: 60)
  private static let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })

  /// - Parameter seconds: The TOML text of `require_local_auth_seconds`; nil omits the key.
  private static func rule(
    _ seconds: String?, allow: String = "[\"*\"]", name: String = "till"
  ) -> String {
    client("{ user = 2000 }", allow: allow, name: name)
      + (seconds.map { "require_local_auth_seconds = \($0)\n" } ?? "")
  }

  private static func decide(_ rules: String, _ method: String) throws -> Decision {
    let policy = try Policy(load(provider + rules), daemonUser: 990, names: names)
    return policy.decide(till, PolicyRequest(method: method, provider: "work"))
  }

  @Test("require_local_auth_seconds is a condition of token.get and totp.code only")
  func condition() throws {
    for method in ["token.get", "totp.code"] {
      #expect(
        try Self.decide(Self.rule("300"), method) == .allow(rule: "till", localAuthSeconds: 300))
      #expect(try Self.decide(Self.rule(nil), method) == .allow(rule: "till"))
    }
    for method in ["token.list", "totp.list", "token.revoke", "flow.start", "account.get"] {
      #expect(try Self.decide(Self.rule("300"), method) == .allow(rule: "till"))
    }
    #expect(try Self.decide(Self.rule("300"), "rpc.hello") == .allow(rule: "(everybody)"))
  }

  @Test("require_local_auth_seconds applies only if its rule is the first that allows the call")
  func order() throws {
    let tokens = Self.rule("60", allow: "[\"token.get\"]", name: "strict")
    let all = Self.rule(nil, name: "lax")
    #expect(
      try Self.decide(tokens + all, "token.get") == .allow(rule: "strict", localAuthSeconds: 60))
    #expect(try Self.decide(tokens + all, "totp.code") == .allow(rule: "lax"))
    #expect(try Self.decide(all + tokens, "token.get") == .allow(rule: "lax"))
    #expect(try Self.decide(Self.rule("60", allow: "[]"), "token.get") == .deny(rule: "till"))
  }

  @Test("require_local_auth_seconds applies to root if its rule matches, not to the daemon's user")
  func others() throws {
    let rule = Self.rule("300").replacing("2000", with: "0")
    let policy = try Policy(load(provider + rule), daemonUser: 990, names: Self.names)
    let request = PolicyRequest(method: "token.get", provider: "work")
    #expect(
      policy.decide(CallerIdentity(uid: 0, gid: 0), request)
        == .allow(rule: "till", localAuthSeconds: 300))
    #expect(
      policy.decide(CallerIdentity(uid: 990, gid: 990), request) == .allow(rule: "(daemon)"))
  }

  @Test("the pattern totp.code work allows totp.code only for the provider work")
  func pattern() throws {
    let pattern = try AccessPattern(setting: "totp.code work")
    #expect(pattern.allows(PolicyRequest(method: "totp.code", provider: "work")))
    #expect(!pattern.allows(PolicyRequest(method: "totp.code", provider: "home")))
    #expect(!pattern.allows(PolicyRequest(method: "totp.code")))
    #expect(!pattern.allows(PolicyRequest(method: "totp.list", provider: "work")))
  }

  @Test(
    "require_local_auth_seconds must be an integer from 1 to 86400",
    arguments: [
      ("1", ""), ("86400", ""), ("0", "must be between 1 and 86400, is 0"),
      ("86401", "must be between 1 and 86400, is 86401"),
      ("-1", "must be between 1 and 86400, is -1"),
      ("true", "expected an integer, found a boolean"),
      ("\"300\"", "expected an integer, found a string"),
    ])
  func range(seconds: String, problem: String) {
    let found = problems(Self.rule(seconds))
    #expect(message(found) == problem)
    #expect(problem.isEmpty || found.contains("client[0].require_local_auth_seconds: "))
  }

  @Test("config show prints require_local_auth_seconds only if set, and its output loads the same")
  func shown() throws {
    #expect(try load(Self.rule("300")).show().contains("require_local_auth_seconds = 300"))
    #expect(try !load(Self.rule(nil)).show().contains("require_local_auth"))
    let config = try load(Self.rule("300"))
    #expect(try load(config.show()) == config)
    #expect(config.clients.first?.requireLocalAuthSeconds == 300)
  }
}
