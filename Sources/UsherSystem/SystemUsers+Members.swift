import Glibc

extension SystemUsers {
  /// Returns the uids of a group's members: the users that the user database lists in the group,
  /// and the users in `/etc/passwd` who have it as their primary group.
  ///
  /// May look up names over the network, so it must not be called on an event loop.
  package static func memberIDs(of gid: UInt32) -> [UInt32] {
    let listed = memberNames(of: gid).compactMap { try? userID(named: $0) }
    return Array(Set(listed + localUserIDs(withPrimaryGroup: gid)))
  }

  /// Whether `/etc/passwd` contains this uid. If so, no remote directory (LDAP, …) decides which
  /// name the uid has.
  package static func isLocal(_ uid: UInt32) -> Bool {
    var isLocal = false
    forEachLocalUser { if $0.pw_uid == uid { isLocal = true } }
    return isLocal
  }

  private static func localUserIDs(withPrimaryGroup gid: UInt32) -> [UInt32] {
    var ids: [UInt32] = []
    forEachLocalUser { if $0.pw_gid == gid { ids.append($0.pw_uid) } }
    return ids
  }

  private static func forEachLocalUser(_ body: (passwd) -> Void) {
    guard let file = fopen("/etc/passwd", "re") else { return }
    defer { fclose(file) }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    // No valid line of `/etc/passwd` is longer than this buffer. A longer line ends the
    // enumeration.
    let size = 64 << 10
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
      guard let text = buffer.baseAddress else { return }
      while fgetpwent_r(file, &entry, text, size, &found) == 0 { body(entry) }
    }
  }
}
