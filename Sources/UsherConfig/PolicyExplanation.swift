package import UsherAPI
import UsherCore

extension CallerPolicy {
  /// Returns the decision of ``decide(_:)`` on a call, and explains it, for `policy.check`.
  package func explain(_ request: PolicyRequest) -> PolicyCheck.Reply {
    var considered: [PolicyRule.Verdict] = []
    let decision = decide(request) { considered.append($0) }
    var reply = PolicyCheck.Reply(
      allowed: decision.isAllowed, rule: decision.rule,
      why: why(decision, considered, request), client: clientName,
      owner: ownership == .user ? .user : .client, lenders: lenders, confirms: confirms.sorted(),
      considered: considered.map { PolicyCheck.Verdict($0) })
    switch decision {
    case .allowed(let permit):
      reply.conditions = .init(
        localAuthSeconds: permit.localAuthSeconds, confirmation: permit.needsConfirmation,
        scopes: permit.scopes, fields: permit.fields)
    case .denied(let denial):
      reply.reason = denial.cause == .account ? "not_found" : "permission_denied"
      if case .hours(let minutes) = denial.cause { reply.retryAfterMs = minutes * 60_000 }
    }
    return reply
  }

  private func why(
    _ decision: Decision, _ considered: [PolicyRule.Verdict], _ request: PolicyRequest
  ) -> String {
    guard !rules.isEmpty, !considered.isEmpty else { return otherwise.why(decision, request) }
    let rule = decision.rule
    if let verdict = considered.first(where: { $0.decision == decision && $0.pattern != nil }) {
      return "rule \(rule) \(verdict.words)"
    }
    return considered.count == 1
      ? "rule \(rule) matches the caller but does not list the call"
      : "\(considered.count) rules match the caller but none lists the call"
  }
}

extension FallbackRights {
  fileprivate func why(_ decision: Decision, _ request: PolicyRequest) -> String {
    if decision.rule == "(everybody)" { return "every caller may call \(request.method)" }
    let who = decision.rule.dropFirst().dropLast()
    let may =
      switch self {
      case .allRights: "\(who) may do everything"
      case .member where decision.isAllowed: "\(who) may use what they own"
      case .member: "\(who) may neither lock nor unlock"
      case .noRights: "the caller is not in access.group"
      case .unidentified(let rule):
        "rule \(rule) may match: the kernel does not report the caller's unit or program"
      case .subordinate(let owner, let rule?):
        "the caller's uid is a subordinate id of \(owner.words), and rule \(rule) "
          + "\(owner.verb) that user; to allow the call, name the uid in a rule"
      case .subordinate(let owner, nil):
        "the caller's uid is a subordinate id of \(owner.words); access.group does not apply to "
          + "subordinate ids"
      }
    return "no rule matches the caller, and \(may)"
  }
}

extension SubordinateOwner {
  fileprivate var words: String {
    switch self {
    case .user(let uid): "uid \(uid)"
    case .unknown: "an unknown user (/etc/subuid)"
    }
  }

  /// The verb for a sentence about a rule that matches the owner of the caller's subordinate id.
  fileprivate var verb: String {
    switch self {
    case .user: "matches"
    case .unknown: "may match"
    }
  }
}

extension PolicyCheck.Verdict {
  fileprivate init(_ verdict: PolicyRule.Verdict) {
    let position = verdict.rule.position
    self.init(
      rule: verdict.rule.name, file: position?.file, line: position?.line,
      allows: verdict.decision.isAllowed, why: verdict.words)
  }
}

extension PolicyRule.Verdict {
  /// Why the rule allows or denies the call, as a phrase that follows the name of the rule.
  fileprivate var words: String {
    switch decision {
    case .allowed: "lists it as \"\(pattern?.settingText ?? "")\""
    case .denied(let denial):
      switch denial.cause {
      case .notListed: "does not list the call"
      case .account: "is for other accounts"
      case .scope(let permitted): "allows only the scopes \(permitted.joined(separator: " "))"
      case .audience(let permitted): "allows only the audiences \(permitted.audienceList)"
      case .hours(let minutes): "applies \(hours); next in \(Self.words(minutes))"
      }
    }
  }

  private var hours: String {
    (rule.setting.hours ?? []).map(\.settingText).joined(separator: ", ")
  }

  /// Returns the number of minutes in words, such as `2 d 3 h 5 min`.
  private static func words(_ minutes: Int) -> String {
    let parts = [(minutes / 1440, "d"), (minutes / 60 % 24, "h"), (minutes % 60, "min")]
    return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }
}

extension [String] {
  /// The audiences of a rule for a message; the empty one stands for a token without an audience.
  package var audienceList: String {
    isEmpty ? "none at all" : map { $0.isEmpty ? "(none)" : $0 }.joined(separator: " ")
  }
}
