import Testing
import UsherConfig

@Suite("Conditions of a rule")
struct RuleConditionTests {
  private static let till = CallerIdentity(uid: 2000, gid: 60)

  private static func rule(
    _ name: String, _ lines: String = "", allow: String = "[\"*\"]"
  ) -> String {
    client("{ user = 2000 }", allow: allow, name: name) + lines + "\n"
  }

  private static func decide(
    _ rules: String, _ request: PolicyRequest, _ caller: CallerIdentity = till
  ) throws -> Decision {
    let names = PrincipalResolver(user: { _ in nil }, group: { ["usher": 50][$0] })
    return try Policy(load(provider + rules), daemonUser: 990, names: names)
      .decide(caller, request)
  }

  private static func request(
    _ method: String, account: String? = nil, subject: String = "s-1", scopes: [String]? = nil,
    at moment: String? = nil
  ) throws -> PolicyRequest {
    var request = PolicyRequest(method: method, provider: "work")
    request.account = account.map { .init(id: $0, subject: subject) }
    request.scopes = scopes
    request.weekMinute = try moment.map { (text) throws(SettingError) in
      try WeekMinute(setting: text)
    }
    return request
  }

  // MARK: Accounts

  @Test(
    "a rule's accounts match by id or by subject; a call without an account is not limited",
    arguments: [
      ("acc_1", "s-9", true), ("acc_2", "s-9", false), ("acc_3", "18233", true),
      ("acc_3", "18234", false), ("acc_18233", "18", false), ("18233", "x", false),
      ("acc_4", "acc_1", false), ("subject:18233", "x", false),
    ])
  func accounts(id: String, subject: String, isAllowed: Bool) throws {
    let rule = Self.rule("till", "accounts = [\"acc_1\", \"subject:18233\"]")
    for method in ["token.get", "account.get", "account.forget", "totp.code", "flow.start"] {
      let answer: Decision = isAllowed ? .allow(rule: "till") : .deny(rule: "till", .account)
      #expect(try Self.decide(rule, Self.request(method, account: id, subject: subject)) == answer)
      #expect(try Self.decide(rule, Self.request(method)) == .allow(rule: "till"))
    }
  }

  @Test("a client rule with an empty accounts list denies a call about an account")
  func noAccounts() throws {
    let rule = Self.rule("till", "accounts = []")
    let request = try Self.request("token.get", account: "acc_1")
    #expect(try Self.decide(rule, request) == .deny(rule: "till", .account))
  }

