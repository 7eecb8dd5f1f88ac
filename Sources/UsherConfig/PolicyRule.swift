import UsherAPI
import UsherCore

/// A `[[client]]` rule of the configuration whose users and groups are resolved to ids. All callers
/// that the rule matches share it.
final class PolicyRule: Sendable {
  let setting: ClientRule
  /// The position of the rule in its file; nil if it came from no file.
  let position: SourcePosition?
  let user: UInt32?
  let group: UInt32?
  /// The users that the user database lists as members of the rule's `group`. Because a process can
  /// drop its groups, the rule matches these users even if their process is not in the group.
  let members: Set<UInt32>
  /// The patterns of `allow`, and `confirm.*` if the rule may answer the questions about other
  /// clients' calls.
  private let listed: [AccessPattern]

  init(
    _ setting: ClientRule, at position: SourcePosition?, user: UInt32?, group: UInt32?,
    members: Set<UInt32> = []
  ) {
    self.setting = setting
    self.position = position
    self.user = user
    self.group = group
    self.members = members
    listed = setting.allow + (setting.confirms.isEmpty ? [] : [.confirmations])
  }

  var name: String { setting.name }

  /// The decision of one client rule on an RPC call, and its reason.
  struct Verdict {
    let rule: PolicyRule
    /// The pattern of the rule's `allow` that matches the call; nil if none does.
    let pattern: AccessPattern?
    let decision: Decision
  }

  /// Returns whether every condition of the rule holds for the caller; false for a rule without
  /// conditions.
  func matches(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    guard match != .blank else { return false }
    return (match.unit == nil || match.unit == caller.unit)
      && (match.executable == nil || match.executable == caller.executable)
      && isAbout(caller)
  }

  /// Returns whether the rule may apply to a caller whose unit or program is unknown but is one of
  /// its conditions.
  func mayMatch(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    let isUnitOpen = match.unit != nil && !caller.isUnitKnown
    let isExecutableOpen = match.executable != nil && !caller.isExecutableKnown
    return (isUnitOpen || isExecutableOpen)
      && (isUnitOpen || match.unit == nil || match.unit == caller.unit)
      && (isExecutableOpen || match.executable == nil || match.executable == caller.executable)
      && isAbout(caller)
  }

  /// Returns whether the rule has a condition on the user or on a group's members, and may match
  /// the caller's process (unit, executable, groups) if an unknown user runs it.
  func mayMatch(anyUserWithProcessOf caller: CallerIdentity) -> Bool {
    let match = setting.match
    guard match.user != nil || !members.isEmpty else { return false }
    return (match.unit == nil || !caller.isUnitKnown || match.unit == caller.unit)
      && (match.executable == nil || !caller.isExecutableKnown
        || match.executable == caller.executable)
      && (match.group == nil || !members.isEmpty || group.map(caller.isMember) ?? false)
  }

  /// Returns whether the conditions on user and group hold for the caller.
  private func isAbout(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    return (match.user == nil || user == caller.uid)
      && (match.group == nil || members.contains(caller.uid)
        || group.map(caller.isMember) ?? false)
  }

  func mayAllow(partial request: PolicyRequest) -> Bool {
    listed.contains { $0.mayAllow(partial: request) }
  }

  /// Returns whether the rule may allow a call for a name that the target answers.
  func mayAllow(_ request: PolicyRequest, about target: TargetConfig) -> Bool {
    listed.contains { $0.mayAllow(request, about: target) }
  }

  func evaluate(_ request: PolicyRequest) -> Verdict {
    guard let pattern = listed.first(where: { $0.allows(request) }) else {
      return Verdict(rule: self, pattern: nil, decision: .deny(rule: name))
    }
    let decision =
      objection(to: request).map { Decision.deny(rule: name, $0) } ?? .allowed(permit(for: request))
    return Verdict(rule: self, pattern: pattern, decision: decision)
  }

  /// Returns why the rule does not allow a call that it lists; nil if it allows the call.
  private func objection(to request: PolicyRequest) -> Denial.Cause? {
    if let accounts = setting.accounts {
      let known = request.account ?? request.subject.map { .init(id: "", subject: $0) }
      let isOtherAccount = known.map { account in !accounts.contains { $0.selects(account) } }
      if isOtherAccount ?? request.lacksAccount { return .account }
    }
    if let scopes = setting.scopes, let requested = request.scopes,
      !requested.allSatisfy({ scope in scopes.contains { $0.hasSameBytes(as: scope) } })
    {
      return .scope(scopes)
    }
    if let audiences = setting.audiences, let requested = request.audiences,
      !requested.allSatisfy({ one in audiences.contains { $0.hasSameBytes(as: one) } })
    {
      return .audience(audiences)
    }
    return minutesUntilOpening(for: request).map { .hours(minutes: $0) }
  }

  /// Returns the number of minutes until the rule's hours begin; nil during the hours, and for
  /// calls that the hours do not limit.
  private func minutesUntilOpening(for request: PolicyRequest) -> Int? {
    guard let hours = setting.hours, let now = request.weekMinute,
      !request.traits.followsFlowStart,
      request.traits.audience != .operators, !hours.contains(where: { $0.contains(now) })
    else { return nil }
    return hours.map { $0.minutesUntilOpening(after: now) }.min()
  }

  private func permit(for request: PolicyRequest) -> Permit {
    var permit = Permit(
      rule: name,
      localAuthSeconds: request.actsAsPerson ? setting.requireLocalAuthSeconds : nil)
    permit.needsConfirmation = setting.confirm && request.canBeConfirmed
    permit.scopes = setting.scopes
    // A list is returned without a confirmation, so it must not show profiles, which a person would
    // have to approve.
    let hidesProfiles =
      setting.confirm && request.traits.showsProfiles && !request.traits.isConfirmable
    permit.fields = hidesProfiles ? [] : setting.fields
    return permit
  }
}

extension PolicyRequest {
  /// Whether the call acts as the user at the provider, or its reply lets the holder act as the
  /// user.
  fileprivate var actsAsPerson: Bool { usesAccount || traits.handsOutSecret }

  /// Whether a person can be asked before the call runs. The person confirms by means of a flow of
  /// the daemon's own provider, so starting such a flow needs no confirmation.
  fileprivate var canBeConfirmed: Bool {
    traits.isConfirmable
      && !(method == FlowStart.name && provider == ProviderConfig.reservedName)
  }
}
