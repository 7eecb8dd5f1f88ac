import Logging
import UsherAPI
import UsherCore
import UsherStore

/// Revokes tokens that usherd deletes, and retries in the background while the provider is
/// unreachable.
///
/// Each revocation is stored as a note (``Revocation``) until the provider has answered or
/// ``Revocation/patience`` is over, and continues at the next start of the daemon. The audit log
/// records the outcome.
actor RevocationQueue {
  /// The maximum number of background revocations that one owner has requested. Beyond it, the
  /// reply says that the tokens are still valid and that the revocation is not retried. Revocations
  /// that an operator requests for users are not limited.
  static let maxPerOwner = 64

  /// The maximum pause between attempts, after pauses of 2, 4, 8, … seconds. The provider may ask
  /// for a longer one.
  static let maxPause = Duration.seconds(900)
  private static let firstPause = Duration.seconds(2)

  private let dependencies: Dependencies
  private let store: Store
  private let source: TokenSource
  private let record: AuditRecording?

  /// The tasks that retry revocations, by the revocation's id, each with the owner against whose
  /// limit it counts.
  private var running: [String: (owner: Owner?, task: Task<Void, Never>)] = [:]
  /// The revocations that ``restore()`` has loaded, until ``resume()`` starts them.
  private var restored: [Revocation] = []
  /// The first attempts in progress.
  private let attempts = WorkCounter()
  /// The timers of first attempts that the provider has deferred. A stop ends them.
  private let deferrals: DrainingScheduler
  private var isStopped = false

  typealias AuditRecording = @Sendable (AuditEvent, AuditedCaller) -> Void

  /// - Parameter record: Records an outcome in the audit log; nil if outcomes are not recorded.
  init(
    dependencies: Dependencies, store: Store, source: TokenSource, record: AuditRecording? = nil
  ) {
    self.dependencies = dependencies
    self.store = store
    self.source = source
    self.record = record
    deferrals = DrainingScheduler(dependencies.scheduler)
  }

  /// Asks the provider to revoke the tokens, and continues in the background if the provider is
  /// unreachable.
  ///
  /// Runs in a task of its own: cancelling the caller's task must not leave the tokens valid.
  ///
  /// - Parameter revocation: A revocation whose note is already on disk.
  func revoke(_ revocation: Revocation) async -> RevocationResult {
    await Task(executorPreference: dependencies.executor) { await self.begin(revocation) }.value
  }

  /// Revokes tokens in the background, without a result.
  ///
  /// - Parameter revocation: A revocation whose note is already on disk.
  func revokeInBackground(_ revocation: Revocation) async {
    guard mayRetry(revocation) else { return await end(revocation, as: .rateLimited) }
    startRetries(of: revocation, after: .zero, next: Self.firstPause)
  }

  /// Stores the note of a revocation and revokes the tokens in the background. For tokens that
  /// arrive when they are no longer needed.
  ///
  /// If the note cannot be stored, the tokens are revoked nevertheless, but a restart of the daemon
  /// ends the retries.
  func enqueue(_ revocation: Revocation) async {
    guard !revocation.tokens.isEmpty else { return }
    do throws(UsherError) {
      try await store.commitFromReserve([.putNote(try revocation.row())])
    } catch {
      dependencies.log.error(
        "the revocation of tokens cannot be stored: it ends if usherd restarts",
        metadata: logged(revocation).merging(["cause": .string(error.message)]) { $1 })
    }
    await revokeInBackground(revocation)
  }

  /// Loads the stored revocations. No request is sent yet.
  func restore() async throws(UsherError) {
    for note in try store.loadNotes(named: Revocation.notePrefix) {
      var revocation = try note.payload.decoded(as: Revocation.self)
      if revocation.restartIfClockWentBack(
        at: dependencies.clock.now(), dependencies.clock.bootTime())
      {
        await persist(revocation)
      }
      restored.append(revocation)
    }
  }

  /// Continues the revocations that ``restore()`` has loaded.
  func resume() {
    for revocation in restored { startRetries(of: revocation, after: .zero, next: Self.firstPause) }
    restored = []
  }

  /// Stops all retries. Stored revocations continue at the next start of the daemon.
  func stop() {
    isStopped = true
    deferrals.end()
    for entry in running.values { entry.task.cancel() }
    restored = []
  }

  /// Returns when the first attempts and the stopped retries have stored the outcomes of their
  /// requests in progress.
  func waitUntilIdle() async {
    while let entry = running.values.first { await entry.task.value }
    await attempts.waitUntilIdle()
  }

  private func mayRetry(_ revocation: Revocation) -> Bool {
    guard let owner = revocation.limitedOwner else { return true }
    return running.values.count { $0.owner == owner } < Self.maxPerOwner
  }

  private func begin(_ revocation: Revocation) async -> RevocationResult {
    attempts.begin()
    defer { attempts.end() }
    let attempt = await source.revoke(revocation, retryingBy: deferrals) { tokens in
      await self.persist(revocation.limited(to: tokens), isRotated: true)
    }
    var result = RevocationResult(revoked: attempt.outcome, living: attempt.living)
    let remaining = revocation.limited(to: attempt.unanswered)
    let left = timeLeft(of: remaining)
    guard left > .zero else {
      await deleteNote(of: revocation)
      return result
    }
    result.retriedUntil = dependencies.clock.now() + left
    // Also while the daemon is stopping.
    if remaining != revocation { await persist(remaining) }
    // The daemon is stopping: its next start continues from the note.
    guard !isStopped else { return result }
    guard mayRetry(revocation) else {
      result.retriedUntil = nil
      await end(remaining, as: .rateLimited)
      return result
    }
    startRetries(
      of: remaining, after: max(Self.firstPause, attempt.retryAfter ?? .zero),
      next: Self.firstPause * 2)
    return result
  }

  private func startRetries(of revocation: Revocation, after pause: Duration, next: Duration) {
    guard !isStopped else { return }
    let deadline = dependencies.clock.monotonicNow() + timeLeft(of: revocation)
    let task = Task(executorPreference: dependencies.executor) {
      await self.retry(revocation, until: deadline, pause, next)
    }
    running[revocation.id] = (revocation.limitedOwner, task)
  }

  private func timeLeft(of revocation: Revocation) -> Duration {
    let now = dependencies.clock.now()
    return min(
      revocation.timeLeft(at: now, dependencies.clock.bootTime()), revocation.lifetime(at: now))
  }

  private func retry(
    _ first: Revocation, until deadline: Timestamp, _ firstPause: Duration, _ secondPause: Duration
  ) async {
    defer { running[first.id] = nil }
    var revocation = first
    var pause = firstPause
    var next = secondPause
    while true {
      let left = min(
        deadline - dependencies.clock.monotonicNow(),
        revocation.lifetime(at: dependencies.clock.now()))
      // The provider is asked once more at the deadline, because the machine may have been
      // suspended until now.
      let isLast = pause >= left
      await dependencies.scheduler.pause(isLast ? max(left, .zero) : pause)
      guard !Task.isCancelled else { return }
      guard revocation.lifetime(at: dependencies.clock.now()) > .zero else {
        return await end(revocation, as: .deadlineExceeded)
      }
      // In a task of its own: a stop must not abort a request that may replace the refresh token.
      let attempt = await Task(executorPreference: dependencies.executor) {
        [source, revocation] in
        await source.revoke(revocation, retryingBy: nil) { tokens in
          await self.persist(revocation.limited(to: tokens), isRotated: true)
        }
      }.value
      // A missing provider is retried too: a reload may have removed it only for a moment.
      let remaining = revocation.limited(to: attempt.unanswered + attempt.notConfigured)
      guard !remaining.tokens.isEmpty else {
        return await end(revocation, as: attempt.failure)
      }
      // If the daemon is stopping, the attempt may have been aborted: the next start repeats it.
      if isLast, !isStopped {
        let isMissing = attempt.unanswered.isEmpty
        return await end(remaining, as: isMissing ? attempt.failure : .deadlineExceeded)
      }
      if remaining != revocation { await persist(remaining) }
      revocation = remaining
      pause = max(next, attempt.retryAfter ?? .zero)
      next = min(next * 2, Self.maxPause)
    }
  }

  /// Ends a revocation: records its outcome and deletes its note.
  ///
  /// - Parameter failure: The reason why tokens may still be valid; nil if all are revoked.
  private func end(_ revocation: Revocation, as failure: UsherError.Reason?) async {
    record?(
      AuditEvent(
        method: "token.revocation", provider: revocation.provider, account: revocation.account,
        decision: .allowed, rule: "(usherd)", failure: failure, correlationID: ""),
      revocation.asker.audited)
    let metadata = logged(revocation)
    if let failure {
      dependencies.log.warning(
        "deleted tokens may still be valid: the provider did not revoke them",
        metadata: metadata.merging(["reason": .string(failure.rawValue)]) { $1 })
    } else {
      dependencies.log.notice(
        "the provider has revoked tokens that were deleted earlier", metadata: metadata)
    }
    await deleteNote(of: revocation)
  }

  private func logged(_ revocation: Revocation) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["provider": .string(revocation.provider.rawValue)]
    metadata["account"] = revocation.account.map { .string($0.rawValue) }
    return metadata
  }

  /// Deletes the note of a revocation. If that fails, the next start asks the provider once more,
  /// which has no effect on tokens that are already revoked (RFC 7009 §2.2).
  private func deleteNote(of revocation: Revocation) async {
    try? await store.commit([.deleteNote(revocation.noteName)])
  }

  /// Stores what is left of a revocation. If that fails, the earlier note stays: a restart of the
  /// daemon then continues with its tokens.
  ///
  /// - Parameter isRotated: Whether the provider has replaced the refresh token. Only then the
  ///   reserved disk space is used, since without it the earlier note does as well.
  private func persist(_ revocation: Revocation, isRotated: Bool = false) async {
    do throws(UsherError) {
      let changes = [Change.putNote(try revocation.row())]
      try await isRotated ? store.commitFromReserve(changes) : store.commit(changes)
    } catch {
      dependencies.log.error(
        "the progress of a revocation cannot be stored: tokens may stay valid if usherd restarts",
        metadata: logged(revocation).merging(["cause": .string(error.message)]) { $1 })
    }
  }
}

extension Revocation {
  /// The owner against whose limit the revocation counts; nil if an operator requested it for a
  /// user's account.
  fileprivate var limitedOwner: Owner? {
    owner.client != nil || asker.uid == owner.uid ? owner : nil
  }

  fileprivate func limited(to tokens: [Token]) -> Revocation {
    var remaining = self
    remaining.tokens = tokens
    return remaining
  }
}

extension RevocationAttempt {
  /// The reason for the audit log if not all tokens are revoked; nil if they are.
  fileprivate var failure: UsherError.Reason? {
    let reasons = living.map(\.why)
    if reasons.isEmpty { return nil }
    return reasons.contains(.notConfigured) ? .notFound : .providerRejected
  }
}
