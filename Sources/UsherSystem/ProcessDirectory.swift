import Glibc

/// A process in procfs, identified by its open directory `/proc/PID`.
///
/// Every file read below the open directory belongs to that process, or the read fails; a reused
/// process id has no effect. To know which process had the id when the directory was opened, check
/// afterwards that a pidfd of the process still runs.
struct ProcessDirectory: ~Copyable {
  private let directory: Descriptor

  /// Opens the directory of the process with this id.
  ///
  /// - Throws: `ENOENT` if there is no process with this id, or if it is hidden from the daemon.
  init(_ pid: Int32, proc: String) throws(Errno) {
    directory = try .open("\(proc)/\(pid)", O_RDONLY | O_DIRECTORY)
  }

  /// Whether the process runs as this user and started at or before the given time. If not, it is
  /// not the process that connected, but a later one with the same id.
  func isOf(_ uid: UInt32, begunBy moment: BootTick) throws(Errno) -> Bool {
    guard try directory.status().st_uid == uid, let begin = try begin() else { return false }
    return begin <= moment
  }

  /// Reads the systemd unit, the control group and the executable of the process.
  ///
  /// - Parameter units: The directory in which the systemd system manager records which start
  ///   (invocation) of a unit is running.
  func identity(units: String) throws(Errno) -> Peer.Identity {
    let group = try controlGroup()
    let unit = group.flatMap { ControlGroup.systemUnit(path: $0[...]) }
    let program = program
    // A control group path that begins with `/..` is outside the daemon's own control group
    // namespace and does not identify a unit.
    var identity = Peer.Identity(
      unit: unit, controlGroup: group, executable: program.path,
      isUnitKnown: group.map { !$0.hasPrefix("/..") } ?? false, isExecutableKnown: program.isTold)
    if let unit, let invocation = invocation(of: unit, in: units), try controlGroup() == group {
      identity.invocation = invocation
    }
    return identity
  }

  private func controlGroup() throws(Errno) -> String? {
    try text("cgroup").flatMap { ControlGroup.path(in: $0) }
  }

  /// The start time of the process, from `/proc/PID/stat`. The second field of that file is the
  /// program's name, which may contain any character, so parsing starts after the last parenthesis.
  private func begin() throws(Errno) -> BootTick? {
    guard let text = try text("stat"), let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].split(separator: " ")
    return fields.count > 20 ? UInt64(fields[20]).map(BootTick.init) : nil
  }

  /// The path of the executable file, and whether it could be determined.
  ///
  /// A process in its own mount namespace can put any file at any path. So the path is nil unless
  /// it leads to the running file in the daemon's mount namespace too.
  ///
  /// The path cannot be determined if the kernel does not let the daemon read it, or if the file
  /// was deleted, for example by a package upgrade.
  private var program: (path: String?, isTold: Bool) {
    var running = stat()
    var named = stat()
    guard let path = linkTarget(directory.raw, "exe"),
      fstatat(directory.raw, "exe", &running, 0) == 0, running.st_nlink > 0
    else { return (nil, false) }
    guard path.hasPrefix("/"), lstat(path, &named) == 0,
      running.st_dev == named.st_dev, running.st_ino == named.st_ino
    else { return (nil, true) }
    return (path, true)
  }

  private func invocation(of unit: String, in units: String) -> String? {
    let id = linkTarget(AT_FDCWD, "\(units)/invocation:\(unit)")
    return id.flatMap { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) ? $0 : nil }
  }

  /// Returns the text of a file in the process's directory. Nil if the file does not exist or has
  /// 64 KiB or more.
  private func text(_ name: String) throws(Errno) -> String? {
    let limit = 64 << 10
    let raw = openat(directory.raw, name, O_RDONLY | O_CLOEXEC)
    guard raw >= 0 else {
      if errno == ENOENT { return nil }
      throw .last
    }
    let bytes = try Descriptor(raw).read(atMost: limit)
    return bytes.count < limit ? String(decoding: bytes, as: UTF8.self) : nil
  }

  private func linkTarget(_ directory: CInt, _ path: String) -> String? {
    let room = Int(PATH_MAX) + 1
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { buffer in
      let count = buffer.withMemoryRebound(to: CChar.self) {
        $0.baseAddress.map { readlinkat(directory, path, $0, room) } ?? 0
      }
      guard count > 0, count < room else { return nil }
      return String(validating: buffer.prefix(count), as: UTF8.self)
    }
  }
}

/// A time since boot in units of 1/100 s, in which procfs states the start times of processes.
struct BootTick: Comparable, Sendable {
  let number: UInt64

  init(_ number: UInt64) { self.number = number }

  static func now() -> BootTick {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return BootTick(UInt64(time.tv_sec) * 100 + UInt64(time.tv_nsec) / 10_000_000)
  }

  static func < (left: BootTick, right: BootTick) -> Bool { left.number < right.number }
}
