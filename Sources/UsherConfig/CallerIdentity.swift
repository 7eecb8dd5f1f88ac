package import UsherCore

/// Who is calling, as the kernel says; never a field the caller wrote.
package struct CallerIdentity: Sendable, Hashable {
  package var uid: UInt32
  package var gid: UInt32
  /// Supplementary groups.
  package var groups: [UInt32]
  /// The unit of the system instance; nil where it is not known or another manager's.
  package var unit: String?
  /// Nil where the kernel does not let the daemon read it.
  package var executable: String?
  /// False where the kernel does not tell the unit: it may be any.
  package var isUnitTold: Bool
  /// False where the kernel does not tell the program: it may be any.
  package var isExecutableTold: Bool
  /// The users that ``uid`` may be a subordinate id of (subuid(5)); none where it is no such id.
  package var subordinateTo: [SubordinateOwner]

  package init(
    uid: UInt32, gid: UInt32, groups: [UInt32] = [], unit: String? = nil, executable: String? = nil,
    isUnitTold: Bool = true, isExecutableTold: Bool = true,
    subordinateTo: [SubordinateOwner] = []
  ) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.unit = unit
    self.executable = executable
    self.isUnitTold = isUnitTold
    self.isExecutableTold = isExecutableTold
    self.subordinateTo = subordinateTo
  }

  func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}

/// How names of users and groups become numbers.
package struct PrincipalResolver: Sendable {
  /// Nil for a name nobody has.
  package var user: @Sendable (String) -> UInt32?
  package var group: @Sendable (String) -> UInt32?
  /// All groups of a user, the primary one first; none for a user the machine does not know.
  package var groups: @Sendable (UInt32) -> [UInt32]
  /// All users that the user database has in a group.
  package var members: @Sendable (UInt32) -> [UInt32]

  package init(
    user: @escaping @Sendable (String) -> UInt32?, group: @escaping @Sendable (String) -> UInt32?,
    groups: @escaping @Sendable (UInt32) -> [UInt32] = { _ in [] },
    members: @escaping @Sendable (UInt32) -> [UInt32] = { _ in [] }
  ) {
    self.user = user
    self.group = group
    self.groups = groups
    self.members = members
  }
}
