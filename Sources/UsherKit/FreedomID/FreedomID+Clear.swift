import UsherAPI
import UsherClient

// "Clear the SDK" of the seed. The static calls are those of the SDK.

/// What became of what the app had at the daemon.
public struct FreedomIDClearance: Sendable, Equatable {
  /// Authorizations that were given up.
  public let cancelled: Int
  /// Accounts that are gone.
  public let forgotten: Int
  /// Accounts that stay, because another app was granted something of them or brought them. What
  /// this app was granted of them is taken back.
  public let kept: Int
}

extension FreedomID {
  /// Forgets what this app has at the daemon, and waits for that.
  ///
  /// Authorizations under way end with ``FreedomIDError/userCanceled``. What people granted to this
  /// app is taken back; the accounts that it brought are untied from the device, but for those that
  /// another app uses. What the SDK was created with stays: it can be used again. Clearing twice
  /// changes nothing more.
  ///
  /// - Throws: ``NetworkError/connectionError`` when the daemon is away: then clear again.
  @discardableResult
  public func clear() async throws(FreedomIDError) -> FreedomIDClearance {
    noteClear()
    do {
      let reply = try await client.call(ClientClear(provider: provider))
      return FreedomIDClearance(
        cancelled: reply.cancelled, forgotten: reply.forgotten, kept: reply.kept)
    } catch {
      throw FreedomIDError(error)
    }
  }

  /// ``clear()-method`` for a program that wants to be called back.
  ///
  /// - Parameter completion: Called exactly once, by a task of its own: on no particular thread and
  ///   on no actor.
  public func clear(
    completion: @escaping @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await self.clear() }
  }

  /// ``clear()-method`` of what was created; ``FreedomIDError/configurationError`` where nothing
  /// was.
  @discardableResult
  public static func clear() async throws(FreedomIDError) -> FreedomIDClearance {
    try await current().clear()
  }

  /// ``clear(completion:)-method`` of what was created; ``FreedomIDError/configurationError`` where
  /// nothing was.
  public static func clear(
    completion: @escaping @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await clear() }
  }
}
