import Testing
import UsherConfig
import UsherTestKit

@Suite("Policy decisions")
struct PolicyTests {
  private static let names = PrincipalResolver(
    user: { ["anna": 1000, "till": 2000][$0] }, group: { ["usher": 50, "tills": 60][$0] })

  /// A test case: the rules, the caller, its call and the expected decision.
  struct Row: CustomTestStringConvertible, Sendable {
    var rules: String
    var caller: CallerIdentity
    var call: String
    var answer: Decision

    init(_ rules: String, _ caller: CallerIdentity, _ call: String, _ answer: Decision) {
      self.rules = rules
      self.caller = caller
      self.call = call
      self.answer = answer
    }

    /// The request for `call`, which is `METHOD [PROVIDER[/KIND]]` without wildcards.
    var request: PolicyRequest {
      let parts = call.split { $0 == " " || $0 == "/" }.map(String.init)
      return PolicyRequest(
        method: parts[0], provider: parts.dropFirst().first, kind: parts.dropFirst(2).first)
    }

    var testDescription: String { "\(caller.uid) \(call)" }
  }

  private static let root = CallerIdentity(uid: 0, gid: 0)
  private static let daemon = CallerIdentity(uid: 990, gid: 990)
  private static let member = CallerIdentity(uid: 1001, gid: 1001, groups: [7, 50])
  private static let stranger = CallerIdentity(uid: 1002, gid: 1002)
  private static let anna = CallerIdentity(uid: 1000, gid: 1000, groups: [50])
  private static let till = CallerIdentity(
    uid: 2000, gid: 60, unit: "till.service", executable: "/usr/bin/till")

  private static func decide(_ row: Row) throws -> Decision {
    let text = provider + provider.replacing("\"work\"", with: "\"home\"") + row.rules
    let policy = try Policy(load(text), daemonUser: 990, names: names)
    return policy.decide(row.caller, row.request)
  }

  @Test("a caller's client is the first rule that matches it, or (user) if no rule does")
  func clients() throws {
    let rules = [
      ClientRule(name: "tills", match: ClientMatch(group: .id(60)), allow: []),
      ClientRule(name: "till", match: ClientMatch(unit: "till.service"), allow: []),
      ClientRule(name: "anna", match: ClientMatch(user: .id(1000)), allow: []),
    ]
    let policy = try Policy(
      rules: rules, access: .blank, daemonUser: 990, names: Self.names)
    for (caller, client) in [
      (Self.till, "tills"), (Self.anna, "anna"), (Self.member, "(user)"), (Self.root, "(user)"),
      (Self.stranger, "(user)"), (Self.daemon, "(user)"),
    ] {
      #expect(policy.caller(caller).clientName == client)
    }
  }

  /// Calls that no rule matches.
  private static let unruled = [
    Row("", root, "flow.start work/authorize", .allow(rule: "(root)")),
    Row("", root, "credential.set", .allow(rule: "(root)")),
    Row("", daemon, "token.get work", .allow(rule: "(daemon)")),
    Row("", member, "token.get work", .allow(rule: "(members of usher)")),
    Row("", CallerIdentity(uid: 3, gid: 50), "flow.list", .allow(rule: "(members of usher)")),
    Row("", stranger, "token.get work", .deny(rule: "(no rule)")),
    Row("", stranger, "flow.list", .deny(rule: "(no rule)")),
    Row("", stranger, "provider.list", .deny(rule: "(no rule)")),
    Row("", stranger, "rpc.hello", .allow(rule: "(everybody)")),
    Row("", stranger, "rpc.discover", .allow(rule: "(everybody)")),
    Row("", stranger, "rpc.cancel", .allow(rule: "(everybody)")),
    Row("", stranger, "system.status", .allow(rule: "(everybody)")),
    Row("", stranger, "system.reload", .deny(rule: "(no rule)")),
    Row("[access]\ngroup = 1002", stranger, "token.get work", .allow(rule: "(members of 1002)")),
    Row("[access]\ngroup = 1002", member, "token.get work", .deny(rule: "(no rule)")),
  ]

  private static let tillRule = client(
    "{ unit = \"till.service\" }", allow: "[\"flow.start work/*\", \"token.get work\"]")

  /// A rule allows the calls it lists and denies every other call of the callers it matches.
  private static let ruled = [
    Row(tillRule, till, "flow.start work/authorize", .allow(rule: "till")),
    Row(tillRule, till, "flow.start home/authorize", .deny(rule: "till")),
    Row(tillRule, till, "token.get work", .allow(rule: "till")),
    Row(tillRule, till, "token.get home", .deny(rule: "till")),
    Row(tillRule, till, "token.get", .deny(rule: "till")),
    Row(tillRule, till, "account.list", .deny(rule: "till")),
    Row(tillRule, till, "rpc.hello", .allow(rule: "(everybody)")),
    Row(tillRule, till, "system.status", .allow(rule: "(everybody)")),
    Row(tillRule, anna, "account.list", .allow(rule: "(members of usher)")),
    Row(tillRule, stranger, "token.get work", .deny(rule: "(no rule)")),
    Row(
      tillRule, CallerIdentity(uid: 0, gid: 0, unit: "till.service"), "account.list",
      .deny(rule: "till")),
    Row(client("{ user = \"anna\" }", allow: "[]"), anna, "token.get work", .deny(rule: "till")),
  ]

