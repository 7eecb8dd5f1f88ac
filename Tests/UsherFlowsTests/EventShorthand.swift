import UsherAPI
import UsherCore

@testable import UsherFlows

/// Creates events without naming their group, so that a row of a table stays a line.
extension FlowEvent {
  static func redirected(_ answer: AuthorizationResponse) -> Self { .browser(.redirected(answer)) }

  static func listening(redirectURI: String) -> Self {
    .browser(.listening(redirectURI: redirectURI))
  }

  static func listenFailed(
    _ message: String, mayReachAnother: Bool = false, isBusy: Bool = false
  ) -> Self {
    .browser(.listenFailed(message, mayReachAnother: mayReachAnother, isBusy: isBusy))
  }

  static func called(_ call: Call, _ outcome: CallOutcome) -> Self {
    .provider(.called(call, outcome))
  }

  static func discovered(_ discovery: Discovery) -> Self { .provider(.discovered(discovery)) }

  static func idTokenVerified(_ verdict: IDTokenVerdict) -> Self {
    .provider(.idTokenVerified(verdict))
  }

  static func calledBack(_ callback: ProviderCallback) -> Self { .provider(.calledBack(callback)) }

  static func answered(_ answer: DaemonAnswer) -> Self { .daemon(.answered(answer)) }

  static var resumed: Self { .daemon(.resumed) }
}
