import CSystemd
import Glibc
package import UsherCore

/// The process at the other end of a Unix socket, as the kernel reports it when the connection is
/// accepted. Nothing in this value comes from bytes that the peer sends.
///
/// All values stay those of the process that connected, even if it ends or another process gets the
/// socket. Authorize by ``uid``, ``gid``, ``groups`` and ``identity``. Use ``pid`` only for the
/// audit.
package struct Peer: Sendable, Equatable {
  package let uid: UInt32
  package let gid: UInt32
  /// The supplementary groups at the time of the connection.
  package let groups: [UInt32]
  /// The process id, or 0 if the process is in a pid namespace that the daemon cannot see.
  package let pid: Int32
  package let origin: Origin
  package let identity: Identity

  /// How the process that connected was found.
  package enum Origin: Sendable {
    /// Through its pidfd, which the kernel recorded for the socket (SO_PEERPIDFD, Linux 6.5).
    case socket
    /// By its process id, on a kernel before 6.5. If another process of the same user got the id
    /// between connect and accept, that is not detected.
    case number
    /// Not found: the process was already gone or is not visible to the daemon.
    case none
  }

  /// The properties of the process beyond its user and groups. None is known if the process had
  /// ended before they were read.
  package struct Identity: Sendable, Equatable {
    /// The systemd unit of the process, such as `till.service`. Only units of the system manager.
    package var unit: String?
    /// The unit's invocation ID: 32 hexadecimal digits that identify one start of the unit.
    package var invocation: String?
    /// The path of the control group in the unified hierarchy, relative to the root of the daemon's
    /// control group namespace. Also present for processes that users started.
    package var controlGroup: String?
    /// The path of the executable file. Nil if the kernel does not let the daemon read the path, or
    /// if the path leads to a different file in the daemon's mount namespace.
    package var executable: String?
    /// Whether the unit could be determined. If it is nil nevertheless, the process has none.
    package var isUnitKnown = false
    /// Whether the executable could be determined. If it is nil nevertheless, it has no path in the
    /// daemon's mount namespace.
    package var isExecutableKnown = false

    package init(
      unit: String? = nil, invocation: String? = nil, controlGroup: String? = nil,
      executable: String? = nil, isUnitKnown: Bool = false, isExecutableKnown: Bool = false
    ) {
      self.unit = unit
      self.invocation = invocation
      self.controlGroup = controlGroup
      self.executable = executable
      self.isUnitKnown = isUnitKnown
      self.isExecutableKnown = isExecutableKnown
    }
  }

  package init(
    uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32, origin: Origin, identity: Identity
  ) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.pid = pid
    self.origin = origin
    self.identity = identity
  }

  package func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}

// MARK: - Reading the peer at accept

extension Peer {
  /// Reads the identity of the peer. Never blocks; call it on the event loop right after accept(2).
  ///
  /// - Parameter fd: A connected Unix socket. The caller keeps ownership.
  /// - Throws: `internalError` if the kernel does not identify the peer or the daemon has no
  ///   descriptors left, because an unidentified peer is not served. `permissionDenied` if the peer
  ///   has more than `maxGroups` supplementary groups.
  package static func read(fd: CInt) throws(UsherError) -> Peer {
    try read(fd: fd, kernel: Kernel())
  }

  /// Returns only the uid of the peer, so that a connection can be refused before anything else is
  /// read.
  ///
  /// - Throws: `internalError` if the kernel does not identify the peer.
  package static func user(fd: CInt) throws(UsherError) -> UInt32 { try credentials(fd: fd).uid }

  private static func credentials(
    fd: CInt
  ) throws(UsherError) -> (pid: Int32, uid: UInt32, gid: UInt32) {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
    let result = usher_peer_credentials(fd, &pid, &uid, &gid)
    // The kernel reports uid and gid -1 for a socket without a peer.
    guard result == 0, uid != .max else {
      throw Errno(result == 0 ? ENOTCONN : -result).explained(
        "the kernel does not identify the caller")
    }
    return (pid, uid, gid)
  }

