/// The answer of the policy, with the name of the rule that gave it, for the audit.
///
/// Names in parentheses are those of ``Policy``'s own rules; no `[[client]]` can have one.
package enum Decision: Sendable, Equatable {
  case allowed(Permit)
  case denied(Denial)

  package static func allow(rule: String, localAuthSeconds: Int? = nil) -> Decision {
    .allowed(Permit(rule: rule, localAuthSeconds: localAuthSeconds))
  }

  package static func deny(rule: String, _ cause: Denial.Cause = .notListed) -> Decision {
    .denied(Denial(rule: rule, cause: cause))
  }

  package var isAllowed: Bool {
    switch self {
    case .allowed: true
    case .denied: false
    }
  }

  package var rule: String {
    switch self {
    case .allowed(let permit): permit.rule
    case .denied(let denial): denial.rule
    }
  }
}

/// A call that may be made, and what is asked of it yet.
package struct Permit: Sendable, Equatable {
  package var rule: String
  /// Within how many seconds before the call the client's person must have been authenticated on
  /// this machine; nil: no such condition.
  package var localAuthSeconds: Int?
  /// Whether somebody has to agree.
  package var needsConfirmation = false
  /// The most that a token may be good for; nil: anything.
  package var scopes: [String]?
  /// The members of a profile that may be shown; nil: all.
  package var fields: [String]?

  package init(rule: String, localAuthSeconds: Int? = nil) {
    self.rule = rule
    self.localAuthSeconds = localAuthSeconds
  }
}

/// A call that may not be made, and why.
package struct Denial: Sendable, Equatable {
  package enum Cause: Sendable, Equatable {
    /// No rule lists such a call.
    case notListed
    /// The rule is about other accounts: to the caller there is no such one.
    case account
    /// What was asked for is more than these.
    case scope([String])
    /// It may be made again in so many minutes.
    case hours(minutes: Int)
  }

  /// The first that lists the call but does not allow it; where there is none, the first that matches.
  package var rule: String
  package var cause: Cause

  package init(rule: String, cause: Cause) {
    self.rule = rule
    self.cause = cause
  }
}
