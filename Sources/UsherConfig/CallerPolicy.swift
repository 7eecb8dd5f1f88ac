import UsherAPI

/// The part of a ``Policy`` that applies to one caller.
package struct CallerPolicy: Sendable {
  /// The rules that match the caller, in the order in which they are tried.
  let rules: [PolicyRule]
  let otherwise: FallbackRights
  /// The clients whose accounts the caller may read.
  package let lenders: [String]
  /// Whether a client rule that matches the caller is limited to some accounts.
  package let choosesAccounts: Bool
  /// Whether a client rule that matches the caller is limited to certain hours.
  package let choosesHours: Bool

  init(rules: [PolicyRule], otherwise: FallbackRights, lenders: [String]) {
    self.rules = rules
    self.otherwise = otherwise
    self.lenders = lenders
    choosesAccounts = rules.contains { $0.setting.accounts != nil }
    choosesHours = rules.contains { $0.setting.hours != nil }
  }

  /// The name under which callers that no rule matches count as a client: the user's own programs.
  /// No rule can have this name.
  package static let ownPrograms = "(user)"

  /// Whether the caller may only call methods that are open to every caller.
  ///
  /// This is true for a caller that no rule matches and that is not root, the daemon's user or a
  /// member of `access.group`; for a caller that cannot be identified well enough to say whether a
  /// rule matches; and for a subordinate id.
  package var hasNoRights: Bool {
    guard rules.isEmpty else { return false }
    switch otherwise {
    case .noRights, .unidentified, .subordinate: return true
    case .allRights, .member: return false
    }
  }

  /// The name of the client that the caller counts as: that of the first rule that matches the
  /// caller.
  package var clientName: String { rules.first?.name ?? Self.ownPrograms }

  /// The owner of the accounts and flows that the caller creates, as set by the first rule that
  /// matches.
  package var ownership: ClientRule.Ownership { rules.first?.setting.owner ?? .user }

  /// Whether a client rule that matches the caller requires a local authentication or a
  /// confirmation.
  package var asksPeople: Bool {
    rules.contains { $0.setting.confirm || $0.setting.requireLocalAuthSeconds != nil }
  }

  /// The clients whose questions the caller may answer (`confirm.answer`), by any of its rules.
  package var confirms: Set<String> { Set(rules.flatMap(\.setting.confirms)) }

  package func decide(_ request: PolicyRequest) -> Decision { decide(request) { _ in } }

  /// Whether the decision about a call depends on more than the method.
  package var choosesCalls: Bool { !rules.isEmpty }

  /// Returns the denial of a call, judged by the parts that are known before its parameters are
  /// decoded.
  ///
  /// A call is denied only if ``decide(_:)`` denies it too, whatever its other parts are. A call
  /// that is not denied here is not allowed yet.
  ///
  /// - Parameter request: Only the method is required. A part that is nil counts as unknown.
  /// - Returns: Nil if the decision needs the whole call.
  package func denial(partial request: PolicyRequest) -> Denial? {
    if request.traits.audience == .everybody { return nil }
    guard let first = rules.first else {
      guard case .denied(let denial) = otherwise.decide(request) else { return nil }
      return denial
    }
    if rules.contains(where: { $0.mayAllow(partial: request) }) { return nil }
    return Denial(rule: first.name, cause: .notListed)
  }

  /// Returns whether the caller may use a target for a name that it answers.
  package func mayUse(_ target: TargetConfig) -> Bool {
    var request = PolicyRequest(TokenForTarget.self)
    request.kind = target.tokenKind
    if rules.isEmpty { return otherwise.decide(request).isAllowed }
    return rules.contains { $0.mayAllow(request, about: target) }
  }

  /// Decides about a call.
  ///
  /// - Parameter consider: Receives the verdict of each rule, up to the rule that decides.
  func decide(_ request: PolicyRequest, consider: (PolicyRule.Verdict) -> Void) -> Decision {
    if request.traits.audience == .everybody { return .allow(rule: "(everybody)") }
    guard let first = rules.first else { return otherwise.decide(request) }
    var objection: Denial?
    for rule in rules {
      let verdict = rule.evaluate(request)
      consider(verdict)
      switch verdict.decision {
      case .allowed: return verdict.decision
      case .denied(let denial) where denial.cause == .notListed: continue
      // A denial by a rule that selects this account tells the caller more than one by a rule for
      // other accounts.
      case .denied(let denial) where objection?.cause ?? .account == .account: objection = denial
      case .denied: continue
      }
    }
    return .denied(objection ?? Denial(rule: first.name, cause: .notListed))
  }
}
