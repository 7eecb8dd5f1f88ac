import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Implementation of `system.lock` and `system.unlock`.
///
/// Once begun, locking or unlocking runs to its end, even if the caller disconnects.
struct LockService: Sendable {
  let lockController: LockController

  private var processContext: ProcessContext { lockController.processContext }

  func lock(_ call: AuthorizedCall) async throws(UsherError) -> Done {
    try processContext.audit.admit()
    return try await toTheEnd { () throws(UsherError) in
      do throws(UsherError) {
        try await lockController.lock { call.succeeded() }
      } catch {
        throw call.failed(error)
      }
    }
  }

  func unlock(_ unlock: SystemUnlock, _ call: AuthorizedCall) async throws(UsherError) -> Done {
    // Allowed even if the audit log's buffer is full: it can only be written after the unlock.
    let caller = call.caller
    if !caller.isAdmin, unlock.passcode == nil {
      throw call.failed(
        UsherError(.invalidParams, "the passcode is required to unlock", field: "passcode"))
    }
    let passcode = caller.isAdmin ? nil : unlock.passcode?.secret
    return try await toTheEnd { () throws(UsherError) in
      var failure: UsherError?
      do throws(UsherError) {
        try await lockController.unlock { store throws(UsherError) in
          if let passcode { try await check(passcode, caller, in: store) }
        } onFailure: { error in
          failure = call.failed(error)
        }
      } catch {
        throw failure ?? call.failed(error)
      }
      call.succeeded()
    }
  }

  private func toTheEnd(
    _ body: @escaping @Sendable () async throws(UsherError) -> Void
  ) async throws(UsherError) -> Done {
    let task = Task(executorPreference: processContext.dependencies.executor) {
      await Result(awaiting: body)
    }
    try await task.value.get()
    return Done()
  }

  /// Checks a passcode of the caller's user for `system.unlock`. A wrong one counts towards the
  /// lockout as in any other passcode check.
  private func check(
    _ passcode: Secret, _ caller: Caller, in store: Store
  ) async throws(UsherError) {
    let dependencies = processContext.dependencies
    let owners = OwnerRegistry(dependencies: dependencies, store: store)
    try owners.restore()
    // Nothing may be written for the caller while the daemon is locked, so the user's identity is
    // checked but not recorded.
    try await owners.verify(caller, andRecord: false)
    let service = LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store),
      reader: processContext.setting.fingerprints(), rounds: processContext.setting.passcodeRounds)
    try service.restore()
    let outcome = await service.check(passcode, of: caller.person)
    guard outcome != .accepted else { return }
    throw outcome.refusal(
      "the passcode", field: "passcode", at: dependencies.clock.now(),
      ifNotEnrolled: UsherError(
        .permissionDenied,
        "you have no passcode; the operator can run: usherctl unlock --admin", field: "passcode"))
  }
}