  /// A rule that allows `flow.start` also allows the other methods of that flow.
  private static let following = [
    Row(tillRule, till, "flow.get work/authorize", .allow(rule: "till")),
    Row(tillRule, till, "flow.wait work/device", .allow(rule: "till")),
    Row(tillRule, till, "flow.submit work/authorize", .allow(rule: "till")),
    Row(tillRule, till, "flow.cancel work/authorize", .allow(rule: "till")),
    Row(tillRule, till, "flow.list", .allow(rule: "till")),
    Row(tillRule, till, "flow.list work", .allow(rule: "till")),
    Row(tillRule, till, "flow.list home", .deny(rule: "till")),
    Row(tillRule, till, "flow.get home/authorize", .deny(rule: "till")),
    Row(
      client("{ user = \"till\" }", allow: "[\"flow.start work/device\"]"), till,
      "flow.get work/authorize", .deny(rule: "till")),
    Row(
      client("{ user = \"till\" }", allow: "[\"token.get\"]"), till, "flow.list",
      .deny(rule: "till")),
    Row(
      client("{ user = \"till\" }", allow: "[\"flow.get\"]"), till, "flow.start work/device",
      .deny(rule: "till")),
  ]

  /// A rule matches only if every key of its `match` table matches.
  private static let matching = [
    Row(client("{ user = \"till\" }"), till, "x.y", .allow(rule: "till")),
    Row(client("{ user = 2000 }"), till, "x.y", .allow(rule: "till")),
    Row(client("{ user = \"till\" }"), stranger, "x.y", .deny(rule: "(no rule)")),
    Row(client("{ group = \"tills\" }"), till, "x.y", .allow(rule: "till")),
    Row(client("{ group = 7 }"), member, "x.y", .allow(rule: "till")),
    Row(client("{ group = \"tills\" }"), stranger, "x.y", .deny(rule: "(no rule)")),
    Row(client("{ executable = \"/usr/bin/till\" }"), till, "x.y", .allow(rule: "till")),
    Row(client("{ executable = \"/usr/bin/till\" }"), stranger, "x.y", .deny(rule: "(no rule)")),
    Row(client("{ unit = \"other.service\" }"), till, "x.y", .deny(rule: "(no rule)")),
    Row(
      client("{ unit = \"till.service\", user = \"anna\" }"), till, "x.y",
      .deny(rule: "(no rule)")),
    Row(
      client("{ unit = \"till.service\", user = \"till\", group = \"tills\" }"), till, "x.y",
      .allow(rule: "till")),
  ]

  private static let two =
    client("{ user = \"till\" }", allow: "[\"token.get work\"]", name: "first")
    + client("{ group = \"tills\" }", allow: "[\"token.*\", \"flow.start\"]", name: "second")

  /// If several rules match, the first one that allows the call decides.
  private static let several = [
    Row(two, till, "token.get work", .allow(rule: "first")),
    Row(two, till, "token.get home", .allow(rule: "second")),
    Row(two, till, "token.list", .allow(rule: "second")),
    Row(two, till, "flow.start home/device", .allow(rule: "second")),
    Row(two, till, "account.list", .deny(rule: "first")),
    Row(two, CallerIdentity(uid: 5, gid: 60), "account.list", .deny(rule: "second")),
  ]

