/// The decision of the policy about a call, with the name of the rule that made it, for the audit
/// log.
///
/// Names in parentheses are built-in rules of ``Policy``; no `[[client]]` rule can have such a
/// name.
package enum Decision: Sendable, Equatable {
  case allowed(Permit)
  case denied(Denial)

  package static func allow(rule: String, localAuthSeconds: Int? = nil) -> Decision {
    .allowed(Permit(rule: rule, localAuthSeconds: localAuthSeconds))
  }

  package static func deny(rule: String, _ cause: Denial.Cause = .notListed) -> Decision {
    .denied(Denial(rule: rule, cause: cause))
  }

  package var isAllowed: Bool { if case .allowed = self { true } else { false } }

  package var rule: String {
    switch self {
    case .allowed(let permit): permit.rule
    case .denied(let denial): denial.rule
    }
  }
}

/// Permission for a call, with the conditions that the call must still meet and the limits on its
/// reply.
package struct Permit: Sendable, Equatable {
  package var rule: String
  /// The maximum age, in seconds, of the client's last local authentication; nil means that none is
  /// required.
  package var localAuthSeconds: Int?
  /// Whether a person must confirm the call.
  package var needsConfirmation = false
  /// The OAuth scopes that a returned token may have at most; nil means any.
  package var scopes: [String]?
  /// The members of an account's profile that the reply may show; nil means all.
  package var fields: [String]?

  package init(rule: String, localAuthSeconds: Int? = nil) {
    self.rule = rule
    self.localAuthSeconds = localAuthSeconds
  }
}

/// The refusal of an RPC call by the policy, and its cause.
package struct Denial: Sendable, Equatable {
  package enum Cause: Sendable, Equatable {
    /// No client rule that matches the caller lists the call in its `allow`.
    case notListed
    /// The rule's `accounts` exclude the account that the call acts on. To the caller, the account
    /// does not exist.
    case account
    /// The call requests an OAuth scope that is not among these, the `scopes` of the rule.
    case scope([String])
    /// The call requests a token for an audience that is not among these, the `audiences` of the
    /// rule.
    case audience([String])
    /// The call is made outside of the rule's `hours`, which begin again in this many minutes.
    case hours(minutes: Int)
  }

  /// The rule that caused the denial: one that lists the call but does not allow it, preferably one
  /// that selects this account; if no rule lists the call, the first rule that matches the caller.
  package var rule: String
  package var cause: Cause
}
