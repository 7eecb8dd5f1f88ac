import UsherAPI
import UsherCore

/// Decides which callers may make which calls (page Access in Usher.docc, "Rules"). The policy does
/// not check who owns an object: other code reports an object of another owner as not found.
///
/// 1. `rpc.hello`, `rpc.discover`, `rpc.cancel` and `system.status` are open to every caller.
/// 2. The rules that match the caller are tried in the order of the files, and the first one that
///    allows the call decides. If rules match and none allows the call, it is denied, even to root.
///    A rule allows a call that it lists, within its limits on accounts, scopes and hours. A
///    required local authentication or confirmation is returned in the permit; it is not checked
///    here.
/// 3. If no rule matches, root and the daemon's own user may make every call, and members of
///    `access.group` every call except `system.lock` and `system.unlock`. Other callers may make
///    none.
/// 4. If a rule has a condition on the unit or program, the kernel does not report that of the
///    caller, and the other conditions hold, the caller may make only the calls of step 1. Neither
///    another rule nor its user or group gives it more rights.
/// 5. A subordinate id of a user (subuid(5)) is not a member of `access.group`, whatever groups its
///    process has. If a rule applies to the user but not to the id, the id may make only the calls
///    of step 1, unless a rule names the id: otherwise the user could use the id to evade the rule.
///    An id can have several users. If one of them is unknown, every rule about users counts as
///    applying to it.
package struct Policy: Sendable {
  let rules: RuleIndex
  /// For each client name, the clients that share their accounts with it, in the order of their
  /// rules.
  private let lenders: [String: [String]]
  let daemonUser: UInt32
  private let memberGroup: UInt32?
  private let memberRule: String

  /// Creates the policy of a configuration.
  ///
  /// - Throws: A problem for each unknown user or group, and for each rule whose program the kernel
  ///   does not report to the daemon. The default of `access.group` may be missing on this machine;
  ///   then the group has no members.
  package init(
    _ config: Config, daemonUser: UInt32, names: PrincipalResolver
  ) throws(ConfigError) {
    let problems = config.executableProblems(daemonUser: daemonUser, names: names)
    guard problems.isEmpty else { throw ConfigError(problems) }
    try self.init(
      rules: config.clients, access: config.access, sources: config.sources,
      daemonUser: daemonUser, names: names)
  }

  package init(
    rules: [ClientRule], access: AccessSettings, sources: ConfigSources = ConfigSources(),
    daemonUser: UInt32, names: PrincipalResolver
  ) throws(ConfigError) {
    var nameCache = UserNameCache(names, sources)
    self.rules = RuleIndex(
      rules.enumerated().map { place, rule in
        let key = "client[\(place)]"
        let user = nameCache.user(rule.match.user, "\(key).match.user")
        let group = nameCache.group(rule.match.group, "\(key).match.group")
        return PolicyRule(
          rule, at: sources[key], user: user, group: group, members: nameCache.members(of: group))
      })
    var lenders: [String: [String]] = [:]
    for rule in rules {
      for name in Set(rule.share) { lenders[name, default: []].append(rule.name) }
    }
    self.lenders = lenders
    let before = nameCache.unknown
    memberGroup = nameCache.group(access.group, "access.group")
    if sources["access.group"] == nil { nameCache.unknown = before }
    memberRule = "(members of \(access.group.settingText))"
    self.daemonUser = daemonUser
    guard nameCache.unknown.isEmpty else { throw ConfigError(nameCache.unknown) }
  }

  /// Returns the part of the policy that applies to a caller. It can be used for the lifetime of
  /// the caller's connection.
  ///
  /// The time is proportional to the number of rules that match the caller, not to the number of
  /// all rules.
  package func caller(_ caller: CallerIdentity) -> CallerPolicy {
    if let rule = rules.firstUndecided(caller) {
      return CallerPolicy(rules: [], otherwise: .unidentified(rule: rule.name), lenders: [])
    }
    let matching = rules.matching(caller)
    if let (owner, rule) = escapedRule(caller, matching) {
      return CallerPolicy(
        rules: [], otherwise: .subordinate(of: owner, rule: rule.name), lenders: [])
    }
    return CallerPolicy(
      rules: matching, otherwise: fallbackRights(of: caller),
      lenders: matching.first.flatMap { lenders[$0.name] } ?? [])
  }

  /// Returns the first rule that a user could evade with a subordinate id, because it applies to
  /// the user but not to the id.
  ///
  /// - Parameter matching: The rules that match the id.
  /// - Returns: Nil if there is no such rule, or if a matching rule names the id.
  private func escapedRule(
    _ caller: CallerIdentity, _ matching: [PolicyRule]
  ) -> (owner: SubordinateOwner, rule: PolicyRule)? {
    guard !caller.subordinateTo.isEmpty, !matching.contains(where: { $0.user == caller.uid })
    else { return nil }
    for owner in caller.subordinateTo {
      if let rule = escapedRule(caller, of: owner, matching) { return (owner, rule) }
    }
    return nil
  }

  private func escapedRule(
    _ caller: CallerIdentity, of owner: SubordinateOwner, _ matching: [PolicyRule]
  ) -> PolicyRule? {
    switch owner {
    case .user(let user):
      var own = caller
      own.uid = user
      own.subordinateTo = []
      return rules.firstUndecided(own)
        ?? rules.matching(own).first { rule in !matching.contains { $0 === rule } }
    case .unknown:
      return rules.first(aboutAnyUserWithProcessOf: caller, notAmong: matching)
    }
  }

  package func decide(_ caller: CallerIdentity, _ request: PolicyRequest) -> Decision {
    self.caller(caller).decide(request)
  }

  private func fallbackRights(of caller: CallerIdentity) -> FallbackRights {
    if caller.uid == 0 { return .allRights(rule: "(root)") }
    if caller.uid == daemonUser { return .allRights(rule: "(daemon)") }
    if let owner = caller.subordinateTo.first { return .subordinate(of: owner, rule: nil) }
    if let memberGroup, caller.isMember(of: memberGroup) { return .member(rule: memberRule) }
    return .noRights
  }
}

