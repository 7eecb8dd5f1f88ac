import UsherTransport

extension FairScheduler.Party {
  /// Party of all callers without rights: several such users together slow others no more than one
  /// does. No user has this id.
  static let unauthorized = FairScheduler.Party.user(.max)

  /// Returns the party whose share a caller's connection uses.
  ///
  /// - Parameter user: The user whose limits apply to the caller.
  init(_ caller: Caller, user: UInt32) {
    self = caller.isAdmin ? .admin : caller.isUnauthorized ? .unauthorized : .user(user)
  }
}
