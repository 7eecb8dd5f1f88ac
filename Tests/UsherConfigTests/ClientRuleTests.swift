import Testing
import UsherConfig

@Suite("Keys of a [[client]] rule")
struct ClientRuleTests {
  /// A rule with every key.
  private static let whole =
    client("{ unit = \"till.service\" }") + """
      require_local_auth_seconds = 300
      accounts = ["acc_7h", "subject:18233"]
      scopes = ["openid", "https://id.example.com/scope:a.b"]
      audiences = ["", "https://api.example.com"]
      fields = ["firstname", "phone"]
      hours = ["Mon-Fri 08:00-18:00"]
      confirm = true
      confirms = ["kiosk"]
      owner = "client"
      share = ["kiosk"]

      """ + client("{ user = 1 }", name: "kiosk")

  @Test("every optional key of a rule is read, and config show prints rules that load the same")
  func whole() throws {
    let config = try load(Self.whole)
    let rule = try #require(config.clients.first)
    #expect(rule.accounts == [.id("acc_7h"), .subject("18233")])
    #expect(rule.scopes == ["openid", "https://id.example.com/scope:a.b"])
    #expect(rule.audiences == ["", "https://api.example.com"])
    #expect(rule.fields == ["firstname", "phone"])
    #expect(rule.hours?.map(\.settingText) == ["Mon-Fri 08:00-18:00"])
    #expect(rule.confirm)
    #expect(rule.confirms == ["kiosk"])
    #expect(rule.owner == .client)
    #expect(rule.share == ["kiosk"])
    #expect(try load(config.show()) == config)
  }

  @Test("a client rule with only name, match and allow loads; its other keys have their defaults")
  func defaults() throws {
    let rule = try #require(load(client("{ user = 1 }")).clients.first)
    #expect(rule.accounts == nil && rule.scopes == nil && rule.fields == nil && rule.hours == nil)
    #expect(rule.audiences == nil)
    #expect(rule.requireLocalAuthSeconds == nil && !rule.confirm)
    #expect(rule.confirms.isEmpty && rule.owner == .user && rule.share.isEmpty)
  }

  private static let selector =
    "must be an account's id, \"acc_…\", or \"subject:\" and its subject"

  @Test(
    "an invalid value or unknown key in a rule is a problem that names line, column and key",
    arguments: [
      ("accounts = \"acc_1\"", "12: client[0].accounts: expected an array, found a string"),
      ("accounts = [\"18233\"]", "13: client[0].accounts[0]: \(selector)"),
      ("accounts = [\"acc_1\", \"acc-2\"]", "22: client[0].accounts[1]: \(selector)"),
      ("accounts = [\"subject:\"]", "13: client[0].accounts[0]: \(selector)"),
      ("accounts = [\"acc_1 \"]", "13: client[0].accounts[0]: \(selector)"),
      ("accounts = [1]", "13: client[0].accounts[0]: expected a string, found an integer"),
      ("scopes = [\"openid email\"]", "10: client[0].scopes: must be names of scopes"),
      ("scopes = [\"\"]", "10: client[0].scopes: must be names of scopes"),
      ("scopes = ['a\"b']", "10: client[0].scopes: must be names of scopes"),
      ("scopes = \"openid\"", "10: client[0].scopes: expected an array, found a string"),
      ("audiences = [\"a b\"]", "13: client[0].audiences: must be audiences of tokens"),
      ("fields = [\"\"]", "10: client[0].fields: must be names of members"),
      ("fields = [\"a b\"]", "10: client[0].fields: must be names of members"),
      ("hours = []", "9: client[0].hours: must have at least one entry"),
      ("hours = \"Mon 08:00-09:00\"", "9: client[0].hours: expected an array, found a string"),
      ("confirm = \"yes\"", "11: client[0].confirm: expected true or false, found a string"),
      ("confirms = \"kiosk\"", "12: client[0].confirms: expected an array, found a string"),
      ("owner = \"root\"", "9: client[0].owner: must be one of \"user\", \"client\""),
      ("owner = true", "9: client[0].owner: expected a string, found a boolean"),
      ("account = [\"acc_1\"]", "1: client[0].account: unknown key; did you mean accounts?"),
    ])
  func refusals(line: String, problem: String) {
    #expect(problems(client("{ user = 1 }") + line + "\n") == "usherd.toml:5:\(problem)")
  }

  private static let kiosk = client("{ user = 2 }", name: "kiosk")