extension Config {
  /// Returns a problem for each rule with a condition on the program of another user's process,
  /// which the kernel does not report to this daemon.
  package func executableProblems(
    daemonUser: UInt32, names: PrincipalResolver
  ) -> [ConfigProblem] {
    clients.enumerated().compactMap { place, rule in
      guard daemonUser != 0, rule.match.executable != nil,
        let user = rule.match.user?.id(by: names.user), user != daemonUser
      else { return nil }
      let key = "client[\(place)].match.executable"
      return ConfigProblem(
        sources[key], key: key,
        "can never match: the daemon runs as uid \(daemonUser), and the kernel does not tell it "
          + "which program a process of uid \(user) runs; match by unit instead")
    }
  }
}

/// The rights of a caller if no client rule matches it.
enum FallbackRights: Sendable {
  case allRights(rule: String)
  case member(rule: String)
  case noRights
  /// The kernel does not report the caller's unit or program, and a rule with a condition on it,
  /// `rule`, may apply to the caller.
  case unidentified(rule: String)
  /// The caller's uid is a subordinate id of a user (subuid(5)). `rule` is the rule that applies to
  /// the user but not to the subordinate id; nil if there is none.
  case subordinate(of: SubordinateOwner, rule: String?)

  func decide(_ request: PolicyRequest) -> Decision {
    switch self {
    case .allRights(let rule): .allow(rule: rule)
    case .member(let rule):
      request.traits.audience == .operators ? .deny(rule: rule) : .allow(rule: rule)
    case .noRights, .unidentified, .subordinate: .deny(rule: "(no rule)")
    }
  }
}

/// Resolves each user and group name once, however many rules use it, and records the unknown
/// names.
private struct UserNameCache {
  private let names: PrincipalResolver
  private let sources: ConfigSources
  private var users: [String: UInt32?] = [:]
  private var groups: [String: UInt32?] = [:]
  private var membersOfGroups: [UInt32: Set<UInt32>] = [:]
  var unknown: [ConfigProblem] = []

  init(_ names: PrincipalResolver, _ sources: ConfigSources) {
    self.names = names
    self.sources = sources
  }

  /// Returns the uid of a user.
  ///
  /// - Parameter key: The setting that contains the name, for the report of an unknown name.
  mutating func user(_ principal: Principal?, _ key: String) -> UInt32? {
    id(principal, key, "user", \.users, names.user)
  }

  /// Returns the users that the user database lists as members of a group; empty if the group is
  /// nil.
  mutating func members(of group: UInt32?) -> Set<UInt32> {
    guard let group else { return [] }
    if let known = membersOfGroups[group] { return known }
    let members = Set(names.members(group))
    membersOfGroups[group] = members
    return members
  }

  mutating func group(_ principal: Principal?, _ key: String) -> UInt32? {
    id(principal, key, "group", \.groups, names.group)
  }

  private mutating func id(
    _ principal: Principal?, _ key: String, _ kind: String,
    _ known: WritableKeyPath<UserNameCache, [String: UInt32?]>, _ find: (String) -> UInt32?
  ) -> UInt32? {
    switch principal {
    case nil: return nil
    case .id(let id): return id
    case .name(let name):
      let id = self[keyPath: known][name] ?? find(name)
      self[keyPath: known].updateValue(id, forKey: name)
      if id == nil {
        let message = "\(kind) \"\(name)\" does not exist on this machine"
        unknown.append(ConfigProblem(sources[key], key: key, message))
      }
      return id
    }
  }
}
