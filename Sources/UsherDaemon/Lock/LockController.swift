import Logging
import Synchronization
import UsherAPI
import UsherCore
import UsherStore
import UsherSystem

/// Whether the daemon is locked, and what there is while it is not.
///
/// Locking, unlocking and the end come one after the other, each whole. Who asks meanwhile hears
/// `locked`.
final class LockController: Sendable {
  /// Seconds that providers have to finish an answer that is to be written yet.
  static let patience = Duration.seconds(5)

  private enum State {
    case open(UnlockedServices)
    /// Nothing is there, or on its way in or out.
    case locked
    /// For good: the daemon stops.
    case over
  }

  private enum Deed { case any }

  let processContext: ProcessContext
  private let state = Mutex(State.locked)
  private let changes = Atomic<Int>(0)
  private let turns = AsyncKeyedLock<Deed>()

  init(_ processContext: ProcessContext) { self.processContext = processContext }

  var unlocked: UnlockedServices? {
    state.withLock { if case .open(let unlocked) = $0 { unlocked } else { nil } }
  }

  /// Another number whenever it was locked, unlocked or ended. Costs one atomic read, for what is kept
  /// of ``unlocked`` and looked at with every call.
  var generation: Int { changes.load(ordering: .acquiring) }

  // MARK: Beginning and end

  /// Opens the store, and takes it up unless the daemon was locked when it ended. Nothing runs yet.
  ///
  /// - Throws: A sentence for the operator.
  func begin() async throws(UsherError) {
    try await turns.withLock(.any) { () throws(UsherError) in
      let bootstrap = try openStore(mayBeNew: true)
      BackupCopies(database: bootstrap.store.status.path, on: processContext.setting.disk).sweep()
      guard try bootstrap.isLocked else { return become(.open(try await take(bootstrap))) }
      await close(bootstrap)
      processContext.log.notice("locked, as it was before")
    }
  }

  private func openStore(mayBeNew: Bool) throws(UsherError) -> StoreBootstrap {
    let bootstrap = try StoreBootstrap(processContext.setting, mayBeNew: mayBeNew)
    if bootstrap.store.wasRecovered {
      processContext.log.notice(
        "opened by the recovery key; the master key opens it again from now on")
    }
    if bootstrap.store.wasUnproven {
      processContext.log.warning(
        """
        locked: a database of an earlier version does not show whether rows of it were deleted; \
        unlock it (usherctl unlock), and look at its accounts and its passcode
        """)
    }
    if !bootstrap.store.acceptedTables.isEmpty {
      processContext.log.warning(
        "accepted a database that was changed by something other than usherd; locked by it",
        metadata: ["tables": .string(bootstrap.store.acceptedTables.joined(separator: " "))])
    }
    processContext.audit.open(bootstrap.store.audit)
    return bootstrap
  }

  private func take(_ bootstrap: StoreBootstrap) async throws(UsherError) -> UnlockedServices {
    let unlocked = try await UnlockedServices.take(bootstrap, of: processContext)
    return unlocked
  }

  /// Closes what was opened and not taken up.
  private func close(_ bootstrap: StoreBootstrap) async {
    await processContext.audit.close()
    try? bootstrap.store.close()
  }

  /// Sets going what goes on by itself.
  func resume() async { await inTurn { unlocked?.resume() } }

  func sweep() async throws(UsherError) {
    try await turns.withLock(.any) { () throws(UsherError) in try await unlocked?.services.sweep() }
  }

  /// The daemon stops: in order, and not locked by it.
  func end() async {
    await inTurn {
      let last = unlocked
      become(.over)
      await last?.end(within: Self.patience)
      processContext.audit.end()
    }
  }

  // MARK: Locking

  /// Returns when nothing holds a secret any more, no connection's unread replies either.
  ///
  /// - Parameter tell: Told once it is remembered; not where it was locked already.
  /// - Throws: `storageUnavailable` where it cannot be remembered: then the daemon is not locked;
  ///   `shuttingDown`.
  func lock(_ tell: () -> Void = {}) async throws(UsherError) {
    try await turns.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      try await close(tell)
    }
  }

  /// What was open goes with this function's frame.
  private func close(_ tell: () -> Void) async throws(UsherError) {
    guard let unlocked else { return }
    try await unlocked.services.store.setLocked(true)
    FailPoint.reach("lock.after-marker")
    become(.locked)
    tell()
    await processContext.connections.dropUnread()
    await unlocked.end(within: Self.patience)
    processContext.setting.notifier.status(status)
    processContext.log.notice("locked")
  }

  /// - Parameters:
  ///   - check: Whether whoever asks may, as the store has it. It runs before anything is taken out
  ///     of the store.
  ///   - tell: Told why it came to nothing, before the store is closed.
  /// - Throws: What `check` throws, and why the store cannot be opened or taken up: the daemon stays
  ///   locked; `shuttingDown`.
  func unlock(
    _ check: (Store) async throws(UsherError) -> Void = { _ throws(UsherError) in },
    orElse tell: (UsherError) -> Void = { _ in }
  ) async throws(UsherError) {
    try await turns.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      guard unlocked == nil else { return }
      let bootstrap = try openStore(mayBeNew: false)
      do throws(UsherError) {
        try await check(bootstrap.store)
        try await open(bootstrap)
      } catch {
        tell(error)
        await close(bootstrap)
        throw error
      }
    }
  }

  /// What was opened in vain goes with this function's frame.
  private func open(_ bootstrap: StoreBootstrap) async throws(UsherError) {
    let unlocked = try await take(bootstrap)
    do throws(UsherError) {
      try await bootstrap.store.setLocked(false)
    } catch {
      await unlocked.end(within: .zero)
      throw error
    }
    become(.open(unlocked))
    unlocked.resume()
    processContext.setting.notifier.ready(status: status)
    processContext.log.notice("unlocked")
  }

  /// Runs `body` with what there is, while nothing is locked or unlocked; nothing else that asks for
  /// this runs meanwhile.
  ///
  /// - Parameter body: Gets nil while the daemon is locked.
  /// - Throws: `shuttingDown`; what `body` throws.
  func undisturbed<Value>(
    _ body: (UnlockedServices?) async throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await turns.withLock(.any) { () throws(UsherError) in
      try checkRunning()
      return try await body(unlocked)
    }
  }

  private func checkRunning() throws(UsherError) {
    let isOver = state.withLock { if case .over = $0 { true } else { false } }
    if isOver { throw UsherError(.shuttingDown, "usherd is stopping") }
  }

  private func become(_ next: State) {
    state.withLock { $0 = next }
    changes.add(1, ordering: .releasing)
  }

  private func inTurn(_ body: () async -> Void) async {
    do throws(UsherError) {
      try await turns.withLock(.any) { () throws(UsherError) in await body() }
    } catch {
      // It throws what its body throws: nothing.
    }
  }
}