  @Test(
    "the first rule that allows a call decides; without a rule the caller's user or group does",
    arguments: unruled + ruled + following + matching + several)
  func decisions(row: Row) throws { #expect(try Self.decide(row) == row.answer) }

  @Test(
    "an access pattern matches method, provider and kind, each with * for any characters",
    arguments: [
      ("*", "token.get work", true), ("*", "token.get", true), ("* *", "token.get", true),
      ("* */*", "flow.start work/a", true), ("provider.*", "provider.list", true),
      ("provider.*", "providers.list", false), ("provider.*", "provider", false),
      ("*.get", "token.get", true), ("*.get", "token.getx", false), ("t*.g*t", "token.get", true),
      ("token.get", "token.get work", true), ("token.get w*", "token.get work", true),
      ("token.get w*", "token.get home", false), ("token.get w*", "token.get", false),
      ("flow.start work/*", "flow.start work/device", true),
      ("flow.start work", "flow.start work/device", true),
      ("flow.start */device", "flow.start work/device", true),
      ("flow.start */device", "flow.start work/authorize", false),
      ("flow.start work/device", "flow.start work", false),
      ("token.get", "token.get work/idToken", false), ("token.*", "token.get work/idToken", false),
      ("token.get work", "token.get work/idToken", false),
      ("token.get */*", "token.get work/idToken", false), ("*", "token.get work/idToken", true),
      ("token.get work/idToken", "token.get work/idToken", true),
      ("token.get */id*", "token.get work/idToken", true),
      ("token.get work/idToken", "token.get home/idToken", false),
      ("token.get work/idToken", "token.get work", false),
      ("token.get", "Token.get", false), ("**", "token.get", true), ("a*a", "a.b", false),
    ])
  func patterns(pattern: String, call: String, isAllowed: Bool) throws {
    let row = Row("", Self.till, call, .deny(rule: ""))
    #expect(try AccessPattern(setting: pattern).allows(row.request) == isAllowed)
  }

  @Test("an access pattern with 60 stars refuses a 4000-character method in a minute")
  func stars() throws {
    let pattern = try AccessPattern(setting: String(repeating: "*a", count: 60) + "b")
    let word = String(repeating: "a", count: 4000)
    let time = processorTime { #expect(!pattern.allows(PolicyRequest(method: word))) }
    #expect(time < .seconds(60))
  }

  @Test(
    "a malformed access pattern is a problem that names its line and column",
    arguments: [
      "", " ", "token.get ", " token.get", "a b/c/d", "a /c", "a b/", "a b c d", "töken",
      "a  b",
      "a\\tb",
    ])
  func notPatterns(text: String) {
    let found = problems(client("{ user = \"1\" }", allow: "[\"\(text)\"]"))
    #expect(found.hasPrefix("usherd.toml:4:10: client[0].allow[0]: must be \"METHOD\", "))
  }

  @Test(
    "an access pattern keeps its setting text",
    arguments: [
      "*", "token.get", "token.get work", "token.get work/idToken", "flow.start work/device",
      "flow.start */device",
    ])
  func text(pattern: String) throws {
    #expect(try AccessPattern(setting: pattern).settingText == pattern)
  }

  @Test("a client rule with an unconfigured provider is a problem that suggests the closest name")
  func unknownProvider() {
    let rule = client("{ user = \"1\" }", allow: "[\"flow.start local/*\",\n \"token.get wrok\"]")
    #expect(
      problems(provider + rule)
        == "usherd.toml:10:2: client[0].allow[1]: provider \"wrok\" is not defined; "
        + "did you mean work?"
    )
  }

  @Test(
    "an invalid match table of a client rule is a problem that gives the reason",
    arguments: [
      ("{}", "must have at least one of unit, user, group, executable"),
      ("{ unit = \"till\" }", "must be a unit's full name, such as \"till.service\""),
      ("{ unit = \"a/till.service\" }", "must be a unit's full name, such as \"till.service\""),
      ("{ executable = \"till\" }", "must be an absolute path"),
      ("{ user = \"\" }", "must be a name or a numeric id"),
      ("\"till.service\"", "expected a table, found a string"),
    ])
  func notRules(match: String, problem: String) {
    #expect(message(problems(client(match))) == problem)
  }

  @Test("a client rule without name, match and allow has a problem for each of the three keys")
  func missing() {
    #expect(
      problems("[[client]]\n") == """
        usherd.toml:1:1: client[0].name: is missing
        usherd.toml:1:1: client[0].match: is missing
        usherd.toml:1:1: client[0].allow: is missing
        """)
  }

  @Test("every unknown user and group of the configuration is reported with its place")
  func unknownNames() throws {
    let config = try load(
      "[access]\ngroup = \"nobody-here\"\n"
        + client("{ user = \"bob\", group = \"bobs\" }", name: "one")
        + client("{ user = \"anna\" }", name: "two"))
    do throws(ConfigError) {
      _ = try Policy(config, daemonUser: 990, names: Self.names)
      #expect(Bool(false))
    } catch {
      #expect(
        error.description == """
          usherd.toml:5:18: client[0].match.user: user "bob" does not exist on this machine
          usherd.toml:5:33: client[0].match.group: group "bobs" does not exist on this machine
          usherd.toml:2:9: access.group: group "nobody-here" does not exist on this machine
          """)
    }
  }

  @Test("without the default access group on the machine the policy loads and has no members")
  func noGroup() throws {
    let nobody = PrincipalResolver(user: { _ in nil }, group: { _ in nil })
    let policy = try Policy(Config(), daemonUser: 990, names: nobody)
    #expect(
      policy.decide(Self.member, PolicyRequest(method: "token.get")) == .deny(rule: "(no rule)"))
  }
}
