import Synchronization
import UsherClient

/// Verifies a person's identity (KYC), with the calls of GoPay's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon calls GoPay and
/// stores the result. A ``Presenter`` shows the web pages in place of the view controller.
///
/// Source: SDK documentation, "Verify with GoPay". The page GoPay of the daemon's documentation
/// describes the flow.
public final class GoPaySDK: Sendable {
  /// The language of GoPay's pages (provider contract §3.2).
  public enum Language: String, Sendable, Equatable, CaseIterable {
    case indonesian = "id"
    case english = "en"
  }

  /// How long a verification waits while the daemon cannot be reached.
  struct RetryTiming: Sendable {
    /// The total pause between attempts to read the flow, after which the verification fails.
    var patience = Duration.seconds(10)
    /// The pause before an answer is sent again after a shutdown of the daemon or a lost
    /// connection.
    var pause = Duration.seconds(1)
  }

  static let kind = "verify"

  let provider: ProviderClient
  let language: Language?
  let retryTiming: RetryTiming
  let clock: any Clock

  /// A request id that a verification of this process uses.
  private struct ReservedRequestID: Hashable {
    let id: String
    let provider: String
    let socketPath: String
  }

  private static let reservedRequestIDs = Mutex<Set<ReservedRequestID>>([])

  /// Creates the SDK without calling the daemon. If the daemon is down, the first call fails.
  ///
  /// The SDK's other settings, client id and environment, are in the daemon's configuration.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: The daemon's socket; nil finds it as `UsherClient` does.
  ///   - language: The language of GoPay's pages; nil lets GoPay choose.
  public convenience init(
    provider: String = "gopay", socketPath: String? = nil, language: Language? = nil
  ) {
    self.init(
      provider: provider, socketPath: socketPath, language: language, retryTiming: RetryTiming(),
      clock: SystemClock())
  }

  init(
    provider: String, socketPath: String?, language: Language?, retryTiming: RetryTiming,
    clock: any Clock
  ) {
    self.provider = ProviderClient(provider, socketPath: socketPath)
    self.language = language
    self.retryTiming = retryTiming
    self.clock = clock
  }

  /// Returns the features of the SDK. All returned values are equivalent.
  public func getFeatureManager() -> FeatureManager { FeatureManager(sdk: self) }
}

// MARK: - Request ids

extension GoPaySDK {
  /// Reserves a request id for a verification.
  ///
  /// - Throws: ``KitError`` with the code of a used request id if a verification of this process
  ///   with the same id is in progress. The daemon would refuse to start a second flow too, but its
  ///   error names the first verification's flow, which could be mistaken for the second's after a
  ///   lost connection.
  func reserve(_ requestID: String) throws {
    guard Self.reservedRequestIDs.withLock({ $0.insert(reserved(requestID)).inserted }) else {
      throw KitError.requestIDUsed
    }
  }

  func release(_ requestID: String) {
    Self.reservedRequestIDs.withLock { _ = $0.remove(reserved(requestID)) }
  }

  private func reserved(_ requestID: String) -> ReservedRequestID {
    ReservedRequestID(
      id: requestID, provider: provider.name.rawValue, socketPath: provider.client.socketPath)
  }
}

extension KitError {
  static var requestIDUsed: KitError {
    KitError(
      .invalidRequest, "this requestId was used before: generate a fresh one for every call",
      field: "requestId")
  }
}
