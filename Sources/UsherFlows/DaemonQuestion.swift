package import UsherCore

/// A question that a flow asks the daemon. The answer arrives as the event
/// ``DaemonEvent/answered(_:)``.
package enum DaemonQuestion: Sendable, Equatable {
  case localAuth(LocalAuthQuestion)
  /// Which grants the user has given to the flow's client for an account; answered by
  /// ``DaemonAnswer/consents(_:)``.
  case consents(of: AccountID)
  /// Whether an account still exists; answered by ``DaemonAnswer/presence(_:)``.
  case presence(of: AccountID)
  /// The TOTP code of the present time step, to be shown to the user; answered by
  /// ``DaemonAnswer/oneTimeCode(_:)``.
  case oneTimeCode(of: AccountID)
}

/// The daemon's answer to a flow's ``DaemonQuestion``, or to ``Effect/store(_:)``.
package enum DaemonAnswer: Sendable, Equatable {
  case localAuth(LocalAuthAnswer)
  /// The grants that the client has for the account and that have not expired.
  case consents(Set<String>)
  /// The account of ``Effect/store(_:)`` is on disk.
  case stored(AccountID)
  /// Whether the account exists; nil if that is unknown, because the store cannot be read.
  case presence(Bool?)
  case oneTimeCode(OneTimeCodeAnswer)
}

/// The daemon's answer to a flow that asks for the TOTP code of the present time step.
package enum OneTimeCodeAnswer: Sendable, Equatable {
  /// The code of the present time step.
  ///
  /// - Parameter until: The end of the time step, at which the code becomes invalid.
  case code(Secret, until: Timestamp)
  /// The client has already received the code of this time step; each code is given out only once.
  /// The value is the start of the next time step.
  case later(Timestamp)
  /// The account does not exist, or has no authenticator secret.
  case noSecret
  /// The daemon could not store that the code was used, so it withholds the code. The value is a
  /// sentence.
  case unavailable(String)
}

/// A user's consent that a client may receive data of an account. It is stored for that client and
/// account.
package struct ConsentGrant: Codable, Sendable, Equatable {
  /// The name of the grant as the provider spells it: `read.firstname`.
  package var grant: String
  /// The member of the account's profile that the grant covers; nil if it covers none.
  package var member: String?
  package var expiresAt: Timestamp
}
