import UsherAPI
import UsherCore

/// Decides who may do what (Access, "Rules"). Whose thing it is, is not decided here: what is not the
/// caller's is not found.
///
/// 1. `rpc.hello`, `rpc.discover`, `rpc.cancel` and `system.status` are everybody's.
/// 2. Rules that match the caller are tried in the order of the files: the first that allows the
///    call decides. When some match and none allows it, it is denied, also to root. A rule allows a
///    call that it lists, of an account, with scopes and at a time as it says. What it asks beyond
///    that, a local authentication or a confirmation, comes back with the permit: whether it is met
///    is not decided here.
/// 3. Where no rule matches, root and the daemon's own user may do everything, members of
///    `access.group` everything but locking, others nothing.
/// 4. A caller whose unit or program cannot be told, where a rule asks for that and its other
///    conditions hold, has only what is everybody's: no rule and no standing gives it more.
/// 5. A subordinate id of a user (subuid(5)) is no member of `access.group`, whatever groups its
///    process has. Where a rule is about the user and not about the id, it has only what is
///    everybody's, unless a rule names the id: else the user would escape the rule by it. An id can
///    have several users; where one is unknown, every rule about users may be about it.
package struct Policy: Sendable {
  let rules: RuleIndex
  /// By the name of a client, the clients that share with it, in the order of their rules.
  private let lenders: [String: [String]]
  let daemonUser: UInt32
  private let memberGroup: UInt32?
  private let memberRule: String

  /// - Throws: A problem for each name nobody has, and for each rule by a program that the kernel does
  ///   not tell the daemon. The default of `access.group` may be missing on
  ///   this machine: then it has no members.
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
    var book = UserNameCache(names, sources)
    self.rules = RuleIndex(
      rules.enumerated().map { place, rule in
        let key = "client[\(place)]"
        let user = book.user(rule.match.user, "\(key).match.user")
        let group = book.group(rule.match.group, "\(key).match.group")
        return PolicyRule(
          rule, at: sources[key], user: user, group: group, members: book.members(of: group))
      })
    var lenders: [String: [String]] = [:]
    for rule in rules {
      for name in Set(rule.share) { lenders[name, default: []].append(rule.name) }
    }
    self.lenders = lenders
    let before = book.unknown
    memberGroup = book.group(access.group, "access.group")
    if sources["access.group"] == nil { book.unknown = before }
    memberRule = "(members of \(access.group.settingText))"
    self.daemonUser = daemonUser
    guard book.unknown.isEmpty else { throw ConfigError(book.unknown) }
  }

  /// What of the policy concerns one caller, to be kept as long as his connection.
  ///
  /// The time it takes grows with the rules that match him, not with all that there are.
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
      rules: matching, otherwise: standing(of: caller),
      lenders: matching.first.flatMap { lenders[$0.name] } ?? [])
  }

  /// Returns the first rule that is about a user of a subordinate id and not about the id.
  ///
  /// - Parameter matching: The rules that match the id.
  /// - Returns: Nil also where one of these names the id.
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

  private func standing(of caller: CallerIdentity) -> Standing {
    if caller.uid == 0 { return .everything(rule: "(root)") }
    if caller.uid == daemonUser { return .everything(rule: "(daemon)") }
    if let owner = caller.subordinateTo.first { return .subordinate(of: owner, rule: nil) }
    if let memberGroup, caller.isMember(of: memberGroup) { return .member(rule: memberRule) }
    return .nobody
  }
}

extension ClientMatch {
  /// Why the executable can never match, or nil.
  ///
  /// - Parameter user: The number of ``user``.
  fileprivate func executableFlaw(user: UInt32?, daemonUser: UInt32) -> String? {
    guard executable != nil, let user, daemonUser != 0, user != daemonUser else { return nil }
    return "can never match: the daemon runs as uid \(daemonUser), and the kernel does not tell it "
      + "which program a process of uid \(user) runs; match by unit instead"
  }
}

extension Config {
  /// The rules that ask for the program of another user's process.
  package func executableProblems(
    daemonUser: UInt32, names: PrincipalResolver
  ) -> [ConfigProblem] {
    clients.enumerated().compactMap { place, rule in
      let user: UInt32? =
        switch rule.match.user {
        case nil: nil
        case .id(let id): id
        case .name(let name): names.user(name)
        }
      let key = "client[\(place)].match.executable"
      return rule.match.executableFlaw(user: user, daemonUser: daemonUser).map {
        ConfigProblem(sources[key], key: key, $0)
      }
    }
  }
}

/// What somebody may do whom no rule matches.
enum Standing: Sendable {
  case everything(rule: String)
  case member(rule: String)
  case nobody
  /// Its process cannot be told, and this rule may be about it.
  case unidentified(rule: String)
  /// It is a subordinate id of a user; where a rule is about the user and not about the id, that rule.
  case subordinate(of: SubordinateOwner, rule: String?)

  func decide(_ request: PolicyRequest) -> Decision {
    switch self {
    case .everything(let rule): .allow(rule: rule)
    case .member(let rule):
      request.traits.audience == .operators ? .deny(rule: rule) : .allow(rule: rule)
    case .nobody, .unidentified, .subordinate: .deny(rule: "(no rule)")
    }
  }
}

/// Looks every name up once, however many rules have it, and notes those nobody has.
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

  /// - Parameter key: Where the name stands, for a problem.
  mutating func user(_ principal: Principal?, _ key: String) -> UInt32? {
    id(principal, key, "user", \.users, names.user)
  }

  /// The users that the user database has in a group.
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
        let message = "there is no \(kind) \"\(name)\" on this machine"
        unknown.append(ConfigProblem(sources[key], key: key, message))
      }
      return id
    }
  }
}
