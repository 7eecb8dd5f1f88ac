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
package struct Policy: Sendable {
  fileprivate struct Rule: Sendable {
    var setting: ClientRule
    var user: UInt32?
    var group: UInt32?

    var name: String { setting.name }
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
        setting: rule, user: id(rule.match.user, "\(key).user", names.user, "user"),
        group: id(rule.match.group, "\(key).group", names.group, "group"))
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
    let matching = rules.filter { $0.matches(caller) }
    let client = matching.first?.name
    return CallerPolicy(
      rules: matching, otherwise: standing(of: caller),
      lenders: client.map { client in
        rules.filter { $0.setting.share.contains(client) }.map(\.name)
      } ?? [])
  }

  package func decide(_ caller: CallerIdentity, _ request: PolicyRequest) -> Decision {
    self.caller(caller).decide(request)
  }

  private func standing(of caller: CallerIdentity) -> Standing {
    if caller.uid == 0 { return .everything(rule: "(root)") }
    if caller.uid == daemonUser { return .everything(rule: "(daemon)") }
    if let memberGroup, caller.isMember(of: memberGroup) { return .member(rule: memberRule) }
    return .nobody
  }

  /// What somebody may do whom no rule matches.
  fileprivate enum Standing: Sendable {
    case everything(rule: String)
    case member(rule: String)
    case nobody
  }
}

/// A ``Policy`` for one caller.
package struct CallerPolicy: Sendable {
  fileprivate let rules: [Policy.Rule]
  fileprivate let otherwise: Policy.Standing
  /// The clients whose accounts this one may read.
  package let lenders: [String]

  /// What stands for the callers that no rule matches: a person's own programs. No rule is called so.
  package static let ownPrograms = "(user)"

  /// Which client the caller is: the name of the first rule that matches it.
  package var clientName: String { rules.first?.name ?? Self.ownPrograms }

  /// Whose what it brings is, as that rule says.
  package var ownership: ClientRule.Ownership { rules.first?.setting.owner ?? .user }

  /// The clients whose questions it answers, by any of the rules that match it.
  package var confirms: Set<String> { Set(rules.flatMap(\.setting.confirms)) }

  package func decide(_ request: PolicyRequest) -> Decision {
    if request.isEverybodys { return .allow(rule: "(everybody)") }
    guard let first = rules.first else { return otherwise.decide(request) }
    var objection: Denial?
    for rule in rules {
      switch rule.decide(request) {
      case .allowed(let permit): return .allowed(permit)
      case .denied(let denial) where denial.cause == .notListed: continue
      case .denied(let denial): objection = objection ?? denial
      }
    }
    return .denied(objection ?? Denial(rule: first.name, cause: .notListed))
  }
}

extension PolicyRequest {
  fileprivate var isEverybodys: Bool {
    ["rpc.hello", "rpc.discover", "rpc.cancel", "system.status"].contains(method)
  }

  /// Whether it is nobody's but the operator's, unless a rule says otherwise.
  fileprivate var isOperators: Bool { ["system.lock", "system.unlock"].contains(method) }

  /// Whether its reply is good for acting as the person.
  fileprivate var handsOutSecret: Bool { ["token.get", "totp.code"].contains(method) }

  /// Whether a person can be asked about it first.
  fileprivate var canBeConfirmed: Bool {
    [
      "token.get", "token.revoke", "totp.code", "account.get", "account.forget", "flow.start",
      "registration.checkDuplicate", "registration.checkUserKey",
    ].contains(method)
  }
}

extension Policy.Standing {
  fileprivate func decide(_ request: PolicyRequest) -> Decision {
    switch self {
    case .everything(let rule): .allow(rule: rule)
    case .member(let rule): request.isOperators ? .deny(rule: rule) : .allow(rule: rule)
    case .nobody: .deny(rule: "(no rule)")
    }
  }
}

extension Policy.Rule {
  fileprivate func matches(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    let holds = [
      match.unit.map { $0 == caller.unit },
      user.map { $0 == caller.uid },
      group.map { caller.isMember(of: $0) },
      match.executable.map { $0 == caller.executable },
    ]
    let given = holds.compactMap { $0 }
    return !given.isEmpty && given.allSatisfy { $0 }
  }

  fileprivate func decide(_ request: PolicyRequest) -> Decision {
    guard setting.allow.contains(where: { $0.allows(request) }) else { return .deny(rule: name) }
    if let account = request.account, let accounts = setting.accounts,
      !accounts.contains(where: { $0.selects(account) })
    {
      return .deny(rule: name, .account)
    }
    if let scopes = setting.scopes, let asked = request.scopes,
      !asked.allSatisfy(scopes.contains)
    {
      return .deny(rule: name, .scope(scopes))
    }
    if let wait = minutesUntilOpening(for: request) {
      return .deny(rule: name, .hours(minutes: wait))
    }
    var permit = Permit(
      rule: name,
      localAuthSeconds: request.handsOutSecret ? setting.requireLocalAuthSeconds : nil)
    permit.needsConfirmation = setting.confirm && request.canBeConfirmed
    permit.scopes = setting.scopes
    permit.fields = setting.fields
    return .allowed(permit)
  }

  /// Nil while it holds, and for calls that its hours do not matter for.
  private func minutesUntilOpening(for request: PolicyRequest) -> Int? {
    guard let hours = setting.hours, let moment = request.moment, !request.isAboutOwnFlow,
      !request.isOperators, !hours.contains(where: { $0.holds(at: moment) })
    else { return nil }
    return hours.map { $0.minutesUntilOpening(after: moment) }.min()
  }
}

extension CallerIdentity {
  fileprivate func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}
