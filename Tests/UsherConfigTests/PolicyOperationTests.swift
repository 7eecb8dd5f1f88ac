import Testing
import UsherConfig

@Suite("Policy for the operations of a flow")
struct PolicyOperationTests {
  private static let till = CallerIdentity(uid: 2000, gid: 60)

  private static func request(
    _ method: String, _ provider: String? = "wallet", _ kind: String? = "operation",
    _ operation: String? = nil
  ) -> PolicyRequest {
    PolicyRequest(method: method, provider: provider, kind: kind, operation: operation)
  }

  private static func starts(_ operation: String?, kind: String = "operation") -> PolicyRequest {
    request("flow.start", "wallet", kind, operation)
  }

  private static let reading = "flow.start wallet/operation GET:/wallets/*"

  @Test(
    "an access pattern with an operation allows only flow.start with a matching operation",
    arguments: [
      (reading, starts("GET:/wallets/7"), true), (reading, starts("GET:/wallets/7/payments"), true),
      (reading, starts("POST:/wallets/7"), false), (reading, starts("GET:/customers/7"), false),
      (reading, starts(nil), false), (reading, starts(""), false),
      (reading, starts(nil, kind: "authorize"), false),
      (reading, starts("GET:/wallets/7", kind: "sca"), false),
      (reading, request("flow.start", "work", "operation", "GET:/wallets/7"), false),
      (reading, request("token.get", "wallet", nil), false),
      ("flow.start wallet/* GET:/a", starts("GET:/a"), true),
      ("flow.start wallet/* GET:/a", starts(nil, kind: "authorize"), false),
      ("flow.start wallet GET:/a", starts("GET:/a"), true),
      ("flow.start wallet GET:/a", starts(nil), false),
      ("flow.start */* *:/*", starts("DELETE:/a/b"), true),
      ("flow.start */* *:/*", starts(nil, kind: "authorize"), false),
      ("* */* GET:/a", starts("GET:/a"), true), ("* */* GET:/a", starts("GET:/b"), false),
      ("* */* GET:/a", request("token.get", "wallet", nil), false),
      ("flow.* wallet/operation GET:/a", starts("GET:/a"), true),
      ("flow.* wallet/operation GET:/a", starts("GET:/b"), false),
    ])
  func operations(pattern: String, request: PolicyRequest, isAllowed: Bool) throws {
    #expect(try AccessPattern(setting: pattern).allows(request) == isAllowed)
  }

  @Test(
    "an access pattern without an operation allows flow.start with any operation",
    arguments: ["flow.start wallet/operation", "flow.start wallet/*", "flow.start", "*"])
  func withoutOperation(pattern: String) throws {
    for operation in [nil, "GET:/wallets/7", "DELETE:/"] {
      #expect(try AccessPattern(setting: pattern).allows(Self.starts(operation)))
    }
  }

  @Test(
    "a pattern that allows flow.start for an operation allows the other flow methods of that kind",
    arguments: [
      reading, "flow.* wallet/operation GET:/wallets/*", "* wallet/operation GET:/wallets/*",
    ])
  func follows(pattern: String) throws {
    let pattern = try AccessPattern(setting: pattern)
    for method in ["flow.get", "flow.wait", "flow.submit", "flow.cancel", "flow.list"] {
      #expect(pattern.allows(Self.request(method)), "\(method)")
      #expect(!pattern.allows(Self.request(method, "wallet", "sca")), "\(method)")
      #expect(!pattern.allows(Self.request(method, "work")), "\(method)")
    }
    #expect(pattern.allows(Self.request("flow.list", nil, nil)))
    #expect(!pattern.allows(Self.request("token.get")))
    #expect(!pattern.allows(Self.request("account.list", nil, nil)))
  }

