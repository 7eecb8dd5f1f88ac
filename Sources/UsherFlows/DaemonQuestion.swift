package import UsherCore

/// A question that a flow asks the daemon; answered by ``FlowEvent/answered(_:)``.
package enum DaemonQuestion: Sendable, Equatable {
  case localAuth(LocalAuthQuestion)
  /// The grants that the flow's client currently has for an account; answered by
  /// ``DaemonAnswer/consents(_:)``.
  case consents(of: AccountID)
  /// Whether an account still exists; answered by ``DaemonAnswer/presence(_:)``.
  case presence(of: AccountID)
  /// The present one-time code of an account's authenticator, to be shown to the user; answered by
  /// ``DaemonAnswer/oneTimeCode(_:)``.
  case oneTimeCode(of: AccountID)
}

/// The daemon's answer to a question or effect of a flow.
package enum DaemonAnswer: Sendable, Equatable {
  case localAuth(LocalAuthAnswer)
  /// The client's stored grants that have not expired.
  case consents(Set<String>)
  /// The account of ``Effect/store(_:)`` is durable.
  case stored(AccountID)
  case presence(Bool)
  case oneTimeCode(OneTimeCodeAnswer)
}

/// The daemon's answer to a flow that asks for the current TOTP code of an account.
package enum OneTimeCodeAnswer: Sendable, Equatable {
  /// - Parameter until: When the code's time step ends.
  case given(Secret, until: Timestamp)
  /// The client already received the code of this time step, and each code is given out once; the
  /// value is when the next step begins.
  case later(Timestamp)
  /// The account does not exist, or has no authenticator secret.
  case noSecret
  /// The use of the code could not be stored, so the code is withheld; the value is a sentence.
  case unavailable(String)
}

/// A user's consent that a client may receive data of an account; stored for the client and
/// account.
package struct ConsentGrant: Codable, Sendable, Equatable {
  /// The name of the grant as the provider spells it: `read.firstname`.
  package var grant: String
  /// The member of the account's profile that the grant covers; nil if it covers none.
  package var member: String?
  package var expiresAt: Timestamp
}
