import JSONRPC
import Synchronization
import UsherAPI
import UsherClient
import UsherCore

/// A Paysafe Embedded Wallet, by the calls of Paysafe's mobile SDK.
///
/// A program that used the SDK on a phone signs customers in and solves SCA challenges with the
/// same calls on Linux. The daemon does the work and keeps the tokens; nothing is kept here that
/// could not be asked again, so a program may be restarted between any two of these calls, and so
/// may usherd.
///
/// Each call comes twice: `async`, and with the SDK's `completion`. A completion is called exactly
/// once, by a task of its own: on no particular thread and on no actor.
///
/// Source: seed "Authentication"; the flows are those of the daemon's page Paysafe.
public final class Wallet: Sendable {
  /// The SDK's own error is nested; here it also stands by itself, as the seed writes it.
  public typealias WalletError = UsherKit.WalletError

  /// The wallet that ``configure(provider:socketPath:account:)-type.method`` is about.
  public static let instance = Wallet()

  private struct Setup: Sendable {
    var provider: ProviderName
    var client: UsherClient
    var account: AccountID?

    init(_ provider: String, _ socketPath: String?, _ account: String?) {
      self.provider = ProviderName(provider)
      client = UsherClient(socketPath: socketPath, name: "UsherKit")
      self.account = account.map { AccountID($0) }
    }
  }

  private let setup: Mutex<Setup>

  /// Another wallet than ``instance``, for a program that serves several providers or customers.
  public init(provider: String = "paysafe", socketPath: String? = nil, account: String? = nil) {
    setup = Mutex(Setup(provider, socketPath, account))
  }

  /// Signing in and Strong Customer Authentication.
  public var authenticationService: AuthenticationService { AuthenticationService(wallet: self) }

  /// The account whose customer SCA is about: the one configured, or authenticated here last. Nil:
  /// the daemon takes the only one there is.
  public var account: Account? {
    setup.withLock { $0.account }.map { Account(id: $0.rawValue) }
  }

  /// A customer who has signed in.
  public struct Account: Sendable, Equatable {
    /// The daemon's name of it, `acc_…`: for `token.get`, and for
    /// ``Wallet/configure(provider:socketPath:account:)-type.method`` after a restart of the
    /// program.
    public var id: String
  }
}

// MARK: - Configuring

extension Wallet {
  /// Says which provider of the daemon is the wallet, and where the daemon is.
  ///
  /// Nothing is asked yet. Doing it again with the same changes nothing; with other values, calls
  /// that are under way end as they began. A program that never does it gets the defaults.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: Nil finds the daemon that serves this user, as `UsherClient` does.
  ///   - account: The customer, where there are several: ``Account/id``.
  public static func configure(
    provider: String = "paysafe", socketPath: String? = nil, account: String? = nil
  ) {
    instance.configure(provider: provider, socketPath: socketPath, account: account)
  }

  /// Configures by the SDK's own call: asks whether the daemon is there and knows the wallet.
  ///
  /// The daemon gets config tokens itself, and their digital fingerprint with them: the one given
  /// here is neither used nor kept nor sent. (The vendor publishes that there is such a call, not
  /// its labels on iOS.)
  public static func configure(configToken: String) async throws(WalletError) {
    try await instance.find()
  }

  /// ``configure(configToken:)`` for a program that wants to be called back.
  public static func configure(
    configToken: String, completion: @escaping @Sendable (Result<Void, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in
      try await configure(configToken: configToken)
    }
  }

  /// As ``configure(provider:socketPath:account:)-type.method``, of this wallet.
  public func configure(
    provider: String = "paysafe", socketPath: String? = nil, account: String? = nil
  ) {
    let new = Setup(provider, socketPath, account)
    setup.withLock { old in
      guard new.provider == old.provider, new.client.socketPath == old.client.socketPath else {
        old = new
        return
      }
      old.account = new.account ?? old.account
    }
  }

  private func find() async throws(WalletError) {
    let setup = setup.withLock { $0 }
    do {
      _ = try await translating(to: WalletError.self) {
        try await setup.client.call(ProviderGet(provider: setup.provider))
      }
    } catch .notPermitted {
      // A rule may let a program run flows and not look at providers.
    }
  }
}

// MARK: - Asking the daemon

extension Wallet {
  enum Kind: String {
    case authorize, sca
  }

  var client: UsherClient { setup.withLock { $0.client } }

  func begin(_ kind: Kind, _ params: JSONValue) async throws -> FlowSession {
    let setup = setup.withLock { $0 }
    return try await setup.client.flow(
      provider: setup.provider.rawValue, kind: kind.rawValue, params: params)
  }

  /// The caller's live flows of a kind, newest first, without their steps.
  func liveFlows(_ kind: Kind) async throws -> [Flow] {
    let setup = setup.withLock { $0 }
    return try await setup.client.flows(of: setup.provider, kind: kind.rawValue)
  }

  func newestFlow(
    _ kind: Kind, key: String? = nil, status: FlowStatus? = .active,
    where fits: (Flow) -> Bool = { _ in true }
  ) async throws -> FlowSession? {
    let setup = setup.withLock { $0 }
    return try await setup.client.newestFlow(
      of: setup.provider, kind: kind.rawValue, key: key, status: status, where: fits)
  }

  func remember(_ account: AccountID) { setup.withLock { $0.account = account } }
}