  private static func decide(_ rules: String, _ request: PolicyRequest) throws -> Decision {
    let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })
    let policy = try Policy(load(provider + wallet + rules), daemonUser: 990, names: names)
    return policy.decide(till, request)
  }

  @Test("the first rule that allows an operation decides, and an operation in no rule is denied")
  func rules() throws {
    let rules =
      client("{ user = 2000 }", allow: "[\"\(Self.reading)\"]", name: "reads")
      + client(
        "{ user = 2000 }", name: "pays"
      ).replacing(
        "[\"*\"]",
        with: "[\"flow.start wallet/operation POST:/wallets/*/payments\", \"token.get wallet\"]")
    #expect(try Self.decide(rules, Self.starts("GET:/wallets/7")) == .allow(rule: "reads"))
    #expect(try Self.decide(rules, Self.starts("POST:/wallets/7/payments")) == .allow(rule: "pays"))
    #expect(try Self.decide(rules, Self.starts("POST:/wallets/7")) == .deny(rule: "reads"))
    #expect(try Self.decide(rules, Self.starts("DELETE:/wallets/7")) == .deny(rule: "reads"))
    #expect(try Self.decide(rules, Self.starts(nil, kind: "sca")) == .deny(rule: "reads"))
    #expect(try Self.decide(rules, Self.request("flow.submit")) == .allow(rule: "reads"))
    #expect(
      try Self.decide(rules, Self.request("token.get", "wallet", nil)) == .allow(rule: "pays"))
  }

  @Test(
    "an access pattern with an operation keeps its setting text",
    arguments: [
      reading, "flow.start */* *:/*", "flow.* wallet/op* POST:/a", "* */* GET:/",
    ])
  func text(pattern: String) throws {
    #expect(try AccessPattern(setting: pattern).settingText == pattern)
  }

  @Test("an access pattern with an operation but no flow kind is written with the kind *")
  func leftOut() throws {
    let pattern = try AccessPattern(setting: "flow.start wallet GET:/a")
    #expect(pattern.settingText == "flow.start wallet/* GET:/a")
    #expect(try AccessPattern(setting: pattern.settingText) == pattern)
  }

  @Test(
    "a malformed or misplaced operation in an access pattern is a problem with line and column",
    arguments: [
      ("a b c", form), ("flow.start wallet/operation GET", form),
      ("flow.start wallet/operation ", form),
      ("flow.start wallet/operation /wallets", form), ("flow.start wallet/operation *", form),
      ("flow.start wallet/operation GET:wallets", path),
      ("flow.start wallet/operation GET:/a/../b", path),
      ("flow.start wallet/operation GET:/a?b", path),
      ("flow.start wallet/operation GET:/a b", pattern),
      ("flow.start wallet/operation/x GET:/a", pattern), ("flow.start  GET:/a", pattern),
      ("flow.start GET:/a", pattern), ("token.get wallet GET:/a", only),
      ("flow.get wallet/operation GET:/a", only), ("token.* wallet/operation GET:/a", only),
    ])
  func refusals(text: String, problem: String) {
    #expect(
      problems(wallet + client("{ user = 1 }", allow: "[\"*\",\n  \"\(text)\"]"))
        == "usherd.toml:10:3: client[0].allow[1]: \(problem)")
  }

  private static let form =
    "must be \"METHOD:/path\", where METHOD is GET, POST, PUT, PATCH, DELETE or *"
  private static let path =
    "must be a path from its first slash, without \".\", \"..\", \"//\" and query"
  private static let pattern =
    "must be \"METHOD\", \"METHOD PROVIDER\", \"METHOD PROVIDER/KIND\" or "
    + "\"METHOD PROVIDER/KIND METHOD:/path\""
  private static let only = "only flow.start can have a third part"

  @Test("a rule with an operation of an unconfigured provider is a problem that suggests a name")
  func unknownProvider() {
    let rule = client("{ user = 1 }", allow: "[\"flow.start walet/operation GET:/a\"]")
    #expect(
      problems(wallet + rule)
        == "usherd.toml:9:10: client[0].allow[0]: provider \"walet\" is not defined; "
        + "did you mean wallet?"
    )
  }
}
