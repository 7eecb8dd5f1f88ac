import UsherCore
import UsherTestKit

@testable import UsherKit

/// A delegate of the Truecaller SDK that records the events.
final class DelegateRecorder: TCTrueSDKDelegate, TCTrueSDKViewDelegate {
  let events: AsyncStream<TCVerificationEvent>
  private let feed: AsyncStream<TCVerificationEvent>.Continuation

  /// 59.5 seconds before the codes of ``PhoneFlowSnapshot`` expire.
  static let usualTime = 1_893_456_000.5

  init() { (events, feed) = AsyncStream.makeStream() }

  func verificationStatusChanged(to state: TCVerificationState) { feed.yield(.state(state)) }
  func didReceive(_ profile: TCTrueProfile) { feed.yield(.profile(profile)) }
  func didFailToReceiveTrueProfileWithError(_ error: TCError) { feed.yield(.failed(error)) }

  /// Returns an SDK that has this object as its delegates.
  func sdk(
    _ path: String, provider: String = "truecaller", at time: Double = usualTime
  ) -> TCTrueSDK {
    let clock = FakeClock(Timestamp(seconds: time))
    let sdk = TCTrueSDK(provider: provider, socketPath: path, clock: clock)
    sdk.delegate = self
    sdk.viewDelegate = self
    return sdk
  }
}

extension TCVerificationEvent {
  var error: TCError? { if case .failed(let error) = self { error } else { nil } }
  var code: Int? { error?.getErrorCode().rawValue }
  var profile: TCTrueProfile? { if case .profile(let profile) = self { profile } else { nil } }
}
