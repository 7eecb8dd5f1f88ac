package import UsherConfig
package import UsherSystem

/// The machine's users: files, LDAP, and so on. Each look-up may block for long.
package struct UserDatabase: Sendable {
  package var user: @Sendable (UInt32) -> UserLookup
  /// Whether the local password file has the uid, so that no other source decides about its name.
  package var isLocal: @Sendable (UInt32) -> Bool
  /// The users and groups that rules of the policy name.
  package var principals: PrincipalResolver
  /// Reads `/etc/subuid`; nil where the file is there and cannot be read.
  package var subordinates: @Sendable () -> SubordinateUsers?
  /// How long the name of a uid counts for connections that come later.
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
  /// As this machine knows them.
  package static let system = PrincipalResolver(
    user: { SystemUsers.userID(named: $0) }, group: { SystemUsers.groupID(named: $0) },
    groups: { SystemUsers.groupIDs(of: $0) }, members: { SystemUsers.memberIDs(of: $0) })
}
