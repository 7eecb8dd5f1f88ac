package import UsherConfig
package import UsherSystem

/// Users of the machine, from files, LDAP and so on. Each look-up may block for long.
package struct UserDatabase: Sendable {
  package var user: @Sendable (UInt32) -> UserLookup
  /// Whether the local password file has the uid, so that no other source decides its name.
  package var isLocal: @Sendable (UInt32) -> Bool
  /// Resolves the users and groups that policy rules name.
  package var principals: PrincipalResolver
  /// Reads `/etc/subuid`; nil if the file exists and cannot be read.
  package var subordinates: @Sendable () -> SubordinateUsers?
  /// The time for which the name of a uid is valid for later connections.
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
  /// The resolver of this machine's users and groups.
  package static let system = PrincipalResolver(
    user: { SystemUsers.userID(named: $0) }, group: { SystemUsers.groupID(named: $0) },
    groups: { SystemUsers.groupIDs(of: $0) }, members: { SystemUsers.memberIDs(of: $0) })
}
