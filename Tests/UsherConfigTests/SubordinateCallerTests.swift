import Testing
import UsherConfig
import UsherCore

@Suite("Callers with a subordinate user id")
struct SubordinateCallerTests {
  private static let names = PrincipalResolver(
    user: { ["anna": 1000][$0] }, group: { ["usher": 50, "tills": 60][$0] },
    members: { $0 == 61 ? [1000] : [] })

  /// A process in a user namespace of the user anna that keeps its groups.
  private static let below = CallerIdentity(
    uid: 300_000, gid: 60, groups: [50], unit: "user@1000.service", subordinateTo: [.user(1000)])

  private func decide(
    _ rules: [ClientMatch], _ method: String = "account.list", by caller: CallerIdentity = below
  ) throws -> Decision {
    let rules = try rules.enumerated().map { place, match in
      ClientRule(
        name: "rule\(place)", match: match, allow: [try AccessPattern(setting: "account.list")])
    }
    let policy = try Policy(
      rules: rules, access: .blank, daemonUser: 990, names: Self.names)
    let caller = policy.caller(caller)
    #expect(caller.hasNoRights == !caller.decide(.init(method: "account.list")).isAllowed)
    return caller.decide(PolicyRequest(method: method))
  }

  @Test("a subordinate id gets nothing through access.group, although its owner does")
  func group() throws {
    #expect(try decide([]) == .deny(rule: "(no rule)"))
    #expect(try decide([], "system.status") == .allow(rule: "(everybody)"))
    var own = Self.below
    own.uid = 1000
    own.subordinateTo = []
    #expect(try decide([], by: own) == .allow(rule: "(members of usher)"))
  }

  @Test("a user cannot bypass a rule about that user by a subordinate id and a group rule")
  func rule() throws {
    for match in [
      ClientMatch(user: .name("anna")), ClientMatch(user: .id(1000)),
      ClientMatch(unit: "user@1000.service", user: .id(1000)), ClientMatch(group: .id(61)),
    ] {
      #expect(try decide([match]) == .deny(rule: "(no rule)"), "\(match)")
      #expect(try decide([match], "flow.list") == .deny(rule: "(no rule)"))
      // A second rule, which matches the subordinate id itself, does not help.
      #expect(try decide([match, ClientMatch(group: .id(60))]) == .deny(rule: "(no rule)"))
      #expect(try decide([ClientMatch(group: .id(60)), match]) == .deny(rule: "(no rule)"))
    }
  }

  @Test(
    "a rule by user and executable denies the user's subordinate ids if the executable is unknown")
  func undecided() throws {
    var caller = Self.below
    caller.isExecutableKnown = false
    let match = ClientMatch(user: .id(1000), executable: "/usr/bin/till")
    #expect(
      try decide([match, ClientMatch(group: .id(60))], by: caller) == .deny(rule: "(no rule)"))
  }

  @Test("a rule that matches the subordinate id itself applies if no rule is about its owner")
  func own() throws {
    for match in [
      ClientMatch(group: .id(60)), ClientMatch(unit: "user@1000.service"),
      ClientMatch(user: .id(300_000)),
    ] {
      #expect(try decide([match]) == .allow(rule: "rule0"), "\(match)")
      #expect(try decide([match], "flow.list") == .deny(rule: "rule0"))
    }
    #expect(try decide([ClientMatch(user: .id(1001))]) == .deny(rule: "(no rule)"))
  }

  @Test("a rule that names the subordinate id applies even if another rule is about its owner")
  func named() throws {
    let rules = [ClientMatch(user: .id(1000)), ClientMatch(user: .id(300_000))]
    #expect(try decide(rules) == .allow(rule: "rule1"))
    #expect(try decide(rules, "flow.list") == .deny(rule: "rule1"))
  }

  @Test("a subordinate id with two owners cannot bypass a rule about either of them")
  func owners() throws {
    var caller = Self.below
    for owners: [SubordinateOwner] in [[.user(1000), .user(1001)], [.user(1001), .user(1000)]] {
      caller.subordinateTo = owners
      for match in [ClientMatch(user: .id(1000)), ClientMatch(user: .id(1001))] {
        #expect(
          try decide([match, ClientMatch(group: .id(60))], by: caller) == .deny(rule: "(no rule)"),
          "\(owners) \(match)")
      }
      #expect(try decide([], by: caller) == .deny(rule: "(no rule)"))
    }
  }

  @Test("a subordinate id with an unknown owner cannot bypass a rule about any user")
  func unknownOwner() throws {
    var caller = Self.below
    for owners: [SubordinateOwner] in [[.unknown], [.user(1001), .unknown]] {
      caller.subordinateTo = owners
      for match in [
        ClientMatch(user: .id(1002)), ClientMatch(unit: "user@1000.service", user: .name("anna")),
        ClientMatch(group: .id(61)),
      ] {
        let rules = [match, ClientMatch(group: .id(60))]
        #expect(try decide(rules, by: caller) == .deny(rule: "(no rule)"), "\(owners) \(match)")
        #expect(try decide(rules, "system.status", by: caller).isAllowed)
        // A rule that names the subordinate id still applies.
        #expect(try decide(rules + [ClientMatch(user: .id(300_000))], by: caller).isAllowed)
      }
      // The caller is not in this unit, and the group has no members, so no owner can match.
      for match in [
        ClientMatch(unit: "other.service", user: .id(1002)), ClientMatch(group: .id(62)),
      ] {
        #expect(try decide([match, ClientMatch(group: .id(60))], by: caller).isAllowed, "\(match)")
      }
      #expect(try decide([], by: caller) == .deny(rule: "(no rule)"), "access.group gives no right")
    }
  }

  @Test("a rule by user and executable denies subordinate ids if owner and executable are unknown")
  func unknownProgram() throws {
    var caller = Self.below
    caller.subordinateTo = [.unknown]
    caller.isExecutableKnown = false
    let match = ClientMatch(user: .id(1000), executable: "/usr/bin/till")
    #expect(
      try decide([match, ClientMatch(group: .id(60))], by: caller) == .deny(rule: "(no rule)"))
  }
}
