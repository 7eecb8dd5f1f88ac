import Glibc

extension SystemUsers {
  /// The users that the user database has in a group: those it lists there, and those of the local
  /// password file whose primary group it is.
  ///
  /// May look up names over the network: never on an event loop.
  package static func memberIDs(of gid: UInt32) -> [UInt32] {
    let listed = memberNames(of: gid).compactMap { userID(named: $0) }
    return Array(Set(listed + localUserIDs(withPrimaryGroup: gid)))
  }

  private static func localUserIDs(withPrimaryGroup gid: UInt32) -> [UInt32] {
    guard let file = fopen("/etc/passwd", "re") else { return [] }
    defer { fclose(file) }
    var ids: [UInt32] = []
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    // A longer line is no user's.
    let size = 64 << 10
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
      guard let text = buffer.baseAddress else { return }
      while fgetpwent_r(file, &entry, text, size, &found) == 0 {
        if entry.pw_gid == gid { ids.append(entry.pw_uid) }
      }
    }
    return ids
  }
}
