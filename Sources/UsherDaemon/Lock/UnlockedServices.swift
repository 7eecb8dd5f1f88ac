import UsherCore
import UsherStore
import UsherSystem

/// All services that contain secrets or have access to them. The instance exists only while the
/// daemon is unlocked; nothing retains it after that.
final class UnlockedServices: Sendable {
  let services: Services
  let inFlightCalls: InFlightCalls

  /// Restores the services from the store and opens the callback listeners. Starts no other work.
  ///
  /// - Throws: An error for the operator if a row cannot be read or an address cannot be bound.
  static func start(_ bootstrap: StoreBootstrap, of processContext: ProcessContext)
    async throws(UsherError)
    -> UnlockedServices
  {
    let services = try Services(processContext, bootstrap)
    try await services.restore()
    try await services.listen()
    return UnlockedServices(services)
  }

  private init(_ services: Services) {
    self.services = services
    inFlightCalls = InFlightCalls(dependencies: services.dependencies)
  }

  /// Starts the background work, continuing from its stored state.
  func resume() { services.resume() }

  /// Shuts the services down in order: answers waiting calls, stores the responses that providers
  /// are sending, closes the store.
  ///
  /// - Parameter limit: The time that providers have to finish their responses.
  func end(within limit: Duration) async {
    inFlightCalls.end()
    await services.callbacks.close()
    await services.stop(within: limit)
    await inFlightCalls.waitUntilEmpty(atMost: max(limit, .seconds(1)))
    await services.close()
  }
}
