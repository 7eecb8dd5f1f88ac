import Testing
import UsherConfig

@Suite("Rules about token.proof")
struct ProofRuleTests {
  private static let till = CallerIdentity(uid: 2000, gid: 60)
  private static let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })

  @Test(
    "token.proof is allowed by patterns for token.get only, and is denied before its parameters",
    arguments: [
      ("token.get work", true), ("token.*", true), ("*", true), ("token.proof work", false),
      ("token.get work/idToken", false), ("token.list", false),
    ])
  func permission(pattern: String, isAllowed: Bool) throws {
    let rule = client("{ user = 2000 }", allow: "[\"\(pattern)\"]", name: "till")
    let policy = try Policy(load(provider + rule), daemonUser: 990, names: Self.names)
    let request = PolicyRequest(method: "token.proof", provider: "work")
    let expected: Decision = isAllowed ? .allow(rule: "till") : .deny(rule: "till")
    #expect(policy.decide(Self.till, request) == expected)
    // A pattern with a kind is compared when the parameters are known.
    let isDeniedEarly = policy.caller(Self.till).denial(partial: request) != nil
    #expect(isDeniedEarly == (!isAllowed && !pattern.contains("/")))
  }

  @Test("local authentication is a condition of token.proof")
  func localAuth() throws {
    let rule =
      client("{ user = 2000 }", allow: "[\"token.get\"]", name: "till")
      + "require_local_auth_seconds = 60\n"
    let policy = try Policy(load(provider + rule), daemonUser: 990, names: Self.names)
    let request = PolicyRequest(method: "token.proof", provider: "work")
    #expect(policy.decide(Self.till, request) == .allow(rule: "till", localAuthSeconds: 60))
  }
}
