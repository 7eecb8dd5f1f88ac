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

  /// Whether the local password file has this number: then no directory decides what its name is.
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
    // A longer line is no user's.
    let size = 64 << 10
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
      guard let text = buffer.baseAddress else { return }
      while fgetpwent_r(file, &entry, text, size, &found) == 0 { body(entry) }
    }
  }
}
