import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// All of the daemon that holds secrets or leads to them: it is there while the daemon is not locked,
/// and nothing keeps it beyond that.
final class UnlockedServices: Sendable {
  let services: Services
  let table: MethodTable
  private let inFlightCalls: InFlightCalls

  /// Takes the store's contents up and listens for providers; nothing runs yet.
  ///
  /// - Throws: A sentence for the operator where a row cannot be read or an address not be had.
  static func take(_ bootstrap: StoreBootstrap, of processContext: ProcessContext)
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

  /// What runs by itself goes on from where it stood.
  func resume() { services.resume() }

  /// - Throws: What the method throws; `locked` for a call that waits when the lock comes.
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
    if isAdmitted { return inFlightCalls.follow(try entry.run(params, call)) }
    return inFlightCalls.follow(
      .cold { () async throws(UsherError) in
        do throws(UsherError) {
          try await services.owners.verify(caller)
        } catch {
          throw services.withheld(error, entry.type.name, caller)
        }
        return .resumed { call throws(UsherError) in try entry.run(params, call) }
      })
  }

  /// Ends in order: who waits is answered, what providers are answering just now is written, the
  /// store is closed.
  ///
  /// - Parameter limit: How long providers have for it.
  func end(within limit: Duration) async {
    inFlightCalls.end()
    await services.callbacks.close()
    await services.stop(within: limit)
    await inFlightCalls.settle(within: max(limit, .seconds(1)))
    await services.close()
  }
}

extension Services {
  /// Tells the audit that a caller's uid is not the one of whom things are stored.
  fileprivate func withheld(_ error: UsherError, _ method: String, _ caller: Caller) -> UsherError {
    guard error.reason == .permissionDenied else { return error }
    return denied(error, PolicyRequest(method: method), caller, rule: "(owner)", unmet: [])
  }
}
