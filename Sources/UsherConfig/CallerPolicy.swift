import UsherAPI

/// A ``Policy`` for one caller.
package struct CallerPolicy: Sendable {
  /// Those that match him, in their order.
  let rules: [PolicyRule]
  let otherwise: Standing
  /// The clients whose accounts this one may read.
  package let lenders: [String]
  /// Whether a rule of the caller is about some accounts only.
  package let choosesAccounts: Bool
  /// Whether a rule of the caller holds at some times only.
  package let choosesHours: Bool

  init(rules: [PolicyRule], otherwise: Standing, lenders: [String]) {
    self.rules = rules
    self.otherwise = otherwise
    self.lenders = lenders
    choosesAccounts = rules.contains { $0.setting.accounts != nil }
    choosesHours = rules.contains { $0.setting.hours != nil }
  }

  /// What stands for the callers that no rule matches: a person's own programs. No rule is called so.
  package static let ownPrograms = "(user)"

  /// Whether nothing gives the caller a right: no rule matches it, and it is neither root, the daemon's
  /// user nor a member of `access.group`; or it cannot be told whether a rule matches it; or it is a
  /// subordinate id.
  package var hasNoRights: Bool {
    guard rules.isEmpty else { return false }
    switch otherwise {
    case .nobody, .unidentified, .subordinate: return true
    case .everything, .member: return false
    }
  }

  /// Which client the caller is: the name of the first rule that matches it.
  package var clientName: String { rules.first?.name ?? Self.ownPrograms }

  /// Whose what it brings is, as that rule says.
  package var ownership: ClientRule.Ownership { rules.first?.setting.owner ?? .user }

  /// Whether a rule of the caller wants that a person was there, or agrees.
  package var asksPeople: Bool {
    rules.contains { $0.setting.confirm || $0.setting.requireLocalAuthSeconds != nil }
  }

  /// The clients whose questions it answers, by any of the rules that match it.
  package var confirms: Set<String> { Set(rules.flatMap(\.setting.confirms)) }

  package func decide(_ request: PolicyRequest) -> Decision { decide(request) { _ in } }

  /// Whether what the caller may do depends on more of a call than its method.
  package var choosesCalls: Bool { !rules.isEmpty }

  /// Decides by the part of a call that is known before its parameters are decoded.
  ///
  /// It refuses only what ``decide(_:)`` refuses too, whatever else the call turns out to have; what it
  /// does not refuse is not allowed yet.
  ///
  /// - Parameter request: What it does not have is not known: only the method is needed.
  /// - Returns: Nil where the whole call must be looked at.
  package func denial(partial request: PolicyRequest) -> Denial? {
    if request.traits.audience == .everybody { return nil }
    guard let first = rules.first else {
      guard case .denied(let denial) = otherwise.decide(request) else { return nil }
      return denial
    }
    if rules.contains(where: { $0.mayAllow(partial: request) }) { return nil }
    return Denial(rule: first.name, cause: .notListed)
  }

  /// - Parameter consider: Is told what each rule says, up to the one that decides.
  func decide(_ request: PolicyRequest, consider: (PolicyRule.Verdict) -> Void) -> Decision {
    if request.traits.audience == .everybody { return .allow(rule: "(everybody)") }
    guard let first = rules.first else { return otherwise.decide(request) }
    var objection: Denial?
    for rule in rules {
      let verdict = rule.judge(request)
      consider(verdict)
      switch verdict.decision {
      case .allowed: return verdict.decision
      case .denied(let denial) where denial.cause == .notListed: continue
      // One that is about other accounts says less than one that is about this.
      case .denied(let denial) where objection?.cause ?? .account == .account: objection = denial
      case .denied: continue
      }
    }
    return .denied(objection ?? Denial(rule: first.name, cause: .notListed))
  }
}
