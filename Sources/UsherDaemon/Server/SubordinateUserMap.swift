import Synchronization
import UsherSystem

/// The subordinate ids of this machine's users as they were last read. One for the whole daemon.
final class SubordinateUserMap: Sendable {
  enum Reading: Sendable {
    case done
    /// The file is there and cannot be read; the earlier map holds.
    case unreadable
    /// The user database has not answered in time; the earlier map holds until it does.
    case late
    /// The task was cancelled before there was an answer; the earlier map holds until there is one.
    case cancelled
  }

  private let users = Mutex(SubordinateUsers())
  private let isReading = Atomic<Bool>(false)
  private let isReadable = Atomic<Bool>(true)

  var current: SubordinateUsers { users.withLock { $0 } }

  /// Reads `/etc/subuid`. A user database that hangs holds up one thread and nobody who waits here.
  ///
  /// - Parameter source: Nil where the file is there and cannot be read.
  func read(
    within limit: Duration, _ alarms: any Alarms,
    from source: @escaping @Sendable () -> SubordinateUsers? = { SubordinateUsers.ofSystem() }
  ) async -> Reading {
    guard !isReading.exchange(true, ordering: .acquiringAndReleasing) else { return .late }
    let over = Gate()
    let alarm = alarms.after(limit) { over.open() }
    Task {
      let found = await Aside.run(source)
      if let found { apply(found) }
      isReadable.store(found != nil, ordering: .releasing)
      isReading.store(false, ordering: .releasing)
      over.open()
    }
    await over.pass()
    alarm.cancel()
    guard !isReading.load(ordering: .acquiring) else {
      return Task.isCancelled ? .cancelled : .late
    }
    return isReadable.load(ordering: .acquiring) ? .done : .unreadable
  }

  /// An equal map leaves the one in force, which then is compared with itself only, at no cost.
  func apply(_ users: SubordinateUsers) { self.users.withLock { if $0 != users { $0 = users } } }

  /// The user that a subordinate id belongs to; nil for an id that is in no range.
  func user(ofSubordinate uid: UInt32) -> UInt32? {
    users.withLock { $0.user(ofSubordinate: uid) }
  }
}
