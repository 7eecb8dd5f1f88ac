import Logging
import Synchronization
import UsherAPI
import UsherCore
import UsherStore
import UsherSystem
import UsherTransport

/// Owner of the daemon's lock state and of the services that exist only while it is unlocked.
///
/// Locking, unlocking and shutdown run one at a time, each to completion. In the meantime RPC calls
/// are answered with `locked`.
final class LockController: Sendable {
  /// The time that providers have to finish their responses, which must still be stored, when the
  /// daemon is locked or stopped.
  static let shutdownGracePeriod = Duration.seconds(5)

  private enum State {
    case open(Services)
    /// The daemon is locked, or opening or closing the services is in progress.
    case locked
    /// The daemon stops. This state is final.
    case stopped
  }

  private enum TransitionKey { case any }

  let processContext: ProcessContext
  private let state = Mutex(State.locked)
  private let changes = Atomic<Int>(0)
  private let transitionLock = AsyncKeyedLock<TransitionKey>()

  init(_ processContext: ProcessContext) { self.processContext = processContext }

  /// The services; nil while the daemon is locked.
  var unlocked: Services? {
    state.withLock { if case .open(let unlocked) = $0 { unlocked } else { nil } }
  }

  /// A number that changes whenever the daemon is locked, unlocked or stopped. Reading it costs one
  /// atomic read, so that data cached from ``unlocked`` can be checked on every call.
  var generation: Int { changes.load(ordering: .acquiring) }

  // MARK: Beginning and end

  /// Opens the store and restores the services, unless the daemon was locked when its last process
  /// ended. No background work starts yet.
  ///
  /// - Throws: An error with a message for the operator.
  func begin() async throws(UsherError) {
    try await transitionLock.withLock(.any) { () throws(UsherError) in
      let bootstrap = try openStore(mayBeNew: true)
      BackupCopies(database: bootstrap.store.status.path, on: processContext.setting.disk).sweep()
      guard try bootstrap.store.isLocked else {
        return setState(.open(try await Services.start(bootstrap, of: processContext)))
      }
      await close(bootstrap)
      processContext.log.notice("usherd is locked, as it was before the start")
    }
  }

  private func openStore(mayBeNew: Bool) throws(UsherError) -> StoreBootstrap {
    let bootstrap = try StoreBootstrap(processContext.setting, mayBeNew: mayBeNew)
    if bootstrap.store.wasRecovered {
      processContext.log.notice(
        "the database was opened with the recovery key; the master key now opens it again")
    }
    if bootstrap.store.hasUnverifiableRows {
      processContext.log.warning(
        """
        usherd is locked: a database of an earlier version does not show whether rows were \
        deleted; unlock it (usherctl unlock), then check the accounts and the passcode
        """)
    }
    if !bootstrap.store.acceptedTables.isEmpty {
      processContext.log.warning(
        "accepted a database that was changed by something other than usherd; usherd is locked",
        metadata: ["tables": .string(bootstrap.store.acceptedTables.joined(separator: " "))])
    }
    processContext.audit.open(bootstrap.store.audit)
    return bootstrap
  }

  /// Closes a store from which no services were restored.
  private func close(_ bootstrap: StoreBootstrap) async {
    await processContext.audit.close()
    try? bootstrap.store.close()
  }

  /// Starts background work.
  func resume() async { await transitionLock.withLock(.any) { _ = unlocked?.resume() } }

  func sweep() async throws(UsherError) {
    try await transitionLock.withLock(.any) { () throws(UsherError) in
      try await unlocked?.sweep()
    }
  }

  /// Shuts the services down when the daemon stops. The daemon is not locked at its next start.
  func end() async {
    await transitionLock.withLock(.any) {
      let last = unlocked
      setState(.stopped)
      await last?.end(within: Self.shutdownGracePeriod)
      processContext.audit.end()
    }
  }

  // MARK: Locking

  /// Locks the daemon. Returns when no secret is in memory any more, including the replies that
  /// connections have cached or not sent.
  ///
  /// - Parameter report: Called once the lock is stored; not called if the daemon was already
  ///   locked.
  /// - Throws: `storageUnavailable` if the lock cannot be stored, in which case the daemon is not
  ///   locked; `shuttingDown`.
  func lock(_ report: () -> Void = {}) async throws(UsherError) {
    try await transitionLock.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      try await close(report)
    }
  }

  // The services are released when this function returns, so no reference to them may be kept.
  private func close(_ report: () -> Void) async throws(UsherError) {
    guard let unlocked else { return }
    try await unlocked.store.setLocked(true)
    FailPoint.reach("lock.after-marker")
    setState(.locked)
    report()
    await processContext.connections.dropUnread()
    await unlocked.end(within: Self.shutdownGracePeriod)
    processContext.setting.notifier.status(status)
    processContext.log.notice("locked")
  }

  /// Unlocks the daemon. Does nothing if it is not locked.
  ///
  /// - Parameters:
  ///   - check: Throws if the caller may not unlock. Runs before anything is restored.
  ///   - report: Called with the error of a failed unlock, before the store is closed.
  /// - Throws: Errors of `check`; the error if the store cannot be opened or restored, in which
  ///   case the daemon stays locked; `shuttingDown`.
  func unlock(
    _ check: (Store) async throws(UsherError) -> Void = { _ throws(UsherError) in },
    onFailure report: (UsherError) -> Void = { _ in }
  ) async throws(UsherError) {
    try await transitionLock.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      guard unlocked == nil else { return }
      let bootstrap = try openStore(mayBeNew: false)
      do throws(UsherError) {
        try await check(bootstrap.store)
        try await open(bootstrap)
      } catch {
        report(error)
        await close(bootstrap)
        throw error
      }
    }
  }

  // If this throws, the restored services are released, so that no secret stays in memory.
  private func open(_ bootstrap: StoreBootstrap) async throws(UsherError) {
    let unlocked = try await Services.start(bootstrap, of: processContext)
    do throws(UsherError) {
      try await bootstrap.store.setLocked(false)
    } catch {
      await unlocked.end(within: .zero)
      throw error
    }
    setState(.open(unlocked))
    unlocked.resume()
    processContext.setting.notifier.ready(status: status)
    processContext.log.notice("unlocked")
  }

  /// Runs `body` while no locking, unlocking or other call of this method is in progress.
  ///
  /// - Parameter body: Gets the services, or nil while the daemon is locked.
  /// - Throws: `shuttingDown`; errors of `body`.
  func withLockState<Value>(
    _ body: (Services?) async throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await transitionLock.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      return try await body(unlocked)
    }
  }

  private func checkRunning() throws(UsherError) {
    let isStopped = state.withLock { if case .stopped = $0 { true } else { false } }
    if isStopped { throw UsherError(.shuttingDown, "usherd is stopping") }
  }

  private func setState(_ next: State) {
    state.withLock { $0 = next }
    changes.add(1, ordering: .releasing)
  }
}
