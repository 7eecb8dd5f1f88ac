import Synchronization
import UsherClient

/// A Paysafe Embedded Wallet, with the calls of Paysafe's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux to sign customers in and to
/// answer SCA challenges. The daemon runs the sign-ins and stores the tokens. The program may be
/// restarted between any two calls, and so may usherd: all state can be read from the daemon again.
///
/// Each call has an `async` form, and one with the SDK's `completion`. A completion is called
/// exactly once: on the actor on which the closure was written, such as the main actor, and
/// otherwise on no particular thread.
///
/// Source: SDK documentation, "Authentication". The page Paysafe of the daemon's documentation
/// describes the flows.
public final class Wallet: Sendable {
  /// The error type as a nested name, as in the SDK.
  public typealias WalletError = UsherKit.WalletError

  /// The shared wallet, which the static calls use.
  public static let instance = Wallet()

  private struct Setup: Sendable {
    var provider: ProviderClient
    var account: AccountID?
    /// The brand of the sign-in that was begun last.
    var brandIdentity: String?

    init(_ provider: String, _ socketPath: String?, _ account: String?) {
      self.provider = ProviderClient(provider, socketPath: socketPath)
      self.account = account.map { AccountID($0) }
    }
  }

  private let setup: Mutex<Setup>

  /// Creates a wallet beside ``instance``, for a program that uses several providers or customers.
  ///
  /// The parameters are those of ``configure(provider:socketPath:account:)-type.method``.
  public init(provider: String = "paysafe", socketPath: String? = nil, account: String? = nil) {
    setup = Mutex(Setup(provider, socketPath, account))
  }

  /// The calls for sign-in and Strong Customer Authentication.
  public var authenticationService: AuthenticationService { AuthenticationService(wallet: self) }

  /// The account that is the subject of SCA challenges: the one configured or signed in last. If it
  /// is nil, the daemon uses the provider's only account.
  public var account: Account? { setup.withLock { $0.account }.map { Account(id: $0.rawValue) } }

  /// The account of a customer who has signed in.
  public struct Account: Sendable, Equatable {
    /// The daemon's id of the account, `acc_…`. Use it for `token.get`, and for
    /// ``Wallet/configure(provider:socketPath:account:)-type.method`` after a restart of the
    /// program.
    public var id: String
  }
}

// MARK: - Configuring

extension Wallet {
  /// Sets the daemon's provider for ``instance``, and the daemon's socket.
  ///
  /// The daemon is not called. If a program does not call this function, the defaults apply. A
  /// change does not affect calls in progress. If provider and socket stay the same, a nil
  /// `account` keeps the present one.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: The daemon's socket; nil finds it as `UsherClient` does.
  ///   - account: The ``Account/id`` of the customer, if there are several.
  public static func configure(
    provider: String = "paysafe", socketPath: String? = nil, account: String? = nil
  ) {
    instance.configure(provider: provider, socketPath: socketPath, account: account)
  }

  /// Checks that the daemon can be reached, and that the configured provider is a wallet. The SDK
  /// has this function, too.
  ///
  /// `configToken` is ignored: the daemon itself gets config tokens with their digital fingerprint.
  /// The check of the provider is skipped if a rule of the daemon does not let the program read
  /// providers. (The vendor documents the call, but not its argument labels on iOS.)
  public static func configure(configToken: String) async throws(WalletError) {
    try await instance.checkProvider()
  }

  /// Calls ``configure(configToken:)`` and passes its result to `completion`.
  public static func configure(
    configToken: String,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<Void, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await configure(configToken: configToken)
    }
  }

  /// Configures this wallet as ``configure(provider:socketPath:account:)-type.method`` does
  /// ``instance``.
  public func configure(
    provider: String = "paysafe", socketPath: String? = nil, account: String? = nil
  ) {
    let new = Setup(provider, socketPath, account)
    setup.withLock { old in
      guard new.provider.isSame(as: old.provider) else {
        old = new
        return
      }
      old.account = new.account ?? old.account
    }
  }

  private func checkProvider() async throws(WalletError) {
    let provider = provider
    do {
      try await translating(to: WalletError.self) {
        let reply = try await provider.client.call(ProviderGet(provider: provider.name))
        guard reply.type == "paysafe" else {
          throw KitError(.notConfigured, "the provider \(reply.name) is not a Paysafe wallet")
        }
      }
    } catch .notPermitted {
      // A rule may allow a program to run flows, but not to read providers.
    }
  }
}

// MARK: - Calling the daemon

extension Wallet {
  /// The kind of the flows that sign customers in.
  static let signIn = "authorize"
  /// The kind of the flows that sign customers in with a token of the partner's backend.
  static let tokenSignIn = "authenticate"
  /// The kind of the flows that make calls to the wallet.
  static let operation = "operation"
  /// The kind of the flows of Strong Customer Authentication. Their key is the id of the SCA event.
  static let sca = "sca"

  /// The daemon's provider that was configured last.
  var provider: ProviderClient { setup.withLock { $0.provider } }

  /// The brand of the sign-in that this wallet has begun last; nil if it has begun none.
  var latestBrandIdentity: String? {
    get { setup.withLock { $0.brandIdentity } }
    set { setup.withLock { $0.brandIdentity = newValue } }
  }

  /// Stores the account of a sign-in as ``account``, unless the wallet was configured for another
  /// provider in the meantime.
  func keepAccount(of signIn: () async throws -> AccountID) async throws -> AccountID {
    let before = provider
    let account = try await signIn()
    setup.withLock { setup in
      if setup.provider.isSame(as: before) { setup.account = account }
    }
    return account
  }
}
