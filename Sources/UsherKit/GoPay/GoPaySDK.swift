import Synchronization
import UsherClient
import UsherCore

/// Verification of a person's identity (KYC), by the calls of GoPay's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon does the work:
/// it asks GoPay and keeps what comes of it. A ``Presenter`` shows the pages in place of the view
/// controller.
///
/// Source: seed "Verify with GoPay"; the flow is that of the daemon's page GoPay.
public final class GoPaySDK: Sendable {
  /// What GoPay's pages are written in (provider contract §3.2).
  public enum Language: String, Sendable, Equatable, CaseIterable {
    case indonesian = "id"
    case english = "en"
  }

  /// How long a daemon that is away is waited for.
  struct Pace: Sendable {
    /// How long all looks at a flow may fail before it is given up.
    var patience = Duration.seconds(10)
    /// How long after a daemon's word that it stops an answer is given again.
    var pause = Duration.seconds(1)
  }

  static let kind = "verify"

  let provider: ProviderName
  let client: UsherClient
  let language: Language?
  let pace: Pace
  let clock: any Clock
  private let underWay = Mutex<Set<String>>([])

  /// Nothing is asked yet: that the daemon is not there is found out by the first call.
  ///
  /// What the SDK on a phone is configured with beside this, client id and environment, stands in the
  /// daemon's configuration.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: Nil finds the daemon that serves this user, as `UsherClient` does.
  ///   - language: Nil leaves it to GoPay.
  public convenience init(
    provider: String = "gopay", socketPath: String? = nil, language: Language? = nil
  ) {
    self.init(
      provider: provider, socketPath: socketPath, language: language, pace: Pace(),
      clock: SystemClock())
  }

  init(
    provider: String, socketPath: String?, language: Language?, pace: Pace, clock: any Clock
  ) {
    self.provider = ProviderName(provider)
    client = UsherClient(socketPath: socketPath, name: "UsherKit")
    self.language = language
    self.pace = pace
    self.clock = clock
  }

  /// What the SDK can do; each call tells the same.
  public func getFeatureManager() -> FeatureManager { FeatureManager(sdk: self) }
}

// MARK: - Request ids

extension GoPaySDK {
  /// Takes a request id for a verification.
  ///
  /// - Throws: ``KitError`` when one with the same id is under way here: the daemon would tell them
  ///   apart, but not which of them is the one that it knows.
  func take(_ requestID: String) throws {
    guard underWay.withLock({ $0.insert(requestID).inserted }) else { throw KitError.usedBefore }
  }

  func giveBack(_ requestID: String) { underWay.withLock { _ = $0.remove(requestID) } }
}

extension KitError {
  static var usedBefore: KitError {
    KitError(
      .invalidRequest, "this requestId was used before: generate a fresh one for every call",
      field: "requestId")
  }
}