  /// The places in the system from which the identity of a peer is read, replaceable in tests.
  struct Kernel {
    /// The mount point of procfs.
    var proc = "/proc"
    /// The directory in which the systemd system manager records which start (invocation) of a unit
    /// is running.
    var units = "/run/systemd/units"
    /// Whether to ask the socket for the pidfd, which kernels before 6.5 do not support.
    var hasPeerDescriptors = true
    /// The latest time at which the peer can have connected, or nil for the current time. A process
    /// that started later is a different one with a reused process id.
    var accepted: BootTick?
  }

  static func read(fd: CInt, kernel: Kernel) throws(UsherError) -> Peer {
    let (pid, uid, gid) = try credentials(fd: fd)
    var origin = Origin.none
    var identity = Identity()
    do throws(Errno) {
      let accepted = kernel.accepted ?? .now()
      let handle = try descriptor(fd: fd, pid: pid, kernel)
      origin = handle.origin
      if let pidfd = handle.pidfd, pid > 0 {
        let process = try ProcessDirectory(pid, proc: kernel.proc)
        // The order of the calls matters: the directory is opened first, and `isRunning` is checked
        // last. If the process of the pidfd still runs then, its id was not reused, so the
        // directory is that process's.
        let isOfUser = handle.origin == .socket ? true : try process.isOf(uid, begunBy: accepted)
        if isOfUser {
          let seen = try process.identity(units: kernel.units)
          if pidfd.isRunning { identity = seen }
        }
      }
    } catch {
      guard error.isAboutProcess else {
        throw error.explained("the calling process cannot be looked up")
      }
    }
    return Peer(
      uid: uid, gid: gid, groups: try groups(fd: fd), pid: pid, origin: origin, identity: identity)
  }

  private static func descriptor(
    fd: CInt, pid: Int32, _ kernel: Kernel
  ) throws(Errno) -> (origin: Origin, pidfd: ProcessDescriptor?) {
    if kernel.hasPeerDescriptors {
      do throws(Errno) {
        return (.socket, try ProcessDescriptor(peerOf: fd))
      } catch {
        // Any error but ENOPROTOOPT comes from a kernel that supports SO_PEERPIDFD. Then the
        // process id must not be used instead, because it may have been reused.
        guard error.code == ENOPROTOOPT else { throw error }
      }
    }
    return pid > 0 ? (.number, try ProcessDescriptor(process: pid)) : (.none, nil)
  }

  /// The most supplementary groups that a caller may have. The kernel allows 65,536, and a user
  /// with subordinate ids can have that many. Copying and searching them would make each accept too
  /// slow.
  package static let maxGroups = 1024

  /// Returns the supplementary groups of the peer (SO_PEERGROUPS).
  ///
  /// Empty if the kernel does not support the option (before 4.13). Because a process can also drop
  /// groups, the authorization rules that name a group consult the user database too.
  ///
  /// - Throws: `permissionDenied` for more than ``maxGroups``.
  private static func groups(fd: CInt) throws(UsherError) -> [UInt32] {
    var room = 32
    // If the buffer is too small, the kernel returns the required size, so the second attempt fits.
    for _ in 0..<3 {
      var count = room
      var result: CInt = 0
      let groups = [UInt32](unsafeUninitializedCapacity: room) { buffer, initialized in
        result = usher_peer_groups(fd, buffer.baseAddress, &count)
        initialized = result == 0 ? min(count, room) : 0
      }
      if result == 0 { return groups }
      guard result == -ERANGE, count > room else { return [] }
      guard count <= maxGroups else {
        throw UsherError(
          .permissionDenied,
          "the calling process has \(count) supplementary groups; usherd accepts at most "
            + "\(maxGroups)")
      }
      room = count
    }
    return []
  }
}

extension Errno {
  /// Whether the error concerns the peer's process: it is gone or not visible, or the kernel is too
  /// old. Other errors mean that the daemon has no descriptors or memory left.
  fileprivate var isAboutProcess: Bool { ![EMFILE, ENFILE, ENOMEM].contains(code) }
}
