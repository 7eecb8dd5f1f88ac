import CSystemd
import Glibc
import Synchronization
import UsherCore

/// Who is at the other end of a Unix socket, as the kernel says: never by what he writes.
///
/// Authorise by ``uid``, ``gid``, ``groups`` and ``identify()``; ``pid`` is for the audit only.
package final class Peer: Sendable {
  package let uid: UInt32
  package let gid: UInt32
  /// The supplementary groups he had when he connected.
  package let groups: [UInt32]
  /// 0 where he lives in a pid namespace we do not see.
  package let pid: Int32
  package let origin: Origin

  private let proc: String
  private let known = Mutex<Identity?>(nil)

  /// How sure we are which process it is.
  package enum Origin: Sendable {
    /// The kernel handed out the pidfd of the process that connected.
    case socket(ProcessDescriptor)
    /// An older kernel: the pidfd was opened by number at accept. Between connecting and that
    /// moment the number could have been given to another process of the same user.
    case number(ProcessDescriptor)
    /// He was gone already, or is out of our sight.
    case none
  }

  /// What his process is, beyond the user it runs as.
  package struct Identity: Sendable, Equatable {
    /// The systemd unit of the system instance, like `till.service`.
    package var unit: String?
    /// The path of his program, only where the kernel lets us read it and the path leads to that
    /// same file for us too.
    package var executable: String?

    package init(unit: String? = nil, executable: String? = nil) {
      self.unit = unit
      self.executable = executable
    }
  }

  private init(
    uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32, origin: Origin, proc: String
  ) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.pid = pid
    self.origin = origin
    self.proc = proc
  }

  /// The pidfd, if there is one.
  package var pidfd: ProcessDescriptor? {
    switch origin {
    case .socket(let descriptor), .number(let descriptor): descriptor
    case .none: nil
    }
  }

  package func isMember(of group: UInt32) -> Bool {
    gid == group || groups.contains(group)
  }
}

// MARK: - At accept

extension Peer {
  /// Reads who connected. Cheap and never waits: for the event loop, right after accept.
  ///
  /// - Parameters:
  ///   - fd: A connected Unix socket; it stays the caller's.
  ///   - proc: Where procfs is mounted.
  /// - Throws: `internalError` where the kernel does not say who it is.
  package static func read(fd: CInt, proc: String = "/proc") throws -> Peer {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
    let result = usher_peer_credentials(fd, &pid, &uid, &gid)
    // A socket without a peer yields uid and gid -1.
    guard result == 0, uid != .max else {
      throw Errno(result == 0 ? ENOTCONN : -result).explained("the kernel does not say who calls")
    }
    let origin: Origin =
      if let descriptor = ProcessDescriptor(peerOf: fd) {
        .socket(descriptor)
      } else if let descriptor = ProcessDescriptor(process: pid) {
        .number(descriptor)
      } else {
        .none
      }
    return Peer(
      uid: uid, gid: gid, groups: groups(fd: fd), pid: pid, origin: origin, proc: proc)
  }

  /// None where the kernel has no SO_PEERGROUPS (before 4.13): who has fewer groups may do less.
  private static func groups(fd: CInt) -> [UInt32] {
    var room = 32
    // The kernel says how many there are; 65,536 is its limit, so the second try fits.
    for _ in 0..<3 {
      var count = room
      var result: CInt = 0
      let groups = [UInt32](unsafeUninitializedCapacity: room) { buffer, initialized in
        result = usher_peer_groups(fd, buffer.baseAddress, &count)
        initialized = result == 0 ? min(count, room) : 0
      }
      if result == 0 { return groups }
      guard result == -ERANGE, count > room else { return [] }
      room = count
    }
    return []
  }
}

// MARK: - Beyond the uid

extension Peer {
  /// Looks up unit and program, once; later calls repeat the answer.
  ///
  /// What was read by number counts only if the process still runs afterwards: then the number was
  /// its own. A peer that has ended has no identity.
  package func identify() -> Identity {
    known.withLock { known in
      if let known { return known }
      let identity = lookUp()
      known = identity
      return identity
    }
  }

  private func lookUp() -> Identity {
    guard let pidfd, pid > 0 else { return Identity() }
    let identity = Identity(unit: unit(), executable: executable())
    return pidfd.isRunning && isStillHisNumber() ? identity : Identity()
  }

  private func unit() -> String? {
    let limit = 64 << 10
    guard let file = try? Descriptor.open("\(proc)/\(pid)/cgroup", O_RDONLY),
      let bytes = try? file.read(atMost: limit), bytes.count < limit
    else { return nil }
    return ControlGroup.systemUnit(in: String(decoding: bytes, as: UTF8.self))
  }

  /// A process in a mount namespace of its own can put any file at any path: so the path must lead
  /// to the running file in our own view.
  private func executable() -> String? {
    let link = "\(proc)/\(pid)/exe"
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(link, &buffer, buffer.count)
    guard count > 0, count < buffer.count,
      let path = String(
        validating: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self),
      path.hasPrefix("/")
    else { return nil }
    var running = stat()
    var named = stat()
    guard stat(link, &running) == 0, lstat(path, &named) == 0,
      running.st_dev == named.st_dev, running.st_ino == named.st_ino
    else { return nil }
    return path
  }

  /// On an older kernel: at least the user must be the one who connected.
  private func isStillHisNumber() -> Bool {
    switch origin {
    case .socket: return true
    case .number:
      var status = stat()
      return stat("\(proc)/\(pid)", &status) == 0 && status.st_uid == uid
    case .none: return false
    }
  }
}
