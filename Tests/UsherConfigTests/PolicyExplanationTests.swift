import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@Suite("Explanations of policy decisions")
struct PolicyExplanationTests {
  private static let names = PrincipalResolver(
    user: { ["till": 2000, "anna": 1000][$0] }, group: { ["usher": 50, "tills": 60][$0] },
    groups: { [2000: [60, 70], 1000: [100, 50]][$0] ?? [] })

  private static let rules =
    provider
    + client("{ user = \"till\" }", allow: "[\"token.list\"]", name: "lists")
    + client("{ group = \"tills\" }", allow: "[\"token.*\"]", name: "night") + """
      hours = ["Mon-Fri 22:00-06:00", "Sat 08:00-09:00"]

      """
    + client("{ unit = \"till.service\" }", allow: "[\"account.*\", \"token.get work\"]") + """
      accounts = ["acc_1"]
      scopes = ["openid", "email"]
      audiences = ["", "https://a.example"]
      fields = ["phone"]
      require_local_auth_seconds = 300
      confirm = true
      confirms = ["night", "lists"]
      owner = "client"
      share = ["lists"]

      """

  private static func answer(_ check: PolicyCheck) throws -> PolicyCheck.Reply {
    let config = try load(rules)
    let policy = try Policy(config, daemonUser: 990, names: names)
    return try policy.answer(
      check, of: config, at: try WeekMinute(setting: "Mon 12:00"), names: names)
  }

  private static let work = ProviderName("work")