  @Test("a caller is limited to some accounts if any of its matching rules lists accounts")
  func choosing() throws {
    let rules = try load(Self.rule("all") + Self.rule("some", "accounts = [\"acc_1\"]")).clients
    for (rules, chooses) in [(rules, true), ([rules[0]], false), ([], false)] {
      let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })
      let policy = try Policy(
        rules: rules, access: .blank, daemonUser: 990, names: names)
      #expect(policy.caller(Self.till).choosesAccounts == chooses)
    }
  }

  // MARK: Scopes and fields

  @Test(
    "a client rule's scopes deny a call that asks for more, and are passed on in the permit",
    arguments: [
      (["openid"], true), (["email", "openid"], true), ([], true), (nil, true),
      (["openid", "admin"], false), (["Openid"], false), ([""], false),
    ] as [([String]?, Bool)])
  func scopes(asked: [String]?, isAllowed: Bool) throws {
    let rule = Self.rule("till", "scopes = [\"openid\", \"email\"]")
    let decision = try Self.decide(rule, Self.request("token.get", scopes: asked))
    var permit = Permit(rule: "till")
    permit.scopes = ["openid", "email"]
    #expect(
      decision
        == (isAllowed ? .allowed(permit) : .deny(rule: "till", .scope(["openid", "email"]))))
  }

  @Test(
    "a client rule's audiences deny a token for another audience, but not an ID token",
    arguments: [
      ("https://a.example", true), ("", true), (nil, true), ("https://b.example", false),
      ("https://a.example/", false), ("https://A.example", false),
    ] as [(String?, Bool)])
  func audiences(asked: String?, isAllowed: Bool) throws {
    let rule = Self.rule("till", "audiences = [\"\", \"https://a.example\"]")
    var request = try Self.request("token.get")
    request.audiences = asked.map { [$0] }
    #expect(
      try Self.decide(rule, request)
        == (isAllowed
          ? .allow(rule: "till") : .deny(rule: "till", .audience(["", "https://a.example"]))))
  }

  @Test("a client rule's fields are passed on in the permit")
  func fields() throws {
    let rule = Self.rule("till", "fields = [\"firstname\", \"phone\"]")
    var permit = Permit(rule: "till")
    permit.fields = ["firstname", "phone"]
    #expect(try Self.decide(rule, Self.request("account.get")) == .allowed(permit))
  }

  // MARK: Hours

  @Test("a client rule outside its hours denies the call and gives the minutes until it opens")
  func hours() throws {
    let rule = Self.rule(
      "till", "hours = [\"Mon-Fri 08:00-18:00\", \"Sat 10:00-12:00\"]")
    for (moment, minutes) in [
      ("Fri 17:59", nil), ("Fri 18:00", 960), ("Sat 10:00", nil), ("Sat 12:00", 2640),
      ("Mon 07:59", 1),
    ] {
      for method in ["token.get", "flow.start", "account.list", "events.subscribe"] {
        let answer = minutes.map { Decision.deny(rule: "till", .hours(minutes: $0)) }
        #expect(
          try Self.decide(rule, Self.request(method, at: moment))
            == answer ?? .allow(rule: "till"), "\(method) \(moment)")
      }
    }
  }

  @Test(
    "a rule's hours do not limit flow follow-ups, locking, public methods or untimed requests")
  func timeless() throws {
    let rule = Self.rule("till", "hours = [\"Mon 08:00-09:00\"]")
    for method in [
      "flow.get", "flow.wait", "flow.submit", "flow.cancel", "flow.list", "system.lock",
      "system.unlock",
    ] {
      #expect(
        try Self.decide(rule, Self.request(method, at: "Tue 12:00")) == .allow(rule: "till"),
        "\(method)")
    }
    #expect(
      try Self.decide(rule, Self.request("system.status", at: "Tue 12:00"))
        == .allow(rule: "(everybody)"))
    #expect(try Self.decide(rule, Self.request("token.get")) == .allow(rule: "till"))
  }

  // MARK: Confirmation

  @Test("confirm = true requires a confirmation for sensitive methods only")
  func confirm() throws {
    let rule = Self.rule("till", "confirm = true")
    var asking = Permit(rule: "till")
    asking.needsConfirmation = true
    for method in [
      "token.get", "token.revoke", "totp.code", "account.get", "account.forget", "client.clear",
      "flow.start", "registration.checkDuplicate", "registration.checkUserKey",
    ] {
      #expect(try Self.decide(rule, Self.request(method)) == .allowed(asking), "\(method)")
    }
    for method in [
      "token.list", "totp.list", "flow.get", "flow.submit", "flow.list",
      "consent.list", "confirm.answer", "system.lock", "provider.list",
    ] {
      #expect(try Self.decide(rule, Self.request(method)) == .allow(rule: "till"), "\(method)")
    }
    #expect(
      try Self.decide(Self.rule("till", "confirm = false"), Self.request("token.get"))
        == .allow(rule: "till"))
    var listing = Permit(rule: "till")
    listing.fields = []
    #expect(
      try Self.decide(rule, Self.request("account.list")) == .allowed(listing), "no profile")
    // This flow authenticates the person who answers confirmations, so it needs none itself.
    let local = PolicyRequest(method: "flow.start", provider: "local", kind: "authenticate")
    #expect(try Self.decide(rule, local) == .allow(rule: "till"))
  }

  // MARK: Order

  private static let closed = "hours = [\"Mon 08:00-09:00\"]"

  @Test("an unmet accounts, scopes or hours key leaves the call to the next rule; confirm does not")
  func next() throws {
    let request = try Self.request(
      "token.get", account: "acc_1", scopes: ["openid"], at: "Tue 12:00")
    for objection in ["accounts = [\"acc_2\"]", "scopes = [\"email\"]", Self.closed] {
      #expect(
        try Self.decide(Self.rule("first", objection) + Self.rule("second"), request)
          == .allow(rule: "second"), "\(objection)")
    }
    var asking = Permit(rule: "first", localAuthSeconds: 60)
    asking.needsConfirmation = true
    let strict = Self.rule("first", "confirm = true\nrequire_local_auth_seconds = 60")
    #expect(try Self.decide(strict + Self.rule("second"), request) == .allowed(asking))
    #expect(try Self.decide(Self.rule("second") + strict, request) == .allow(rule: "second"))
  }

  @Test("of two client rules the first that allows the call decides, with its scopes")
  func disagreement() throws {
    let forbids = Self.rule("forbids", allow: "[]")
    let allows = Self.rule("allows", allow: "[\"token.get work\"]")
    let request = try Self.request("token.get")
    #expect(try Self.decide(forbids + allows, request) == .allow(rule: "allows"))
    #expect(try Self.decide(allows + forbids, request) == .allow(rule: "allows"))
    let some = Self.rule("some", "scopes = [\"openid\"]")
    let all = Self.rule("all")
    var permit = Permit(rule: "some")
    permit.scopes = ["openid"]
    #expect(try Self.decide(some + all, request) == .allowed(permit))
    #expect(try Self.decide(all + some, request) == .allow(rule: "all"))
  }

  @Test("a denial has the cause of the first rule that lists the call")
  func firstObjection() throws {
    let other = Self.rule("other", allow: "[\"account.list\"]")
    let late = Self.rule("late", Self.closed)
    let few = Self.rule("few", "scopes = [\"email\"]")
    let request = try Self.request("token.get", scopes: ["openid"], at: "Tue 12:00")
    let hours = Denial.Cause.hours(minutes: 8400)
    #expect(try Self.decide(other + late + few, request) == .deny(rule: "late", hours))
    #expect(try Self.decide(other + few + late, request) == .deny(rule: "few", .scope(["email"])))
    #expect(try Self.decide(late + other, request) == .deny(rule: "late", hours))
    #expect(try Self.decide(other, request) == .deny(rule: "other", .notListed))
    let none = Self.rule("none", allow: "[]")
    #expect(try Self.decide(none + other, request) == .deny(rule: "none", .notListed))
  }

  @Test("a denial's cause is account only if no other rule fails at a later check")
  func accountObjection() throws {
    let other = Self.rule("other", "accounts = [\"acc_2\"]")
    let late = Self.rule("late", Self.closed)
    let request = try Self.request("token.get", account: "acc_1", at: "Tue 12:00")
    let hours = Decision.deny(rule: "late", .hours(minutes: 8400))
    #expect(try Self.decide(other + late, request) == hours)
    #expect(try Self.decide(late + other, request) == hours)
    #expect(try Self.decide(other, request) == .deny(rule: "other", .account))
  }

  @Test("a client rule checks accounts before scopes, and scopes before hours")
  func withinRule() throws {
    var lines = ["accounts = [\"acc_2\"]", "scopes = [\"email\"]", Self.closed]
    let request = try Self.request(
      "token.get", account: "acc_1", scopes: ["openid"], at: "Tue 12:00")
    var causes: [Denial.Cause] = []
    while !lines.isEmpty {
      guard
        case .denied(let denial) = try Self.decide(
          Self.rule("till", lines.joined(separator: "\n")), request)
      else { break }
      causes.append(denial.cause)
      lines.removeFirst()
    }
    #expect(causes == [.account, .scope(["email"]), .hours(minutes: 8400)])
  }

  // MARK: Locking

  @Test("only root, the daemon's user and callers whose rule lists the method may lock or unlock")
  func locking() throws {
    let root = CallerIdentity(uid: 0, gid: 0)
    let daemon = CallerIdentity(uid: 990, gid: 990)
    let member = CallerIdentity(uid: 1001, gid: 50)
    for method in ["system.lock", "system.unlock"] {
      let request = PolicyRequest(method: method)
      #expect(try Self.decide("", request, root) == .allow(rule: "(root)"))
      #expect(try Self.decide("", request, daemon) == .allow(rule: "(daemon)"))
      #expect(try Self.decide("", request, member) == .deny(rule: "(members of usher)"))
      #expect(try Self.decide("", request) == .deny(rule: "(no rule)"))
      for pattern in [method, "system.*", "*"] {
        let rule = Self.rule("till", allow: "[\"\(pattern)\"]")
        #expect(try Self.decide(rule, request) == .allow(rule: "till"), "\(pattern)")
      }
      for pattern in ["system.status", "token.*", "flow.start"] {
        let rule = Self.rule("till", allow: "[\"\(pattern)\"]")
        #expect(try Self.decide(rule, request) == .deny(rule: "till"), "\(pattern)")
      }
      let ofRoot = Self.rule("ops", allow: "[\"token.get\"]").replacing("2000", with: "0")
      #expect(try Self.decide(ofRoot, request, root) == .deny(rule: "ops"))
    }
  }
}