  @Test(
    "confirms and share refuse unknown clients and the rule's own; share needs owner = client",
    arguments: [
      ("confirms = [\"kiosk\"]", ""), ("owner = \"client\"\nshare = [\"kiosk\"]", ""),
      ("share = []", ""), ("confirms = []", ""),
      (
        "confirms = [\"kiosk\",\n  \"kisok\"]",
        "6:3: client[0].confirms[1]: client \"kisok\" is not defined; did you mean kiosk?"
      ),
      ("confirms = [\"(user)\"]", "5:13: client[0].confirms[0]: client \"(user)\" is not defined"),
      (
        "owner = \"client\"\nshare = [\"office\"]",
        "6:10: client[0].share[0]: client \"office\" is not defined"
      ),
      (
        "confirms = [\"till\"]",
        "5:13: client[0].confirms[0]: a client cannot answer its own questions"
      ),
      (
        "owner = \"client\"\nshare = [\"till\"]",
        "6:10: client[0].share[0]: a client always has access to its own accounts"
      ),
      (
        "share = [\"kiosk\"]",
        "5:9: client[0].share: needs owner = \"client\": a client cannot share a user's accounts"
      ),
      (
        "owner = \"user\"\nshare = [\"kiosk\"]",
        "6:9: client[0].share: needs owner = \"client\": a client cannot share a user's accounts"
      ),
    ])
  func otherClients(lines: String, problem: String) {
    let found = problems(client("{ user = 1 }") + lines + "\n" + Self.kiosk)
    #expect(found == (problem.isEmpty ? "" : "usherd.toml:\(problem)"))
  }

  @Test("a rule may share with a client from a later file, even if that client's allow is empty")
  func laterFiles() {
    let lends = client("{ user = 1 }") + "owner = \"client\"\nshare = [\"kiosk\"]\n"
    let idle = client("{ user = 2 }", allow: "[]", name: "kiosk")
    #expect(problems([("a.toml", lends), ("b.toml", idle)]) == "")
    #expect(!problems([("a.toml", lends), ("b.toml", "x = \n")]).contains("is not defined"))
  }

  // MARK: Clients and ownership

  private static func policy(_ rules: String) throws -> Policy {
    let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })
    return try Policy(load(rules), daemonUser: 990, names: names)
  }

  @Test("the first rule that matches the caller decides its client name and who owns its accounts")
  func ownership() throws {
    let own = client("{ user = 2000 }", name: "own") + "owner = \"client\"\n"
    let user = client("{ group = 60 }", name: "user")
    let till = CallerIdentity(uid: 2000, gid: 60)
    for (rules, ownership, client) in [
      (own + user, ClientRule.Ownership.client, "own"), (user + own, .user, "user"),
      ("", .user, "(user)"),
    ] {
      let policy = try Self.policy(rules).caller(till)
      #expect(policy.ownership == ownership)
      #expect(policy.clientName == client)
    }
  }

  @Test("a caller's lenders are the clients that share with its client, in configuration order")
  func lenders() throws {
    let lines = { (names: String) in "owner = \"client\"\nshare = [\(names)]\n" }
    let rules =
      client("{ user = 1 }", name: "shop") + lines("\"kiosk\", \"kiosk\", \"office\"")
      + client("{ user = 2 }", name: "kiosk") + client("{ user = 3 }", name: "office")
      + client("{ user = 4 }", name: "bank") + lines("\"kiosk\"")
      + client("{ group = 9 }", name: "guests")
    let policy = try Self.policy(rules)
    #expect(policy.caller(CallerIdentity(uid: 2, gid: 5)).lenders == ["shop", "bank"])
    #expect(policy.caller(CallerIdentity(uid: 3, gid: 9)).lenders == ["shop"])
    #expect(policy.caller(CallerIdentity(uid: 1, gid: 5)).lenders == [])
    #expect(policy.caller(CallerIdentity(uid: 7, gid: 9)).lenders == [])
    #expect(policy.caller(CallerIdentity(uid: 0, gid: 0)).lenders == [])
  }

  @Test("a caller may confirm for the clients that any of its matching rules lists in confirms")
  func confirms() throws {
    let rules =
      client("{ user = 2000 }", name: "a") + "confirms = [\"c\"]\n"
      + client("{ group = 60 }", name: "b") + "confirms = [\"c\", \"d\"]\n"
      + client("{ user = 3 }", name: "c") + client("{ user = 4 }", name: "d")
    let policy = try Self.policy(rules)
    #expect(policy.caller(CallerIdentity(uid: 2000, gid: 60)).confirms == ["c", "d"])
    #expect(policy.caller(CallerIdentity(uid: 2000, gid: 1)).confirms == ["c"])
    #expect(policy.caller(CallerIdentity(uid: 3, gid: 1)).confirms == [])
    #expect(policy.caller(CallerIdentity(uid: 0, gid: 0)).confirms == [])
  }
}
