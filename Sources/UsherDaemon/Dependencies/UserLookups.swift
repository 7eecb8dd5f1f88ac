import Synchronization
import UsherCore
import UsherSystem

/// Look-ups in the user database, with a deadline.
///
/// A user database that hangs, such as LDAP without a server, delays no caller beyond the deadline.
/// Look-ups of the names of uids block one thread for each uid, and other functions
/// ``mostFunctions`` threads.
final class UserLookups: Sendable {
  /// The time for which a caller waits for the user database.
  static let deadline = Duration.seconds(2)
  /// Error for calls that need an answer if the user database gives none.
  static let noAnswer = UsherError(
    .overloaded, "the user database does not answer: try again", detail: .init(retryAfterMs: 2000))

  /// The maximum number of functions that run at the same time, including those that hang without
  /// a caller.
  private static let mostFunctions = 8

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

  /// Returns the user database's present answer; `failed` after ``deadline``, or after twice that
  /// if an earlier look-up of the uid ended meanwhile.
  func user(_ uid: UInt32) async -> UserLookup {
    // Use a separate task, so that the look-up continues if the calling task is cancelled.
    await Task(executorPreference: executor) { [self] () -> UserLookup in
      // A look-up that hangs does not get a second thread.
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

  /// Returns the user's name; nil if the user has none or the database did not answer in time.
  func name(of uid: UInt32) async -> String? {
    if case .named(let name) = await user(uid) { name } else { nil }
  }

  /// Returns the names that the database knows. It asks for one uid at a time, so that many uids do
  /// not block many threads, and stops at the first uid for which there is no answer.
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
  ///   goes on without its caller. ``noAnswer`` at once if too many functions run. Errors of
  ///   `body`.
  func run<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    let mayRun = functions.withLock { functions in
      guard functions < Self.mostFunctions else { return false }
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

  /// Waits for a look-up until ``deadline``, and returns whether it has ended.
  private func hasEnded(_ lookup: PendingLookup<UserLookup>) async -> Bool {
    let either = AsyncLatch()
    Task(executorPreference: executor) {
      await lookup.ended.wait()
      either.open()
    }
    await scheduler.wait(for: either, atMost: Self.deadline)
    return lookup.found != nil
  }
}

/// Look-up that may outlast its callers.
private final class PendingLookup<Found: Sendable>: Sendable {
  let ended = AsyncLatch()
  private let answer = Mutex<Found?>(nil)

  /// The result; nil until the look-up has ended.
  var found: Found? { answer.withLock { $0 } }

  func end(with found: Found) {
    answer.withLock { $0 = found }
    ended.open()
  }
}
