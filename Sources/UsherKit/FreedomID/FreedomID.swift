import Synchronization
import UsherClient

/// Asks persons for access to their Freedom ID profiles, with the calls of Freedom ID's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon signs people in
/// and stores their accounts and grants. A ``FreedomIDPresenter`` shows the screens in place of the
/// view controller.
///
/// ``create(apiKey:provider:socketPath:)`` creates the object that the static functions use. A
/// program that needs several such objects stores the returned ones and calls their methods.
///
/// Source: SDK documentation, "iOS SDK" of Freedom ID. The page FreedomID of the daemon's
/// documentation describes the flow `authorize` of a provider in mode `device`.
public final class FreedomID: Sendable {
  /// The object that was created last, which the static functions use; nil if none was created.
  static let created = Mutex<FreedomID?>(nil)
  static let kind = "authorize"

  private let apiKey: Secret
  let provider: ProviderClient
  /// The total pause between attempts to read a flow, after which its authorization fails.
  let patience: Duration
  let running = RunningCalls()

  /// Creates an object of this class without calling the daemon. If the daemon is down or the key
  /// is wrong, the first call fails.
  ///
  /// A later call replaces the object that the static functions use; calls in progress continue.
  ///
  /// - Parameters:
  ///   - apiKey: The key from Freedom Pay. The daemon only compares it with its configuration; a
  ///     different key makes calls fail with ``FreedomIDError/incorrectApiKey``.
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration. Not in the SDK.
  ///   - socketPath: The daemon's socket; nil finds it as `UsherClient` does. Not in the SDK.
  @discardableResult
  public static func create(
    apiKey: String, provider: String = "freedom", socketPath: String? = nil
  ) -> FreedomID {
    let sdk = FreedomID(apiKey: apiKey, provider: provider, socketPath: socketPath)
    created.withLock { $0 = sdk }
    return sdk
  }

  init(
    apiKey: String, provider: String, socketPath: String?,
    patience: Duration = UsherClient.patience
  ) {
    self.apiKey = Secret(apiKey)
    self.provider = ProviderClient(provider, socketPath: socketPath)
    self.patience = patience
  }

  /// Returns the object that the static functions use.
  ///
  /// - Throws: ``FreedomIDError/configurationError`` if none was created.
  static func current() throws(FreedomIDError) -> FreedomID {
    guard let sdk = created.withLock({ $0 }) else { throw .configurationError }
    return sdk
  }
}

// MARK: - Used by authorizations

extension FreedomID {
  /// Starts the flow of the provider's mode with the parameters that it has.
  ///
  /// The app need not know the mode. In mode `oauth2` the flow has no API key, because the client's
  /// secret takes its place. In mode `oidc` it has no grants either, because the configuration has
  /// scopes. The daemon refuses a parameter that a flow does not have, and this repeats the call
  /// without it.
  func begin(_ grants: [DataGrants]) async throws -> FlowSession {
    var params: [String: JSONValue] = [
      "apiKey": .string(apiKey.revealed()),
      "grants": .array(grants.map { .string($0.rawValue) }),
    ]
    while true {
      do {
        return try await provider.begin(Self.kind, .object(params))
      } catch let error as UsherError where error.reason == .invalidParams {
        let name = error.detail.field?.split(separator: ".").last.map { String($0) } ?? ""
        guard error.detail.field == "params.\(name)", params.removeValue(forKey: name) != nil
        else { throw error }
      }
    }
  }
}
