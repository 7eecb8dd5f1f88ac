import UsherAPI
import UsherCore

/// A `[[client]]` with its users and groups as numbers; one for all callers that it matches.
final class PolicyRule: Sendable {
  let setting: ClientRule
  /// Where it begins; nil where it came from no file.
  let position: SourcePosition?
  let user: UInt32?
  let group: UInt32?
  /// The users that are in the group by the user database: a process can drop a group, and is not to
  /// escape the rule by that.
  let members: Set<UInt32>
  /// What `allow` lists; who answers questions of others may do that besides.
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

  /// What becomes of a call, and why.
  struct Verdict {
    let rule: PolicyRule
    /// What of `allow` lists the call; nil where nothing does.
    let pattern: AccessPattern?
    let decision: Decision
  }

  /// Whether all that it asks of a caller holds; a rule that asks for nothing matches nobody.
  func matches(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    guard match != .blank else { return false }
    return (match.unit == nil || match.unit == caller.unit)
      && (match.executable == nil || match.executable == caller.executable)
      && isAbout(caller)
  }

  /// Whether the rule may be about a caller of whose process something cannot be told that it asks for.
  func mayMatch(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    let isUnitOpen = match.unit != nil && !caller.isUnitTold
    let isExecutableOpen = match.executable != nil && !caller.isExecutableTold
    return (isUnitOpen || isExecutableOpen)
      && (isUnitOpen || match.unit == nil || match.unit == caller.unit)
      && (isExecutableOpen || match.executable == nil || match.executable == caller.executable)
      && isAbout(caller)
  }

  /// Whether the rule is about users and may match a process like the caller's of one of them.
  func mayMatch(anyUserWithProcessOf caller: CallerIdentity) -> Bool {
    let match = setting.match
    guard match.user != nil || !members.isEmpty else { return false }
    return (match.unit == nil || !caller.isUnitTold || match.unit == caller.unit)
      && (match.executable == nil || !caller.isExecutableTold
        || match.executable == caller.executable)
      && (match.group == nil || !members.isEmpty || group.map(caller.isMember) ?? false)
  }

  /// Whether user and group are as it asks.
  private func isAbout(_ caller: CallerIdentity) -> Bool {
    let match = setting.match
    return (match.user == nil || user == caller.uid)
      && (match.group == nil || members.contains(caller.uid)
        || group.map(caller.isMember) ?? false)
  }

  func mayAllow(partial request: PolicyRequest) -> Bool {
    listed.contains { $0.mayAllow(partial: request) }
  }

  func judge(_ request: PolicyRequest) -> Verdict {
    guard let pattern = listed.first(where: { $0.allows(request) }) else {
      return Verdict(rule: self, pattern: nil, decision: .deny(rule: name))
    }
    let decision =
      objection(to: request).map { Decision.deny(rule: name, $0) } ?? .allowed(permit(for: request))
    return Verdict(rule: self, pattern: pattern, decision: decision)
  }

  /// Why a call that is listed is not allowed.
  private func objection(to request: PolicyRequest) -> Denial.Cause? {
    if let accounts = setting.accounts {
      let isOther = request.account.map { account in
        !accounts.contains { $0.selects(account) }
      }
      if isOther ?? request.lacksAccount { return .account }
    }
    if let scopes = setting.scopes, let asked = request.scopes,
      !asked.allSatisfy({ scope in scopes.contains { $0.hasSameBytes(as: scope) } })
    {
      return .scope(scopes)
    }
    return minutesUntilOpening(for: request).map { .hours(minutes: $0) }
  }

  /// Nil while it holds, and for calls that its hours do not matter for.
  private func minutesUntilOpening(for request: PolicyRequest) -> Int? {
    guard let hours = setting.hours, let moment = request.moment, !request.traits.followsFlowStart,
      request.traits.audience != .operators, !hours.contains(where: { $0.holds(at: moment) })
    else { return nil }
    return hours.map { $0.minutesUntilOpening(after: moment) }.min()
  }

  private func permit(for request: PolicyRequest) -> Permit {
    var permit = Permit(
      rule: name,
      localAuthSeconds: request.actsAsPerson ? setting.requireLocalAuthSeconds : nil)
    permit.needsConfirmation = setting.confirm && request.canBeConfirmed
    permit.scopes = setting.scopes
    // Nobody is asked about a list, so it shows nothing that a person would have to agree to.
    let hidesProfiles =
      setting.confirm && request.traits.showsProfiles && !request.traits.isConfirmable
    permit.fields = hidesProfiles ? [] : setting.fields
    return permit
  }
}

extension PolicyRequest {
  /// Whether the call acts as the person, or its reply lets its holder do so.
  fileprivate var actsAsPerson: Bool { usesAccount || traits.handsOutSecret }

  /// Whether a person can be asked before the call runs. A flow of the daemon's own provider is the
  /// way in which a person answers, so nobody is asked about it.
  fileprivate var canBeConfirmed: Bool {
    traits.isConfirmable
      && !(method == FlowStart.name && provider == ProviderConfig.reservedName)
  }
}
