import Synchronization
import UsherCore
import UsherSystem

/// Look-ups in the user database, with a deadline.
///
/// A user database that hangs, such as LDAP without a server, delays no caller beyond the deadline.
/// Look-ups of the names of uids block at most one thread for each uid, and the functions of
/// ``run(within:_:)`` at most ``maxFunctions`` threads.
final class UserLookups: Sendable {
  /// The time for which a caller waits for a look-up.
  static let deadline = Duration.seconds(2)
  /// The error for RPC calls that need a look-up if the user database does not answer in time.
  static let noAnswer = UsherError(
    .overloaded, "the user database does not answer: try again", detail: .init(retryAfterMs: 2000))

  /// The maximum number of functions of ``run(within:_:)`` that run at the same time, including
  /// those that hang and whose callers no longer wait.
  private static let maxFunctions = 8

  private let database: UserDatabase
  private let blocking: any BlockingPool
  private let scheduler: any Scheduler
  private let executor: (any TaskExecutor)?
  private let pending = Mutex<[UInt32: PendingLookup<UserLookup>]>([:])
  private let functions = Mutex(0)

  init(
    in database: UserDatabase, on blocking: any BlockingPool, scheduler: any Scheduler,
    executor: (any TaskExecutor)?
  ) {
    self.database = database
    self.blocking = blocking
    self.scheduler = scheduler
    self.executor = executor
  }

  /// Looks up the name of a uid now. Returns `failed` after ``deadline``, or after twice that time
  /// if an earlier look-up of the same uid had to end first.
  func user(_ uid: UInt32) async -> UserLookup {
    // The look-up runs in a separate task, so that it continues if the calling task is cancelled.
    await Task(executorPreference: executor) { [self] () -> UserLookup in
      // If a look-up of this uid hangs, no second thread is used for it.
      if let earlier = pending.withLock({ $0[uid] }), await !hasEnded(earlier) { return .failed }
      let lookup = PendingLookup<UserLookup>()
      pending.withLock { $0[uid] = lookup }
      blocking.start { [self] in
        let found = database.user(uid)
        pending.withLock { if $0[uid] === lookup { $0[uid] = nil } }
        lookup.end(with: found)
      }
      return await hasEnded(lookup) ? lookup.found ?? .failed : .failed
    }.value
  }

  /// Returns the name of a user; nil if the uid has no name or the database did not answer in time.
  func name(of uid: UInt32) async -> String? {
    if case .named(let name) = await user(uid) { name } else { nil }
  }

  /// Returns the names of those uids that have one. Asks for one uid at a time, so that many uids
  /// do not block many threads, and stops at the first uid for which the database does not answer.
  func names(of uids: some Sequence<UInt32>) async -> [UInt32: String] {
    var names: [UInt32: String] = [:]
    for uid in uids {
      switch await user(uid) {
      case .named(let name): names[uid] = name
      case .nameless: break
      case .failed: return names
      }
    }
    return names
  }

  /// Runs a function that makes several look-ups, on a thread of its own.
  ///
  /// - Throws: ``noAnswer`` after `limit`, or at once if the task is cancelled; the function then
  ///   continues without its caller. ``noAnswer`` also if too many functions run already. Errors of
  ///   `body`.
  func run<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    let mayRun = functions.withLock { functions in
      guard functions < Self.maxFunctions else { return false }
      functions += 1
      return true
    }
    guard mayRun else { throw Self.noAnswer }
    let lookup = PendingLookup<Result<Value, UsherError>>()
    blocking.start { [self] in
      let result = Result { () throws(UsherError) in try body() }
      functions.withLock { $0 -= 1 }
      lookup.end(with: result)
    }
    await scheduler.wait(for: lookup.ended, atMost: limit)
    guard let result = lookup.found else { throw Self.noAnswer }
    return try result.get()
  }

  /// Waits for the end of a look-up until ``deadline``, and returns whether it has ended.
  private func hasEnded(_ lookup: PendingLookup<UserLookup>) async -> Bool {
    let latch = AsyncLatch()
    Task(executorPreference: executor) {
      await lookup.ended.wait()
      latch.open()
    }
    await scheduler.wait(for: latch, atMost: Self.deadline)
    return lookup.found != nil
  }
}

/// A look-up that may continue when its callers no longer wait.
private final class PendingLookup<Found: Sendable>: Sendable {
  let ended = AsyncLatch()
  private let answer = Mutex<Found?>(nil)

  /// The result of the look-up; nil until it has ended.
  var found: Found? { answer.withLock { $0 } }

  func end(with found: Found) {
    answer.withLock { $0 = found }
    ended.open()
  }
}
