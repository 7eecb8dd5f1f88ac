import Testing
import UsherAPI
import UsherConfig
import UsherCore

@Suite("Rules about targets")
struct TargetRuleTests {
  private static let till = CallerIdentity(uid: 2000, gid: 60)
  private static let member = CallerIdentity(uid: 3000, gid: 60)
  private static let names = PrincipalResolver(
    user: { _ in nil }, group: { $0 == "usher" ? 60 : nil })
  private static let git = "https://git.example/team/app"

  private func policy(_ allow: String, _ more: String = "") throws -> CallerPolicy {
    let rule = client("{ user = 2000 }", allow: "[\"\(allow)\"]", name: "till") + more
    return try Policy(load(provider + rule), daemonUser: 990, names: Self.names).caller(Self.till)
  }

  private func request(
    _ method: String = "token.forTarget", _ name: String = git, kind: String? = nil
  ) throws -> PolicyRequest {
    var request = PolicyRequest(method: method, provider: "work", kind: kind)
    request.target = try TargetName(kind: "git", name: name)
    return request
  }

  @Test(
    "token.forTarget is allowed by patterns that name the target, or all token methods, only",
    arguments: [
      ("token.forTarget git/https://git.example/*", true),
      ("token.forTarget git/https://git.example/team/*", true),
      ("token.forTarget git", true), ("token.forTarget", true), ("token.*", true), ("*", true),
      ("token.forTarget git/https://git.example/other/*", false),
      ("token.forTarget git/https://git.example:8443/*", false),
      ("token.forTarget docker", false), ("token.forTarget docker/https://git.example/*", false),
      ("token.get work", false), ("token.get", false), ("token.* work", false),
      ("* work", false), ("token.list", false), ("target.*", false), ("target.resolve", false),
    ])
  func permission(pattern: String, isAllowed: Bool) throws {
    let policy = try policy(pattern)
    for method in ["token.forTarget", "target.resolve"] {
      #expect(policy.decide(try request(method)).isAllowed == isAllowed)
      #expect((policy.denial(partial: try request(method)) == nil) == isAllowed)
    }
    // A malformed name is allowed by no pattern that names a target, so that the caller learns
    // nothing.
    let unknown = PolicyRequest(method: "token.forTarget")
    #expect(policy.decide(unknown).isAllowed == (isAllowed && !pattern.contains("git")))
  }

  @Test(
    "the ID token of a target must be allowed by the target's kind, or with everything",
    arguments: [
      ("token.forTarget git/https://git.example/*", true), ("token.forTarget git", true),
      ("*", true), ("token.forTarget", false), ("token.*", false),
    ])
  func idTokens(pattern: String, isAllowed: Bool) throws {
    #expect(
      try policy(pattern).decide(request(kind: "idToken")).isAllowed == isAllowed)
  }

  @Test("a rule about targets does not allow token.get, token.proof or a flow")
  func nothingElse() throws {
    let policy = try policy("token.forTarget git/https://git.example/*")
    for method in ["token.get", "token.proof", "token.list", "flow.start", "account.get"] {
      #expect(!policy.decide(PolicyRequest(method: method, provider: "work")).isAllowed)
    }
    #expect(policy.decide(PolicyRequest(method: "target.list")).isAllowed)
  }

  @Test("scopes, audiences, confirm and local authentication of a rule apply to token.forTarget")
  func conditions() throws {
    let policy = try policy(
      "token.forTarget git",
      """
      scopes = ["read"]
      audiences = ["https://git.example"]
      confirm = true
      require_local_auth_seconds = 60

      """)
    var request = try request()
    request.scopes = ["read"]
    request.audiences = ["https://git.example"]
    var permit = Permit(rule: "till", localAuthSeconds: 60)
    permit.needsConfirmation = true
    permit.scopes = ["read"]
    #expect(policy.decide(request) == .allowed(permit))
    request.scopes = ["read", "write"]
    #expect(policy.decide(request) == .deny(rule: "till", .scope(["read"])))
    request.scopes = ["read"]
    request.audiences = [""]
    #expect(policy.decide(request) == .deny(rule: "till", .audience(["https://git.example"])))
  }

  @Test("members of access.group may use every target without a rule, and others none")
  func members() throws {
    let config = try load(provider + target("git", "https://git.example/*"))
    let policy = try Policy(config, daemonUser: 990, names: Self.names)
    let target = try #require(config.targets.first)
    let stranger = CallerIdentity(uid: 3000, gid: 3000)
    #expect(policy.decide(Self.member, try request()).isAllowed)
    #expect(!policy.decide(stranger, try request()).isAllowed)
    #expect(policy.caller(Self.member).mayUse(target) && !policy.caller(stranger).mayUse(target))
  }

  @Test(
    "a target is listed for the callers whose rules allow a name that it answers",
    arguments: [
      ("token.forTarget git/https://git.example/*", true),
      ("token.forTarget git/https://git.example/team/app", true),
      ("token.forTarget git/https://git.example/team/*", true), ("token.forTarget git", true),
      ("token.forTarget", true), ("*", true),
      ("token.forTarget git/https://other.example/*", false),
      ("token.forTarget git/https://git.example/other/*", false),
      ("token.forTarget docker", false), ("token.get work", false), ("target.list", false),
    ])
  func listed(pattern: String, isListed: Bool) throws {
    let target = try #require(
      load(provider + target("git", "https://git.example/team/*")).targets.first)
    #expect(try policy(pattern).mayUse(target) == isListed)
  }

  @Test(
    "a rule with a malformed target is a problem with its line",
    arguments: [
      ("token.forTarget Git", "up to 32 of a-z"), ("token.forTarget git/", "1024 bytes"),
      ("token.forTarget git/https://*/x", "no valid host"),
      ("token.forTarget git/http://git.example/*", "must be https"),
      ("token.forTarget git x", "\\\"token.forTarget KIND/MATCH\\\""),
      ("target.resolve git", "must name token.forTarget"),
    ])
  func malformed(pattern: String, part: String) {
    let rule = client("{ user = 2000 }", allow: "[\"\(pattern)\"]", name: "till")
    let found = problems(rule)
    #expect(found.contains("client[0].allow[0]"))
    #expect(found.contains(part.replacing("\\\"", with: "\"")), "\(found)")
  }

  @Test("policy.check answers for what a tool asks for, with the scope and audience of its target")
  func check() throws {
    let config = try load(
      provider + target("git", "https://git.example/*") + "audience = \"https://git.example\"\n"
        + client("{ user = 2000 }", allow: "[\"token.forTarget git\"]", name: "till")
        + "audiences = [\"\"]\n")
    let policy = try Policy(config, daemonUser: 990, names: Self.names)
    let now = try WeekMinute(setting: "Mon 08:00")
    func answer(_ target: String) throws -> PolicyCheck.Reply {
      try policy.answer(
        PolicyCheck(user: "2000", method: "token.forTarget", target: target), of: config, at: now,
        names: Self.names)
    }
    #expect(try answer("git/https://git.example/a").why.contains("audiences"))
    #expect(try answer("docker/ghcr.io").allowed == false)
    #expect(try answer("git/https://other.example/a").allowed)
    let error = #expect(throws: UsherError.self) { try answer("git") }
    #expect(error?.detail.field == "target")
  }
}
