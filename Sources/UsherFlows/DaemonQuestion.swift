package import UsherCore

/// What a flow asks of the daemon itself; answered by ``FlowEvent/told(_:)``.
package enum DaemonQuestion: Sendable, Equatable {
  case localAuth(LocalAuthQuestion)
  /// What the flow's client may be told of an account just now; answered by
  /// ``DaemonNews/consents(_:)``.
  case consents(of: AccountID)
  /// Whether an account is still there; answered by ``DaemonNews/presence(_:)``.
  case presence(of: AccountID)
  /// The code that an account's authenticator shows now, for a person; answered by
  /// ``DaemonNews/oneTimeCode(_:)``.
  case oneTimeCode(of: AccountID)
}

/// What the daemon itself has to tell a flow.
package enum DaemonNews: Sendable, Equatable {
  case localAuth(LocalAuthNews)
  /// The grants that are remembered, and have not expired.
  case consents(Set<String>)
  /// What ``Effect/keep(_:)`` wanted is durable.
  case kept(AccountID)
  case presence(Bool)
  case oneTimeCode(OneTimeCodeAnswer)
}

/// What an authenticator shows.
package enum OneTimeCodeAnswer: Sendable, Equatable {
  /// - Parameter until: When its step is over.
  case given(Secret, until: Timestamp)
  /// The client has had the code of this step, and each is given once; when the next begins.
  case later(Timestamp)
  /// The account is not there, or has no secret.
  case noSecret
  /// That it was given cannot be kept; a sentence.
  case unavailable(String)
}

/// What a person agreed that a client be told: remembered for the flow's client and the account.
package struct ConsentGrant: Codable, Sendable, Equatable {
  /// The provider's word: `read.firstname`.
  package var grant: String
  /// The member of the account's profile that it opens; nil where it opens none.
  package var member: String?
  package var expiresAt: Timestamp

  package init(grant: String, member: String?, expiresAt: Timestamp) {
    self.grant = grant
    self.member = member
    self.expiresAt = expiresAt
  }
}
