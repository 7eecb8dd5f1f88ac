import Synchronization
import UsherClient

// SDK documentation, "Clear the SDK". The static functions `clear` are those of the SDK. `signOut`
// is not in the SDK.

extension FreedomID {
  /// Clears the SDK's internal state: authorizations in progress end with
  /// ``FreedomIDError/userCanceled``, unless they have ended by then.
  ///
  /// The daemon keeps accounts and grants: ``signOut()-method`` removes them. The SDK can be used
  /// again afterwards without another ``create(apiKey:provider:socketPath:)``.
  public func clear() { running.cancelAll() }

  /// Calls ``clear()-method`` of the ``FreedomID`` object that was created last; does nothing if
  /// none was created.
  public static func clear() { created.withLock { $0 }?.clear() }
}

// MARK: - Signing out

/// The result of ``FreedomID/signOut()-method``.
public struct FreedomIDClearance: Sendable, Equatable {
  /// The number of authorizations in progress that were cancelled.
  public let cancelled: Int
  /// The number of removed accounts.
  public let forgotten: Int
  /// The number of accounts that were not removed, because another app has grants on them or added
  /// them. The grants of this app on them are withdrawn.
  public let kept: Int
}

extension FreedomID {
  /// Removes everything that the daemon stores for this app. Not in the SDK.
  ///
  /// Authorizations in progress end with ``FreedomIDError/userCanceled``. All grants to this app
  /// are withdrawn. Accounts that this app added are removed and unlinked from the device, unless
  /// another app uses them. The SDK can be used again afterwards; signing out again has no further
  /// effect.
  ///
  /// - Throws: ``FreedomIDError/networkError(_:)`` with ``NetworkError/connectionError`` if the
  ///   daemon cannot be reached; the call can be repeated.
  @discardableResult
  public func signOut() async throws(FreedomIDError) -> FreedomIDClearance {
    // Also ends authorizations that begin while the daemon removes the stored data.
    defer { clear() }
    return try await translating(to: FreedomIDError.self) {
      let reply = try await provider.client.call(ClientClear(provider: provider.name))
      return FreedomIDClearance(
        cancelled: reply.cancelled, forgotten: reply.forgotten, kept: reply.kept)
    }
  }

  /// Calls ``signOut()-method`` and passes its result to `completion`.
  ///
  /// - Parameter completion: Called exactly once: on the actor that the closure belongs to, such as
  ///   the main actor, else on no particular thread.
  public func signOut(
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await self.signOut() }
  }

  /// Calls ``signOut()-method`` of the ``FreedomID`` object that was created last; throws
  /// ``FreedomIDError/configurationError`` if none was created.
  @discardableResult
  public static func signOut() async throws(FreedomIDError) -> FreedomIDClearance {
    try await current().signOut()
  }

  /// Calls ``signOut(completion:)-method`` of the ``FreedomID`` object that was created last;
  /// completes with ``FreedomIDError/configurationError`` if none was created.
  public static func signOut(
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await signOut() }
  }
}