  @Test("policy.check gives for each rule the reason why it allows the call or not")
  func considered() throws {
    let reply = try Self.answer(
      PolicyCheck(user: "till", unit: "till.service", method: "token.get", provider: Self.work))
    #expect(
      reply
        == PolicyCheck.Reply(
          allowed: true, rule: "till", why: "rule till lists it as \"token.get work\"",
          conditions: .init(
            localAuthSeconds: 300, confirmation: true, scopes: ["openid", "email"],
            fields: ["phone"]),
          client: "lists", lenders: ["till"], confirms: ["lists", "night"],
          considered: [
            .init(
              rule: "lists", file: "usherd.toml", line: 6, allows: false,
              why: "does not list the call"),
            .init(
              rule: "night", file: "usherd.toml", line: 10, allows: false,
              why: "applies Mon-Fri 22:00-06:00, Sat 08:00-09:00; next in 10 h"),
            .init(
              rule: "till", file: "usherd.toml", line: 15, allows: true,
              why: "lists it as \"token.get work\""),
          ], unidentified: "till"))
  }

  @Test("policy.check does not list the rules after the one that decides")
  func later() throws {
    let reply = try Self.answer(
      PolicyCheck(
        user: "till", unit: "till.service", method: "token.get", provider: Self.work,
        at: "Tue 05:59"))
    #expect(reply.rule == "night")
    #expect(reply.considered.map(\.rule) == ["lists", "night"])
    #expect(reply.conditions == .init())
  }

  @Test("a denial by policy.check has the reason, the caller's error and the wait for closed hours")
  func denials() throws {
    let late = try Self.answer(
      PolicyCheck(groups: ["tills"], method: "token.get", provider: Self.work, at: "Fri 06:01"))
    #expect(!late.allowed && late.conditions == nil)
    #expect(
      late.why
        == "rule night applies Mon-Fri 22:00-06:00, Sat 08:00-09:00; next in 15 h 59 min")
    #expect(late.reason == "permission_denied")
    #expect(late.retryAfterMs == (15 * 60 + 59) * 60_000)

    let account = try Self.answer(
      PolicyCheck(unit: "till.service", method: "account.get", account: AccountID("acc_2")))
    #expect(account.why == "rule till is for other accounts")
    #expect(account.reason == "not_found")
    #expect(account.client == "till" && account.owner == .client)

    let scope = try Self.answer(
      PolicyCheck(
        unit: "till.service", method: "token.get", provider: Self.work, scope: "openid admin"))
    #expect(scope.why == "rule till allows only the scopes openid email")
    #expect(scope.reason == "permission_denied" && scope.retryAfterMs == nil)
    let audience = try Self.answer(
      PolicyCheck(
        unit: "till.service", method: "token.get", provider: Self.work, scope: "openid",
        audience: "https://b.example"))
    #expect(audience.why == "rule till allows only the audiences (none) https://a.example")

    let one = try Self.answer(PolicyCheck(unit: "till.service", method: "flow.list"))
    #expect(one.why == "rule till matches the caller but does not list the call")
    let three = try Self.answer(
      PolicyCheck(user: "till", unit: "till.service", method: "flow.list"))
    #expect(three.why == "3 rules match the caller but none lists the call")
    #expect(three.rule == "lists")
  }

  @Test("if no rule matches, policy.check tells which default allows or denies the call")
  func unruled() throws {
    for (user, method, allowed, rule, why) in [
      ("0", "token.get", true, "(root)", "root may do everything"),
      ("990", "token.get", true, "(daemon)", "daemon may do everything"),
      ("anna", "token.get", true, "(members of usher)", "members of usher may use what they own"),
      (
        "anna", "system.lock", false, "(members of usher)",
        "members of usher may neither lock nor unlock"
      ),
      ("7", "token.get", false, "(no rule)", "the caller is not in access.group"),
    ] {
      let reply = try Self.answer(PolicyCheck(user: user, method: method))
      #expect(reply.allowed == allowed)
      #expect(reply.rule == rule)
      #expect(reply.why == "no rule matches the caller, and \(why)")
      #expect(reply.client == "(user)" && reply.considered.isEmpty)
    }
    let status = try Self.answer(PolicyCheck(unit: "till.service", method: "system.status"))
    #expect(status.why == "every caller may call system.status")
    #expect(status.rule == "(everybody)" && status.considered.isEmpty)
  }

  @Test("a policy explanation has the same answer, rule and conditions as the decision itself")
  func agreement() throws {
    let config = try load(Self.rules)
    let policy = try Policy(config, daemonUser: 990, names: Self.names)
    let callers = [0, 990, 1000, 2000, 7].flatMap { uid in
      [nil, "till.service"].map { unit in
        CallerIdentity(uid: uid, gid: uid == 2000 ? 60 : 50, unit: unit)
      }
    }
    for caller in callers {
      for method in ["token.get", "token.list", "account.get", "system.lock", "rpc.hello"] {
        for moment in ["Mon 12:00", "Mon 23:00"] {
          var request = PolicyRequest(method: method, provider: "work")
          request.weekMinute = try WeekMinute(setting: moment)
          let decision = policy.decide(caller, request)
          let reply = policy.caller(caller).explain(request)
          #expect(reply.allowed == decision.isAllowed)
          #expect(reply.rule == decision.rule)
          guard case .allowed(let permit) = decision else { continue }
          #expect(reply.conditions?.confirmation == permit.needsConfirmation)
          #expect(reply.conditions?.localAuthSeconds == permit.localAuthSeconds)
        }
      }
    }
  }

  // MARK: The caller

  @Test(
    "policy.check finds the client from the given client name, user, groups and unit",
    arguments: [
      (PolicyCheck(client: "till", method: "x.y"), "till"),
      (PolicyCheck(client: "lists", method: "x.y"), "lists"),
      (PolicyCheck(client: "night", method: "x.y"), "night"),
      (PolicyCheck(client: "night", user: "till", method: "x.y"), "lists"),
      (PolicyCheck(client: "till", groups: ["60"], method: "x.y"), "night"),
      (PolicyCheck(user: "2000", groups: [], method: "x.y"), "lists"),
      (PolicyCheck(user: "anna", groups: ["tills"], method: "x.y"), "night"),
      (PolicyCheck(unit: "till.service", method: "x.y"), "till"),
      (PolicyCheck(executable: "/usr/bin/till", method: "x.y"), "(user)"),
      (PolicyCheck(method: "x.y"), "(user)"),
    ])
  func callers(check: PolicyCheck, client: String) throws {
    #expect(try Self.answer(check).client == client)
  }

  @Test("policy.check without user and groups is neither root nor the daemon's user nor a member")
  func nobody() throws {
    for check in [
      PolicyCheck(method: "token.get"), PolicyCheck(groups: [], method: "token.get"),
      PolicyCheck(unit: "other.service", method: "token.get"),
    ] {
      #expect(try Self.answer(check).rule == "(no rule)")
    }
    #expect(try Self.answer(PolicyCheck(user: "1000", method: "token.get")).allowed)
    #expect(try !Self.answer(PolicyCheck(user: "1000", groups: [], method: "token.get")).allowed)
    #expect(try Self.answer(PolicyCheck(groups: ["usher"], method: "token.get")).allowed)
  }

  @Test(
    "policy.check refuses an unknown or malformed parameter with an error that names it",
    arguments: [
      (
        PolicyCheck(client: "tils", method: "x.y"), "client",
        "client is not a client of the configuration; did you mean till?"
      ),
      (
        PolicyCheck(user: "bob", method: "x.y"), "user",
        "user names \"bob\", which does not exist on this machine"
      ),
      (PolicyCheck(user: "", method: "x.y"), "user", "user must be a name or a numeric id"),
      (
        PolicyCheck(groups: ["60", "bobs"], method: "x.y"), "groups.1",
        "groups.1 names \"bobs\", which does not exist on this machine"
      ),
      (
        PolicyCheck(unit: "till", method: "x.y"), "unit",
        "unit must be a unit's full name, such as \"till.service\""
      ),
      (
        PolicyCheck(executable: "till", method: "x.y"), "executable",
        "executable must be an absolute path"
      ),
      (
        PolicyCheck(method: "token.get", provider: ProviderName("wrok")), "provider",
        "provider is not configured; did you mean work?"
      ),
      (
        PolicyCheck(method: "x.y", at: "08:30"), "at",
        "at must be a day and a time, such as \"Mon 08:30\""
      ),
    ])
  func refusals(check: PolicyCheck, field: String, message: String) throws {
    let error = try #require(throws: UsherError.self) { try Self.answer(check) }
    #expect(error.reason == .invalidParams)
    #expect(error.detail.field == field)
    #expect(error.message == message)
  }

  @Test("policy.check accepts the provider local, and an account given by its subject alone")
  func targets() throws {
    let local = PolicyCheck(
      client: "till", method: "flow.start", provider: ProviderName("local"), kind: "authenticate")
    #expect(try Self.answer(local).rule == "till")
    let subject = PolicyCheck(client: "till", method: "account.get", subject: "18233")
    #expect(try Self.answer(subject).reason == "not_found")
    let own = PolicyCheck(client: "till", method: "account.get", account: AccountID("acc_1"))
    #expect(try Self.answer(own).allowed)
  }

  // MARK: The list of rules

  @Test("policy.list has every rule with its file, line and settings")
  func list() throws {
    let config = try Config.load(files: [
      ("usherd.toml", Self.rules),
      ("conf.d/10.toml", "\n" + client("{ user = 7 }", allow: "[]", name: "last")),
    ])
    let list = config.policyList()
    #expect(list.group == "usher")
    #expect(list.rules.map(\.name) == ["lists", "night", "till", "last"])
    #expect(list.rules.map(\.line) == [6, 10, 15, 2])
    #expect(list.rules[3].file == "conf.d/10.toml")
    #expect(list.rules[3].settings == ["match": ["user": "7"], "allow": []])
    #expect(
      list.rules[2].settings == [
        "match": ["unit": "till.service"], "allow": ["account.*", "token.get work"],
        "accounts": ["acc_1"], "scopes": ["openid", "email"],
        "audiences": ["", "https://a.example"], "fields": ["phone"],
        "require_local_auth_seconds": 300, "confirm": true, "confirms": ["night", "lists"],
        "owner": "client", "share": ["lists"],
      ])
    #expect(Config().policyList() == PolicyList.Reply(rules: [], group: "usher"))
  }
}
