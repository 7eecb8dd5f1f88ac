import Synchronization
package import UsherSystem

/// The machine's users: files, LDAP, and so on. Each look-up may block for long.
package struct UserDatabase: Sendable {
  package var user: @Sendable (UInt32) -> UserLookup
  /// Whether the local password file has the uid, so that no other source decides about its name.
  package var isLocal: @Sendable (UInt32) -> Bool
  /// How long the name of a uid counts for connections that come later.
  package var nameHolds: Duration

  package init(
    user: @escaping @Sendable (UInt32) -> UserLookup,
    isLocal: @escaping @Sendable (UInt32) -> Bool = { _ in false },
    nameHolds: Duration = .seconds(10)
  ) {
    self.user = user
    self.isLocal = isLocal
    self.nameHolds = nameHolds
  }

  package static let system = UserDatabase(
    user: { SystemUsers.user(of: $0) }, isLocal: { SystemUsers.isLocal($0) })
}

/// One look-up, which may outlast those who wait for it.
final class UserLookingUp: Sendable {
  private let answer = Mutex<UserLookup?>(nil)
  private let over = Gate()

  /// `failed` as long as it is under way.
  var found: UserLookup { answer.withLock { $0 } ?? .failed }

  func end(_ found: UserLookup) {
    answer.withLock { $0 = found }
    over.open()
  }

  /// Returns whether it has ended, after so long at the latest.
  func ends(within limit: Duration, _ alarms: any Alarms) async -> Bool {
    let either = Gate()
    let alarm = alarms.after(limit) { either.open() }
    Task {
      await over.pass()
      either.open()
    }
    await either.pass()
    alarm.cancel()
    return answer.withLock { $0 } != nil
  }
}
