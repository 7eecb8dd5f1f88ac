package import UsherCore

/// The identity of a caller as the kernel reports it. Nothing in it comes from the caller's
/// messages.
package struct CallerIdentity: Sendable, Hashable {
  package var uid: UInt32
  package var gid: UInt32
  /// The ids of the caller's supplementary groups.
  package var groups: [UInt32]
  /// The caller's systemd unit; nil if it is unknown or belongs to another manager than the
  /// system's.
  package var unit: String?
  /// The absolute path of the caller's program; nil if the kernel does not let the daemon read it.
  package var executable: String?
  /// Whether the kernel reports the caller's unit. If it does not, the caller may belong to any
  /// unit.
  package var isUnitKnown: Bool
  /// Whether the kernel reports the caller's program. If it does not, the caller may be any
  /// program.
  package var isExecutableKnown: Bool
  /// The users to whom ``uid`` may belong as a subordinate id (subuid(5)); empty if it is not such
  /// an id.
  package var subordinateTo: [SubordinateOwner]

  package init(
    uid: UInt32, gid: UInt32, groups: [UInt32] = [], unit: String? = nil, executable: String? = nil,
    isUnitKnown: Bool = true, isExecutableKnown: Bool = true,
    subordinateTo: [SubordinateOwner] = []
  ) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.unit = unit
    self.executable = executable
    self.isUnitKnown = isUnitKnown
    self.isExecutableKnown = isExecutableKnown
    self.subordinateTo = subordinateTo
  }

  func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}

/// Resolves names of users and groups to their numbers.
package struct PrincipalResolver: Sendable {
  /// Returns the uid of a user name; nil if there is no such user.
  package var user: @Sendable (String) -> UInt32?
  package var group: @Sendable (String) -> UInt32?
  /// Returns all groups of a user, the primary one first; empty if the user is unknown.
  package var groups: @Sendable (UInt32) -> [UInt32]
  /// Returns all users that the user database lists as members of a group.
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
