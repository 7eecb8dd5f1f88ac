import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherTestKit

@Suite("Policies with many rules", .timeLimit(.minutes(10)))
struct RuleIndexTests {
  private static let names = PrincipalResolver(user: { _ in nil }, group: { _ in nil })

  private static func policy(_ rules: [ClientRule]) throws -> Policy {
    try Policy(rules: rules, access: .blank, daemonUser: 990, names: names)
  }

  /// Returns the names of the rules that match the caller.
  ///
  /// No rule lists `no.such`, so the explanation considers every matching rule.
  private static func matching(_ caller: CallerIdentity, in policy: Policy) -> [String] {
    policy.caller(caller).explain(PolicyRequest(method: "no.such")).considered.map(\.rule)
  }

  @Test("the rule index finds the same rules in the same order as a search through all rules")
  func equivalence() throws {
    // All combinations of a few values, so that many rules share a value.
    var matches: [ClientMatch] = []
    for unit in [nil, "a.service", "b.service"] {
      for user in [nil, Principal.id(1), .id(2)] {
        for group in [nil, Principal.id(1), .id(2), .id(3)] {
          for executable in [nil, "/usr/bin/a", "/usr/bin/b"] {
            matches.append(
              ClientMatch(unit: unit, user: user, group: group, executable: executable))
          }
        }
      }
    }
    let rules = (matches + matches.reversed()).enumerated().map { place, match in
      ClientRule(name: "r\(place)", match: match, allow: [])
    }
    let policy = try Self.policy(rules)
    for unit in [nil, "a.service", "c.service"] {
      for uid in [UInt32(1), 3] {
        for groups in [[UInt32(1)], [4], [3, 3, 1], [4, 2]] {
          for executable in [nil, "/usr/bin/b"] {
            let caller = CallerIdentity(
              uid: uid, gid: groups[0], groups: groups, unit: unit, executable: executable)
            let expected = rules.filter { $0.match.fits(caller) }.map(\.name)
            #expect(Self.matching(caller, in: policy) == expected, "\(caller)")
          }
        }
      }
    }
  }

  @Test("a client rule with an empty match matches no caller")
  func blank() throws {
    let policy = try Self.policy([
      ClientRule(name: "r", match: .blank, allow: [try AccessPattern(setting: "*")])
    ])
    #expect(policy.caller(CallerIdentity(uid: 1, gid: 1)).clientName == "(user)")
  }

  @Test("each of ten thousand callers is matched by its own rule")
  func callers() throws {
    let rules = (0..<10_000).map { place in
      let match =
        switch place % 4 {
        case 0: ClientMatch(unit: "u\(place).service", user: .id(5), group: .id(6))
        case 1: ClientMatch(user: .id(5), executable: "/usr/bin/p\(place)")
        case 2: ClientMatch(user: .id(UInt32(place)), group: .id(6))
        default: ClientMatch(group: .id(UInt32(place)))
        }
      return ClientRule(name: "r\(place)", match: match, allow: [])
    }
    let policy = try Self.policy(rules)
    for place in 0..<10_000 {
      let id = UInt32(place)
      let caller =
        switch place % 4 {
        case 0: CallerIdentity(uid: 5, gid: 6, unit: "u\(place).service")
        case 1: CallerIdentity(uid: 5, gid: 6, executable: "/usr/bin/p\(place)")
        case 2: CallerIdentity(uid: id, gid: 6)
        default: CallerIdentity(uid: 5, gid: 6, groups: [id])
        }
      #expect(policy.caller(caller).clientName == "r\(place)")
    }
  }

  @Test("ten thousand clients that share with each other have the right lenders")
  func lenders() throws {
    let rules = (0..<10_000).map { place in
      var rule = ClientRule(
        name: "r\(place)", match: ClientMatch(user: .id(UInt32(place + 1))), allow: [])
      rule.owner = .client
      rule.share = ["r\((place + 1) % 10_000)", "r0"]
      return rule
    }
    let policy = try Self.policy(rules)
    for place in 1..<10_000 {
      let caller = policy.caller(CallerIdentity(uid: UInt32(place + 1), gid: 1))
      #expect(caller.lenders == ["r\(place - 1)"])
    }
    #expect(policy.caller(CallerIdentity(uid: 1, gid: 1)).lenders.count == 10_000)
  }

  @Test("a user name in many rules is looked up once")
  func lookUps() throws {
    let asked = Mutex<[String]>([])
    let note = { @Sendable (name: String) in
      asked.withLock { $0.append(name) }
      return name == "till" ? UInt32(7) : nil
    }
    let rules = (0..<100).map { place in
      ClientRule(
        name: "r\(place)", match: ClientMatch(user: .name(place % 2 == 0 ? "till" : "bob")),
        allow: [])
    }
    do throws(ConfigError) {
      _ = try Policy(
        rules: rules, access: .blank, daemonUser: 990,
        names: PrincipalResolver(user: note, group: { _ in nil }))
      Issue.record("the unknown user bob was resolved")
    } catch {
      #expect(error.problems.count == 50)
    }
    #expect(asked.withLock { $0 }.sorted() == ["bob", "till"])
  }

  @Test("ten thousand rules from two files are read with their places, and decide calls")
  func reading() throws {
    let half = { (range: Range<Int>) in
      range.map { place in
        client("{ user = \(place + 10_000) }", allow: "[\"token.get work\"]", name: "r\(place)")
          + "confirms = [\"r\((place + 1) % 10_000)\"]\n"
      }.joined()
    }
    let config = try Config.load(files: [
      ("a.toml", provider + half(0..<5_000)), ("b.toml", half(5_000..<10_000)),
    ])
    #expect(config.clients.count == 10_000)
    let list = config.policyList().rules
    #expect(list.map(\.name) == config.clients.map(\.name))
    #expect(list.last?.file == "b.toml")
    #expect(list.last?.line == 4_999 * 5 + 1)
    #expect(
      try Self.policy(config.clients).caller(CallerIdentity(uid: 10_007, gid: 1))
        .decide(PolicyRequest(method: "token.get", provider: "work")) == .allow(rule: "r7"))
  }

  @Test("ten thousand rules with the same two mistakes have a problem for each in a minute")
  func wrong() throws {
    let text = (0..<10_000).map { place in
      client("{ user = \(place) }", allow: "[\"token.get w\(place)\"]", name: "client\(place)")
        + "confirms = [\"clinet\(place)\"]\n"
    }.joined()
    let halves = text.split(separator: "[[client]]").map { "[[client]]" + $0 }
    let time = processorTime {
      do throws(ConfigError) {
        _ = try Config.load(files: [
          ("a.toml", halves[..<5_000].joined()), ("b.toml", halves[5_000...].joined()),
        ])
        Issue.record("nothing is wrong")
      } catch {
        #expect(error.problems.count == 20_000)
        #expect(
          error.problems[1].message.hasPrefix("client \"clinet0\" is not defined; did you mean "))
      }
    }
    #expect(time < .seconds(60))
  }
}

extension ClientMatch {
  /// Whether the rule matches the caller: a reference implementation without an index.
  fileprivate func fits(_ caller: CallerIdentity) -> Bool {
    if self == .blank { return false }
    if let unit, unit != caller.unit { return false }
    if let executable, executable != caller.executable { return false }
    if let user, user != .id(caller.uid) { return false }
    if let group, !([caller.gid] + caller.groups).contains(where: { group == .id($0) }) {
      return false
    }
    return true
  }
}
