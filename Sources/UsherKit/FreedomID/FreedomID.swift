import JSONRPC
import Synchronization
import UsherClient
import UsherCore

/// A person's profile, member by member and with the person's consent, by the calls of Freedom ID's
/// mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon does the work:
/// it signs people in, keeps their accounts and remembers what they granted. A
/// ``FreedomIDPresenter`` shows the screens in place of the view controller.
///
/// ``create(apiKey:provider:socketPath:)`` makes the SDK that the static calls are about. A program
/// that needs more than one keeps what it returns, and makes the same calls of it.
///
/// Source: seed "iOS SDK" of Freedom ID; the flow is `authorize` of the daemon's page Freedom ID,
/// of a provider in mode `device`.
public final class FreedomID: Sendable {
  /// How long a daemon that is away is waited for.
  struct Pace: Sendable {
    /// How long all looks at a flow may fail before it is given up.
    var patience = Duration.seconds(10)
    /// Between two looks at what became of an answer.
    var pause = Duration.milliseconds(500)
  }

  /// What the static calls are about.
  static let created = Mutex<FreedomID?>(nil)
  static let kind = "authorize"

  private let apiKey: Secret
  let provider: ProviderName
  let client: UsherClient
  let pace: Pace
  private let clears = Mutex(0)

  /// Makes the SDK. Nothing is asked yet: that the daemon is not there, or the key not good, is
  /// found out by the first call.
  ///
  /// Created again, it takes the place of the one before; what is under way goes on.
  ///
  /// - Parameters:
  ///   - apiKey: As Freedom Pay gave it out. The daemon compares it with the configured one, and
  ///     does nothing else with it: another is ``FreedomIDError/incorrectApiKey``.
  ///   - provider: Our own: the `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: Our own: nil finds the daemon that serves this user, as `UsherClient` does.
  @discardableResult
  public static func create(
    apiKey: String, provider: String = "freedom", socketPath: String? = nil
  ) -> FreedomID {
    let sdk = FreedomID(apiKey: apiKey, provider: provider, socketPath: socketPath)
    created.withLock { $0 = sdk }
    return sdk
  }

  init(apiKey: String, provider: String, socketPath: String?, pace: Pace = Pace()) {
    self.apiKey = Secret(apiKey)
    self.provider = ProviderName(provider)
    client = UsherClient(socketPath: socketPath, name: "UsherKit")
    self.pace = pace
  }

  /// - Throws: ``FreedomIDError/configurationError`` before it was created.
  static func current() throws(FreedomIDError) -> FreedomID {
    guard let sdk = created.withLock({ $0 }) else { throw .configurationError }
    return sdk
  }
}

// MARK: - What authorizations need

extension FreedomID {
  /// Rises when the SDK is cleared.
  var timesCleared: Int { clears.withLock { $0 } }

  func begin(_ grants: [DataGrants]) async throws -> FlowSession {
    try await client.flow(
      provider: provider.rawValue, kind: Self.kind,
      params: [
        "apiKey": .string(apiKey.revealed()),
        "grants": .array(grants.map { .string($0.rawValue) }),
      ])
  }

  func noteClear() { clears.withLock { $0 += 1 } }
}
