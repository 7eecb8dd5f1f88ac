import JSONRPC
package import UsherAPI
package import UsherCore

extension Policy {
  /// Answers a call of `policy.check`.
  ///
  /// - Parameters:
  ///   - config: The configuration that the policy was made from.
  ///   - now: The local time, which is used if the request names none.
  ///   - names: Resolves users and groups. It may block, so an event loop must not call this.
  ///   - complete: Adds to the request what the kind of flow determines that the call starts.
  ///   - subordinateTo: Returns the users that a uid may be a subordinate id of.
  /// - Throws: `invalidParams` with the field whose value is malformed or names an unknown object.
  package func answer(
    _ check: PolicyCheck, of config: Config, at now: WeekMinute, names: PrincipalResolver,
    complete: (inout PolicyRequest) -> Void = { _ in },
    subordinateTo: (UInt32) -> [SubordinateOwner] = { _ in [] }
  ) throws(UsherError) -> PolicyCheck.Reply {
    var request = try check.request(of: config, at: now)
    complete(&request)
    var caller = try check.caller(of: config, names)
    if caller.uid != PolicyCheck.nobody { caller.subordinateTo = subordinateTo(caller.uid) }
    // The kernel reports to a daemon that is not root only the programs of its own user's
    // processes.
    if daemonUser != 0, daemonUser != caller.uid, caller.uid != PolicyCheck.nobody {
      caller.isExecutableKnown = false
    }
    var reply = self.caller(caller).explain(request)
    caller.isUnitKnown = false
    caller.isExecutableKnown = false
    reply.unidentified = rules.firstUndecided(caller)?.name
    return reply
  }
}

extension Config {
  /// Answers a call of `policy.list`.
  package func policyList() -> PolicyList.Reply {
    let usual = Set(ClientRule.blank.tomlTable.entries.filter { $0.key != "allow" })
    let rules = clients.enumerated().map { place, rule in
      let position = sources["client[\(place)]"]
      let settings = rule.tomlTable.entries.filter { $0.key != "name" && !usual.contains($0) }
      return PolicyList.Rule(
        name: rule.name, file: position?.file, line: position?.line,
        settings: TomlValue.table(TomlTable(settings)).json)
    }
    return PolicyList.Reply(rules: rules, group: access.group.settingText)
  }
}

extension PolicyCheck {
  /// The uid and gid of a caller that the request does not describe: `(uid_t)-1`, which is not a
  /// valid id.
  fileprivate static let nobody = UInt32.max

  fileprivate func caller(
    of config: Config, _ names: PrincipalResolver
  ) throws(UsherError) -> CallerIdentity {
    let match = try match(in: config)
    let uid = try Self.id(match.user, "user", names.user)
    var groups: [UInt32] = []
    if let named = self.groups {
      for (place, name) in named.enumerated() {
        let field = "groups.\(place)"
        groups.append(
          try Self.id(try Self.read(name, field), field, names.group) ?? Self.nobody)
      }
    } else {
      groups = uid.map(names.groups) ?? []
      if let group = try Self.id(match.group, "client", names.group) { groups.append(group) }
    }
    return CallerIdentity(
      uid: uid ?? Self.nobody, gid: groups.first ?? Self.nobody, groups: groups,
      unit: match.unit,
      executable: match.executable)
  }

  /// Returns the conditions to evaluate: those of the rule that ``client`` names, if it names one,
  /// with the conditions of the request in place of the rule's.
  ///
  /// - Throws: `invalidParams` if there is no such rule, or a condition is malformed.
  private func match(in config: Config) throws(UsherError) -> ClientMatch {
    var match = ClientMatch.blank
    if let client {
      guard let rule = config.clients.first(where: { $0.name == client }) else {
        throw Self.wrong(
          "client", "is not a client of the configuration", client, config.clients.map(\.name))
      }
      match = rule.match
    }
    if let user { match.user = try Self.read(user, "user") }
    if let unit {
      if let violation = ClientMatch.violation(unit: unit) { throw Self.wrong("unit", violation) }
      match.unit = unit
    }
    if let executable {
      if let violation = ClientMatch.violation(executable: executable) {
        throw Self.wrong("executable", violation)
      }
      match.executable = executable
    }
    return match
  }

  fileprivate func request(
    of config: Config, at now: WeekMinute
  ) throws(UsherError) -> PolicyRequest {
    let providers = config.providers.map(\.name.rawValue) + [ProviderConfig.reservedName]
    if let provider, !providers.contains(provider.rawValue) {
      throw Self.wrong("provider", "is not configured", provider.rawValue, providers)
    }
    var request = PolicyRequest(
      method: method, provider: provider?.rawValue, kind: kind, operation: operation)
    if account != nil || subject != nil {
      request.account = .init(id: account?.rawValue ?? "", subject: subject ?? "")
    }
    request.scopes = scope.map { $0.split(separator: " ").map(String.init) }
    if request.permission == TokenGet.name, kind == nil { request.audiences = [audience ?? ""] }
    if method == FlowStart.name { request.audiences = audience.map { [$0] } }
    if let target {
      let parts = target.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw Self.wrong("target", "must be \"KIND/NAME\"") }
      let name = try TargetName(kind: String(parts[0]), name: String(parts[1]))
      request.target = name
      if let answering = config.target(for: name) { request.describe(answering) }
    }
    request.weekMinute =
      try at.map { (text) throws(UsherError) -> WeekMinute in try Self.read(text, "at") } ?? now
    return request
  }

  private static func id(
    _ principal: Principal?, _ field: String, _ find: (String) -> UInt32?
  ) throws(UsherError) -> UInt32? {
    guard let principal else { return nil }
    guard let id = principal.id(by: find) else {
      throw wrong(
        field, "names \"\(principal.settingText)\", which does not exist on this machine")
    }
    return id
  }

  private static func read<Setting: TextSetting>(
    _ text: String, _ field: String
  ) throws(UsherError) -> Setting {
    do throws(SettingError) {
      return try Setting(setting: text)
    } catch {
      throw wrong(field, error.message)
    }
  }

  /// Returns the error for an invalid field, with the nearest valid name as a suggestion.
  ///
  /// - Parameters:
  ///   - name: The rejected value, if the value had to be one of `names`.
  private static func wrong(
    _ field: String, _ violation: String, _ name: String = "", _ names: [String] = []
  ) -> UsherError {
    let hint = name.nearest(of: names).map { "; did you mean \($0)?" } ?? ""
    return UsherError(.invalidParams, "\(field) \(violation)\(hint)", detail: .init(field: field))
  }
}
