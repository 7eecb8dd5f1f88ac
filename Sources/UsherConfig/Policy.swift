/// Who is calling, as the kernel says; never a field the caller wrote.
package struct CallerIdentity: Sendable, Hashable {
  package var uid: UInt32
  package var gid: UInt32
  /// Supplementary groups.
  package var groups: [UInt32]
  /// The unit of the system instance; nil where it is not known or another manager's.
  package var unit: String?
  /// Nil where the kernel does not let the daemon read it.
  package var executable: String?

  package init(
    uid: UInt32, gid: UInt32, groups: [UInt32] = [], unit: String? = nil, executable: String? = nil
  ) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.unit = unit
    self.executable = executable
  }
}

/// The answer, with the name of the rule that gave it, for the audit.
///
/// Names in parentheses are those of ``Policy``'s own rules; no `[[client]]` can have one.
package enum Decision: Sendable, Equatable {
  /// - Parameter localAuthSeconds: Within how many seconds before the call the client's person must
  ///   have been authenticated on this machine; nil: no such condition.
  case allow(rule: String, localAuthSeconds: Int? = nil)
  case deny(rule: String)

  package var isAllowed: Bool {
    switch self {
    case .allow: true
    case .deny: false
    }
  }
}

/// How names of users and groups become numbers.
package struct PrincipalResolver: Sendable {
  /// Nil for a name nobody has.
  package var user: @Sendable (String) -> UInt32?
  package var group: @Sendable (String) -> UInt32?

  package init(
    user: @escaping @Sendable (String) -> UInt32?, group: @escaping @Sendable (String) -> UInt32?
  ) {
    self.user = user
    self.group = group
  }
}

/// Decides who may do what. Whose thing it is, is not decided here: what is not the caller's is not
/// found.
///
/// 1. `rpc.hello`, `rpc.discover`, `rpc.cancel` and `system.status` are everybody's.
/// 2. Rules that match the caller are tried in the order of the files: the first that allows the
///    call decides. When some match and none allows it, it is denied, also to root.
///    The rule's `require_local_auth_seconds` is then a condition of what hands out a secret:
///    `token.get` and `totp.code`. Whether it is met is not decided here.
/// 3. Where no rule matches, root and the daemon's own user may do everything, members of
///    `access.group` everything (admin methods are not on their socket), others nothing.
package struct Policy: Sendable {
  fileprivate struct Rule: Sendable {
    var name: String
    var match: ClientMatch
    var user: UInt32?
    var group: UInt32?
    var allow: [AccessPattern]
    var localAuthSeconds: Int?
  }

  private let rules: [Rule]
  private let daemonUser: UInt32
  private let memberGroup: UInt32?
  private let memberRule: String

  /// - Throws: A problem for each name nobody has. The default of `access.group` may be missing on
  ///   this machine: then it has no members.
  package init(
    _ config: Config, daemonUser: UInt32, names: PrincipalResolver
  ) throws(ConfigError) {
    try self.init(
      rules: config.clients, access: config.access, sources: config.sources,
      daemonUser: daemonUser, names: names)
  }

  package init(
    rules: [ClientRule], access: AccessSettings, sources: ConfigSources = ConfigSources(),
    daemonUser: UInt32, names: PrincipalResolver
  ) throws(ConfigError) {
    var unknown: [ConfigProblem] = []
    func id(_ principal: Principal?, _ key: String, _ find: (String) -> UInt32?, _ kind: String)
      -> UInt32?
    {
      switch principal {
      case nil: return nil
      case .id(let id): return id
      case .name(let name):
        if let id = find(name) { return id }
        let message = "there is no \(kind) \"\(name)\" on this machine"
        unknown.append(ConfigProblem(sources[key], key: key, message))
        return nil
      }
    }
    self.rules = rules.enumerated().map { place, rule in
      let key = "client[\(place)].match"
      return Rule(
        name: rule.name, match: rule.match,
        user: id(rule.match.user, "\(key).user", names.user, "user"),
        group: id(rule.match.group, "\(key).group", names.group, "group"), allow: rule.allow,
        localAuthSeconds: rule.requireLocalAuthSeconds)
    }
    let before = unknown
    memberGroup = id(access.group, "access.group", names.group, "group")
    if sources["access.group"] == nil { unknown = before }
    memberRule = "(members of \(access.group.settingText))"
    self.daemonUser = daemonUser
    guard unknown.isEmpty else { throw ConfigError(unknown) }
  }

  /// What of the policy concerns one caller, to be kept as long as his connection.
  package func caller(_ caller: CallerIdentity) -> CallerPolicy {
    CallerPolicy(
      rules: rules.filter { $0.matches(caller) },
      otherwise: standing(of: caller))
  }

  package func decide(_ caller: CallerIdentity, _ request: PolicyRequest) -> Decision {
    self.caller(caller).decide(request)
  }

  private func standing(of caller: CallerIdentity) -> Decision {
    if caller.uid == 0 { return .allow(rule: "(root)") }
    if caller.uid == daemonUser { return .allow(rule: "(daemon)") }
    if let memberGroup, caller.isMember(of: memberGroup) { return .allow(rule: memberRule) }
    return .deny(rule: "(no rule)")
  }
}

/// A ``Policy`` for one caller.
package struct CallerPolicy: Sendable {
  fileprivate let rules: [Policy.Rule]
  fileprivate let otherwise: Decision

  /// What stands for the callers that no rule matches: a person's own programs. No rule is called so.
  package static let ownPrograms = "(user)"

  /// Which client the caller is: the name of the first rule that matches it.
  package var clientName: String { rules.first?.name ?? Self.ownPrograms }

  package func decide(_ request: PolicyRequest) -> Decision {
    if ["rpc.hello", "rpc.discover", "rpc.cancel", "system.status"].contains(request.method) {
      return .allow(rule: "(everybody)")
    }
    guard let first = rules.first else { return otherwise }
    let allowing = rules.first { rule in rule.allow.contains { $0.allows(request) } }
    guard let allowing else { return .deny(rule: first.name) }
    return .allow(
      rule: allowing.name,
      localAuthSeconds: request.handsOutSecret ? allowing.localAuthSeconds : nil)
  }
}

extension PolicyRequest {
  /// Whether its reply is good for acting as the person.
  fileprivate var handsOutSecret: Bool { ["token.get", "totp.code"].contains(method) }
}

extension Policy.Rule {
  fileprivate func matches(_ caller: CallerIdentity) -> Bool {
    let holds = [
      match.unit.map { $0 == caller.unit },
      user.map { $0 == caller.uid },
      group.map { caller.isMember(of: $0) },
      match.executable.map { $0 == caller.executable },
    ]
    let given = holds.compactMap { $0 }
    return !given.isEmpty && given.allSatisfy { $0 }
  }
}

extension CallerIdentity {
  fileprivate func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}
