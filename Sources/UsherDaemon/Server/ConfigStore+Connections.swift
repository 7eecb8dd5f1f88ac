import UsherConfig
import UsherTransport

// The limits of connections, taken from the current configuration.

extension FairScheduler.Terms {
  init(_ limits: Limits) {
    self.init(
      sharePercent: limits.userSharePercent, connectAttempts: limits.connectionsPerUser,
      callsInFlight: limits.callsInFlightPerUser)
  }
}

extension ConnectionCount {
  /// Creates a counter of connections with the limits of the current configuration.
  convenience init(_ configStore: ConfigStore) {
    self.init {
      let limits = configStore.current.config.limits
      return ConnectionCount.Limits(
        all: limits.connections, adminReserve: limits.adminReserve,
        perUser: limits.connectionsPerUser, unauthorized: limits.unauthorizedConnections)
    }
  }
}

extension ConfigStore: SchedulerTermsSource {
  var currentTerms: (terms: FairScheduler.Terms, generation: Int) {
    let snapshot = current
    return (FairScheduler.Terms(snapshot.config.limits), snapshot.generation)
  }
}
