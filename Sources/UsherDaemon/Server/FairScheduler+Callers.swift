import UsherTransport

extension FairScheduler.Party {
  /// The common party of all callers without rights, so that several such users together slow
  /// others no more than one user does. No real user has this uid.
  static let unauthorized = FairScheduler.Party.user(.max)

  /// Creates the party whose share of the event loop a caller's connection uses.
  ///
  /// - Parameter user: The user whose limits apply to the caller.
  init(_ caller: Caller, user: UInt32) {
    self = caller.isAdmin ? .admin : caller.isUnauthorized ? .unauthorized : .user(user)
  }
}
