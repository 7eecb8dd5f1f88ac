import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// All services that hold secrets or lead to them. The instance exists only while the daemon is
/// unlocked, and nothing retains it after that.
final class UnlockedServices: Sendable {
  let services: Services
  let table: MethodTable
  private let inFlightCalls: InFlightCalls

  /// Restores the services from the store and listens for providers' callbacks; nothing runs yet.
  ///
  /// - Throws: An error with a message for the operator if a row cannot be read or an address
  ///   cannot be bound.
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
    table = MethodTable(services)
    inFlightCalls = InFlightCalls(dependencies: services.dependencies)
  }

  /// Starts background work from its stored state.
  func resume() { services.resume() }

  /// Runs a method.
  ///
  /// - Throws: Errors of the method; `locked` for a call that waits when the daemon is locked.
  func run(
    _ entry: MethodEntry, _ params: DecodedParams, _ call: Call
  ) throws(UsherError) -> Response {
    let (caller, services) = (call.caller, self.services)
    let isAdmitted: Bool
    do throws(UsherError) {
      isAdmitted = try services.owners.admits(caller)
    } catch {
      throw services.withheld(error, entry.type.name, caller)
    }
    if isAdmitted { return inFlightCalls.track(try entry.run(params, call)) }
    return inFlightCalls.track(
      .cold { () async throws(UsherError) in
        do throws(UsherError) {
          try await services.owners.verify(caller)
        } catch {
          throw services.withheld(error, entry.type.name, caller)
        }
        return .resumed { call throws(UsherError) in try entry.run(params, call) }
      })
  }

  /// Shuts down in order: answers waiting calls, stores the responses that providers are sending,
  /// closes the store.
  ///
  /// - Parameter limit: The time for providers to finish.
  func end(within limit: Duration) async {
    inFlightCalls.end()
    await services.callbacks.close()
    await services.stop(within: limit)
    await inFlightCalls.settle(within: max(limit, .seconds(1)))
    await services.close()
  }
}

extension Services {
  /// Records in the audit log that a caller is denied because its uid belongs to another user than
  /// the stored objects.
  fileprivate func withheld(_ error: UsherError, _ method: String, _ caller: Caller) -> UsherError {
    guard error.reason == .permissionDenied else { return error }
    return denied(error, PolicyRequest(method: method), caller, rule: "(owner)", unmet: [])
  }
}
