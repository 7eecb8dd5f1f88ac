import CSystemd
import Glibc
package import UsherCore

/// Who is at the other end of a Unix socket, as the kernel says when he is let in: never by what he
/// writes.
///
/// All of it holds as long as the connection, whatever becomes of the process and whoever else gets
/// hold of the socket. Authorise by ``uid``, ``gid``, ``groups`` and ``identity``; ``pid`` is for
/// the audit only.
package struct Peer: Sendable, Equatable {
  package let uid: UInt32
  package let gid: UInt32
  /// The supplementary groups he had when he connected.
  package let groups: [UInt32]
  /// 0 where he lives in a pid namespace we do not see.
  package let pid: Int32
  package let origin: Origin
  package let identity: Identity
  /// What of ``identity`` the kernel does not tell: nil there is not the same as none.
  package let unknown: Unknown

  package struct Unknown: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unit = Unknown(rawValue: 1 << 0)
    package static let executable = Unknown(rawValue: 1 << 1)
  }

  /// How sure we were which process it is.
  package enum Origin: Sendable {
    /// The kernel handed out the pidfd of the process that connected.
    case socket
    /// A kernel before 6.5: the pidfd was opened by number. Nothing shows where the number was given
    /// to another process of the same user between connecting and accept.
    case number
    /// He was gone already, or is out of our sight.
    case none
  }

  /// What his process is, beyond the user it runs as; all nil where he was gone when it was read.
  package struct Identity: Sendable, Equatable {
    /// The systemd unit of the system instance, like `till.service`.
    package var unit: String?
    /// 32 hexadecimal digits that tell one start of the unit from the next.
    package var invocation: String?
    /// The path of his control group in the unified hierarchy, from the root of the daemon's
    /// namespace on; of users' processes too.
    package var controlGroup: String?
    /// The path of his program, only where the kernel lets us read it and the path leads to that
    /// same file for us too.
    package var executable: String?

    package init(
      unit: String? = nil, invocation: String? = nil, controlGroup: String? = nil,
      executable: String? = nil
    ) {
      self.unit = unit
      self.invocation = invocation
      self.controlGroup = controlGroup
      self.executable = executable
    }
  }

  package func isMember(of group: UInt32) -> Bool {
    gid == group || groups.contains(group)
  }
}

// MARK: - At accept

extension Peer {
  /// Reads who connected. Never waits: for the event loop, right after accept.
  ///
  /// - Parameter fd: A connected Unix socket; it stays the caller's.
  /// - Throws: `internalError` where the kernel does not say who it is, also for want of
  ///   descriptors: whom we cannot tell, we do not serve.
  package static func read(fd: CInt) throws(UsherError) -> Peer {
    try read(fd: fd, kernel: Kernel())
  }

  /// The user who connected, and nothing else: to refuse him before more is asked.
  ///
  /// - Throws: As ``read(fd:)``.
  package static func user(fd: CInt) throws(UsherError) -> UInt32 { try credentials(fd: fd).uid }

  private static func credentials(
    fd: CInt
  ) throws(UsherError) -> (pid: Int32, uid: UInt32, gid: UInt32) {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
    let result = usher_peer_credentials(fd, &pid, &uid, &gid)
    // A socket without a peer yields uid and gid -1.
    guard result == 0, uid != .max else {
      throw Errno(result == 0 ? ENOTCONN : -result).explained("the kernel does not say who calls")
    }
    return (pid, uid, gid)
  }

  /// What the peer is read from.
  struct Kernel {
    /// Where procfs is mounted.
    var proc = "/proc"
    /// Where the system's manager says which start of a unit runs.
    var units = "/run/systemd/units"
    /// Whether to ask the socket for the pidfd, which kernels before 6.5 do not know.
    var hasPeerDescriptors = true
    /// Until when he has connected; nil: until now.
    var accepted: BootTick?
  }

  static func read(fd: CInt, kernel: Kernel) throws(UsherError) -> Peer {
    let (pid, uid, gid) = try credentials(fd: fd)
    var origin = Origin.none
    var found: (identity: Identity, unknown: Unknown)?
    do throws(Errno) {
      let accepted = kernel.accepted ?? .now()
      let handle = try descriptor(fd: fd, pid: pid, kernel)
      origin = handle.origin
      if let pidfd = handle.pidfd, pid > 0 {
        let process = try ProcessDirectory(pid, proc: kernel.proc)
        // The order matters. While the pidfd's process runs, its number is its own: so the directory,
        // which was opened before, is that process's.
        let isHis = handle.origin == .socket ? true : try process.isOf(uid, begunBy: accepted)
        if isHis {
          let seen = try process.identity(units: kernel.units)
          found = pidfd.isRunning ? seen : nil
        }
      }
    } catch {
      guard error.isAboutProcess else {
        throw error.explained("the process that calls cannot be looked up")
      }
    }
    return Peer(
      uid: uid, gid: gid, groups: try groups(fd: fd), pid: pid, origin: origin,
      identity: found?.identity ?? Identity(), unknown: found?.unknown ?? [.unit, .executable])
  }

  private static func descriptor(
    fd: CInt, pid: Int32, _ kernel: Kernel
  ) throws(Errno) -> (origin: Origin, pidfd: ProcessDescriptor?) {
    if kernel.hasPeerDescriptors {
      do throws(Errno) {
        return (.socket, try ProcessDescriptor(peerOf: fd))
      } catch {
        // Any other error is of a kernel that knows the question: the number says nothing then.
        guard error.code == ENOPROTOOPT else { throw error }
      }
    }
    return pid > 0 ? (.number, try ProcessDescriptor(process: pid)) : (.none, nil)
  }

  /// The most supplementary groups that a caller may have. The kernel allows 65,536, which a user with
  /// subordinate ids can have: to copy and look through them would cost each accept too much.
  package static let mostGroups = 1024

  /// None where the kernel has no SO_PEERGROUPS (before 4.13). A process can also drop groups: a rule
  /// by group holds by the user database as well.
  ///
  /// - Throws: `permissionDenied` for more than ``mostGroups``.
  private static func groups(fd: CInt) throws(UsherError) -> [UInt32] {
    var room = 32
    // The kernel says how many there are, so the second try fits.
    for _ in 0..<3 {
      var count = room
      var result: CInt = 0
      let groups = [UInt32](unsafeUninitializedCapacity: room) { buffer, initialized in
        result = usher_peer_groups(fd, buffer.baseAddress, &count)
        initialized = result == 0 ? min(count, room) : 0
      }
      if result == 0 { return groups }
      guard result == -ERANGE, count > room else { return [] }
      guard count <= mostGroups else {
        throw UsherError(
          .permissionDenied,
          "this process has \(count) groups: usherd serves those with at most \(mostGroups) "
            + "supplementary groups")
      }
      room = count
    }
    return []
  }
}

extension Errno {
  /// Whether it says something about the process asked for, and nothing about us: it is gone, not to
  /// be seen, or the kernel is too old.
  fileprivate var isAboutProcess: Bool { ![EMFILE, ENFILE, ENOMEM].contains(code) }
}
