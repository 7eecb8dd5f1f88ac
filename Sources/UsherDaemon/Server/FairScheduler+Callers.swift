import UsherConfig

extension FairScheduler.Party {
  /// All callers without rights: several such users together slow others no more than one does. No user has
  /// this id.
  static let unauthorized = FairScheduler.Party.user(.max)

  /// Whose share a caller's connection takes.
  ///
  /// - Parameter user: Whose limits count for the caller.
  init(_ caller: Caller, user: UInt32) {
    self = caller.isAdmin ? .admin : caller.isUnauthorized ? .unauthorized : .user(user)
  }
}

extension FairScheduler.Terms {
  init(_ limits: Limits) {
    self.init(
      percent: limits.userSharePercent, connectAttempts: limits.connectionsPerUser,
      callsInFlight: limits.callsInFlightPerUser)
  }
}
