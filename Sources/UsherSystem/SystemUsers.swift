import Glibc

/// The machine's users and groups, from the C library's name service: `/etc/passwd`, LDAP and
/// others, nsswitch.conf(5).
///
/// A look-up may go over the network, so it must not be made on an event loop.
package enum SystemUsers {
  /// Returns the gid of a group, or nil if there is no group with this name.
  package static func groupID(named name: String) -> UInt32? {
    try? lookUp { (entry: UnsafeMutablePointer<group>, buffer, size, found) in
      getgrnam_r(name, entry, buffer, size, found)
    } read: {
      $0.gr_gid
    }
  }

  /// Returns the names of the users that the user database lists in a group.
  static func memberNames(of gid: UInt32) -> [String] {
    let names = try? lookUp { (entry: UnsafeMutablePointer<group>, buffer, size, found) in
      getgrgid_r(gid, entry, buffer, size, found)
    } read: { entry in
      var names: [String] = []
      var member = entry.gr_mem
      while let name = member?.pointee {
        names.append(String(cString: name))
        member = member?.successor()
      }
      return names
    }
    return names ?? []
  }

  /// Returns the uid of a user, or nil if there is no user with this name.
  ///
  /// - Throws: The error of a failed look-up, as far as the C library distinguishes it from an
  ///   unknown name.
  package static func userID(named name: String) throws(Errno) -> UInt32? {
    try lookUp { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
      getpwnam_r(name, entry, buffer, size, found)
    } read: {
      $0.pw_uid
    }
  }

  /// Looks up the name of a uid. Distinguishes a uid without a name from a failed look-up, as far
  /// as the C library does: an unreachable directory service may look like an unknown uid.
  package static func user(of uid: UInt32) -> UserLookup {
    do throws(Errno) {
      let name = try lookUp { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
        getpwuid_r(uid, entry, buffer, size, found)
      } read: {
        $0.pw_name.map { String(cString: $0) }
      }
      return name.map { .named($0) } ?? .nameless
    } catch {
      return .failed
    }
  }

  /// Returns the gids of all groups of a user, the primary one first. Empty if the uid has no name
  /// in the user database.
  package static func groupIDs(of uid: UInt32) -> [UInt32] {
    let found = try? lookUp { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
      getpwuid_r(uid, entry, buffer, size, found)
    } read: { entry in
      entry.pw_name.map { (name: String(cString: $0), group: entry.pw_gid) }
    }
    guard let found else { return [] }
    // The most groups that the kernel allows for a process (NGROUPS_MAX, limits.h).
    var count = CInt(65_536)
    var groups = [gid_t](repeating: 0, count: Int(count))
    getgrouplist(found.name, found.group, &groups, &count)
    return Array(groups.prefix(Int(count)))
  }

  private typealias Call<Entry> = (
    UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
    UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
  ) -> CInt

  /// Calls a reentrant look-up function such as getpwnam_r(3) with a buffer that is doubled until
  /// it is large enough, up to 1 MiB.
  ///
  /// - Returns: What `read` makes of the entry; nil if there is none.
  private static func lookUp<Entry, Value>(
    _ call: Call<Entry>, read: (Entry) -> Value?
  ) throws(Errno) -> Value? {
    let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
    defer { entry.deallocate() }
    var size = 1024
    while size <= 1 << 20 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      var found: UnsafeMutablePointer<Entry>?
      switch call(entry, buffer, size, &found) {
      case 0: return found.flatMap { read($0.pointee) }
      case ENOENT, ESRCH: return nil
      case EINTR: continue
      case ERANGE: size *= 2
      case let code: throw Errno(code)
      }
    }
    throw Errno(ERANGE)
  }
}

/// The result of looking up the name of a uid.
package enum UserLookup: Sendable, Equatable {
  case named(String)
  case nameless
  /// The user database did not answer the look-up.
  case failed
}
