import UsherConfig
import UsherTransport

// The terms on which connections share an event loop, taken from the current configuration.

extension FairScheduler.Terms {
  init(_ limits: Limits) {
    self.init(
      sharePercent: limits.userSharePercent, connectAttempts: limits.connectionsPerUser,
      callsInFlight: limits.callsInFlightPerUser)
  }
}

extension ConfigStore: SchedulerTermsSource {
  var currentTerms: (terms: FairScheduler.Terms, generation: Int) {
    let snapshot = current
    return (FairScheduler.Terms(snapshot.config.limits), snapshot.generation)
  }
}
