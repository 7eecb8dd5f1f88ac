import UsherClient

// SDK documentation, "Clear the SDK". The static functions are those of the SDK.

/// The result of ``FreedomID/clear()-method``.
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
  /// Removes everything that the daemon stores for this app.
  ///
  /// Authorizations in progress end with ``FreedomIDError/userCanceled``. All grants to this app
  /// are withdrawn. Accounts that this app added are removed and unlinked from the device, unless
  /// another app uses them. The SDK can be used again afterwards; clearing again has no further
  /// effect.
  ///
  /// - Throws: ``FreedomIDError/networkError(_:)`` with ``NetworkError/connectionError`` if the
  ///   daemon cannot be reached; the call can be repeated.
  @discardableResult
  public func clear() async throws(FreedomIDError) -> FreedomIDClearance {
    recordClear()
    return try await translating(to: FreedomIDError.self) {
      let reply = try await provider.client.call(ClientClear(provider: provider.name))
      return FreedomIDClearance(
        cancelled: reply.cancelled, forgotten: reply.forgotten, kept: reply.kept)
    }
  }

  /// Calls ``clear()-method`` and passes its result to `completion`.
  ///
  /// - Parameter completion: Called exactly once, by a task of its own: on no particular thread and
  ///   on no actor.
  public func clear(
    completion: @escaping @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await self.clear() }
  }

  /// Calls ``clear()-method`` of the ``FreedomID`` object that was created last; throws
  /// ``FreedomIDError/configurationError`` if none was created.
  @discardableResult
  public static func clear() async throws(FreedomIDError) -> FreedomIDClearance {
    try await current().clear()
  }

  /// Calls ``clear(completion:)-method`` of the ``FreedomID`` object that was created last;
  /// completes with ``FreedomIDError/configurationError`` if none was created.
  public static func clear(
    completion: @escaping @Sendable (Result<FreedomIDClearance, FreedomIDError>) -> Void
  ) {
    callBack(completion) { () async throws(FreedomIDError) in try await clear() }
  }
}
