package import UsherConfig
package import UsherSystem

/// The users of the machine, from `/etc/passwd`, LDAP and so on; see nsswitch.conf(5). Each look-up
/// may block for a long time.
package struct UserDatabase: Sendable {
  package var user: @Sendable (UInt32) -> UserLookup
  /// Whether `/etc/passwd` contains the uid, so that no other source decides which name the uid
  /// has.
  package var isLocal: @Sendable (UInt32) -> Bool
  /// Looks up the users and groups that policy rules name.
  package var principals: PrincipalResolver
  /// Reads `/etc/subuid`. Returns nil if the file exists and cannot be read.
  package var subordinates: @Sendable () -> SubordinateUsers?
  /// The time for which the name of a uid, once looked up, is used for later connections.
  package var nameHolds: Duration

  package init(
    user: @escaping @Sendable (UInt32) -> UserLookup,
    isLocal: @escaping @Sendable (UInt32) -> Bool = { _ in false },
    principals: PrincipalResolver = .system,
    subordinates: @escaping @Sendable () -> SubordinateUsers? = { .ofSystem() },
    nameHolds: Duration = .seconds(10)
  ) {
    self.user = user
    self.isLocal = isLocal
    self.principals = principals
    self.subordinates = subordinates
    self.nameHolds = nameHolds
  }

  package static let system = UserDatabase(
    user: { SystemUsers.user(of: $0) }, isLocal: { SystemUsers.isLocal($0) })
}

extension PrincipalResolver {
  /// The look-ups in this machine's user database.
  package static let system = PrincipalResolver(
    user: { try? SystemUsers.userID(named: $0) }, group: { SystemUsers.groupID(named: $0) },
    groups: { SystemUsers.groupIDs(of: $0) }, members: { SystemUsers.memberIDs(of: $0) })
}
