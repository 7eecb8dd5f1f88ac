import Glibc

/// The machine's users and groups, as the C library knows them (files, LDAP, …).
///
/// A look-up may go over the network: never from an event loop.
package enum SystemUsers {
  /// Nil where there is no group of that name.
  package static func groupID(named name: String) -> UInt32? {
    lookUp { (entry: UnsafeMutablePointer<group>, buffer, size, found) in
      getgrnam_r(name, entry, buffer, size, found)
    } read: {
      $0.gr_gid
    }
  }

  /// The names that the user database lists in a group.
  static func memberNames(of gid: UInt32) -> [String] {
    let names = lookUp { (entry: UnsafeMutablePointer<group>, buffer, size, found) in
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

  /// Nil where there is no user of that name.
  package static func userID(named name: String) -> UInt32? {
    if case .number(let uid) = number(ofUser: name) { uid } else { nil }
  }

  /// Tells a name that no user has apart from a look-up that failed, as far as the C library does.
  package static func number(ofUser name: String) -> UserNumberLookup {
    let found = attempt { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
      getpwnam_r(name, entry, buffer, size, found)
    } read: {
      $0.pw_uid
    }
    return switch found {
    case .found(let uid): .number(uid)
    case .nothing: .nobody
    case .failed(let error): .failed(error.words)
    }
  }

  /// Nil where the number has no name.
  package static func userName(of uid: UInt32) -> String? {
    switch user(of: uid) {
    case .named(let name): name
    case .nameless, .failed: nil
    }
  }

  /// Tells a number without a name apart from a look-up that failed, as far as the C library does: a
  /// directory that cannot be reached may count as one that does not know the number.
  package static func user(of uid: UInt32) -> UserLookup {
    let found = attempt { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
      getpwuid_r(uid, entry, buffer, size, found)
    } read: {
      $0.pw_name.map { String(cString: $0) }
    }
    return switch found {
    case .found(let name): .named(name)
    case .nothing: .nameless
    case .failed: .failed
    }
  }

  /// All groups of a user, the primary one first; none where the number has no name.
  package static func groupIDs(of uid: UInt32) -> [UInt32] {
    let found = lookUp { (entry: UnsafeMutablePointer<passwd>, buffer, size, found) in
      getpwuid_r(uid, entry, buffer, size, found)
    } read: { entry in
      entry.pw_name.map { (name: String(cString: $0), group: entry.pw_gid) }
    }
    guard let found else { return [] }
    // As many as the kernel lets a process have (NGROUPS_MAX, limits.h).
    var count = CInt(65_536)
    var groups = [gid_t](repeating: 0, count: Int(count))
    getgrouplist(found.name, found.group, &groups, &count)
    return Array(groups.prefix(Int(count)))
  }

  private typealias Call<Entry> = (
    UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
    UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
  ) -> CInt

  /// The `…_r` calls want a buffer of a size nobody knows: it is doubled until it does, up to 1
  /// MiB.
  private static func attempt<Entry, Value>(
    _ call: Call<Entry>, read: (Entry) -> Value?
  ) -> Attempt<Value> {
    let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
    defer { entry.deallocate() }
    var size = 1024
    while size <= 1 << 20 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      var found: UnsafeMutablePointer<Entry>?
      switch call(entry, buffer, size, &found) {
      case 0: return found.flatMap { read($0.pointee) }.map { .found($0) } ?? .nothing
      case ENOENT, ESRCH: return .nothing
      case EINTR: continue
      case ERANGE: size *= 2
      case let code: return .failed(Errno(code))
      }
    }
    return .failed(Errno(ERANGE))
  }

  private enum Attempt<Value> {
    case found(Value)
    case nothing
    case failed(Errno)
  }

  private static func lookUp<Entry, Value>(
    _ call: Call<Entry>, read: (Entry) -> Value?
  ) -> Value? {
    if case .found(let value) = attempt(call, read: read) { value } else { nil }
  }
}

/// What the user database says of a uid.
package enum UserLookup: Sendable, Equatable {
  case named(String)
  case nameless
  /// It did not answer.
  case failed
}

/// The answer of the user database to a look-up by name.
package enum UserNumberLookup: Sendable, Equatable {
  case number(UInt32)
  /// No user has the name.
  case nobody
  /// It did not answer, for this reason.
  case failed(String)
}
