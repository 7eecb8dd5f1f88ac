import Synchronization
import UsherCore
import UsherSystem

/// The subordinate ids of the machine's users, as read last from `/etc/subuid`; one per daemon.
final class SubordinateUserMap: Sendable {
  enum ReadResult: Sendable, Equatable {
    case done
    /// Some entries of the file could not be read, and this has not been reported yet. The other
    /// entries apply.
    case partial(SubordinateUsers.Gaps)
    /// The file exists and cannot be read. The earlier map is kept.
    case unreadable
    /// The user database has not answered in time. The earlier map is kept until it does.
    case timedOut
    /// The task was cancelled before the user database answered; the earlier map is kept until it
    /// does.
    case cancelled
  }

  private let users = Mutex(SubordinateUsers.unread)
  private let reported = Mutex(SubordinateUsers.Gaps())
  private let isReading = Atomic<Bool>(false)
  private let isReadable = Atomic<Bool>(true)

  var current: SubordinateUsers { users.withLock { $0 } }

  /// Reads `/etc/subuid`. If the user database hangs, one thread is blocked, and this method
  /// returns after `limit`.
  func read(within limit: Duration, in dependencies: Dependencies) async -> ReadResult {
    guard !isReading.exchange(true, ordering: .acquiringAndReleasing) else { return .timedOut }
    let finished = AsyncLatch()
    Task(executorPreference: dependencies.executor) { [self] in
      let found = await dependencies.blocking.run(dependencies.users.subordinates)
      if let found { apply(found) }
      isReadable.store(found != nil, ordering: .releasing)
      isReading.store(false, ordering: .releasing)
      finished.open()
    }
    await dependencies.scheduler.wait(for: finished, atMost: limit)
    guard !isReading.load(ordering: .acquiring) else {
      return Task.isCancelled ? .cancelled : .timedOut
    }
    guard isReadable.load(ordering: .acquiring) else { return .unreadable }
    return unreportedGaps().map { .partial($0) } ?? .done
  }

  /// Returns the entries of the file that could not be read if they differ from the last report.
  private func unreportedGaps() -> SubordinateUsers.Gaps? {
    let gaps = current.gaps
    return reported.withLock { reported in
      guard reported != gaps else { return nil }
      reported = gaps
      return gaps.isEmpty ? nil : gaps
    }
  }

  /// Replaces the map. An equal map keeps the existing instance, which is cheap to compare with
  /// itself.
  func apply(_ users: SubordinateUsers) { self.users.withLock { if $0 != users { $0 = users } } }

  /// Returns the user whose limits apply to a subordinate id; nil for an id that is in no range.
  func user(ofSubordinate uid: UInt32) -> UInt32? {
    users.withLock { $0.user(ofSubordinate: uid) }
  }

  /// Returns all users whose ranges contain a subordinate id; empty if there are none.
  func owners(ofSubordinate uid: UInt32) -> [SubordinateOwner] {
    users.withLock { $0.owners(ofSubordinate: uid) }
  }
}
