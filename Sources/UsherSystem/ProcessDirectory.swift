import Glibc

/// One process in procfs, held by its directory.
///
/// What is read below it is of that process or fails: a number that is given away meanwhile leads to
/// nothing here. Whose the number was when the directory was opened, a pidfd says that still runs
/// afterwards.
struct ProcessDirectory: ~Copyable {
  private let directory: Descriptor

  /// - Throws: `ENOENT` where no process has this number, or it is hidden from us.
  init(_ pid: Int32, proc: String) throws(Errno) {
    directory = try .open("\(proc)/\(pid)", O_RDONLY | O_DIRECTORY)
  }

  /// Whether it runs as this user and has begun before that moment.
  func isOf(_ uid: UInt32, begunBy moment: BootTick) throws(Errno) -> Bool {
    guard try directory.status().st_uid == uid, let begin = try begin() else { return false }
    return begin <= moment
  }

  /// - Parameter units: Where the system's manager says which start of a unit runs.
  /// - Returns: Also what of it cannot be told, which is not the same as being none.
  func identity(
    units: String
  ) throws(Errno) -> (identity: Peer.Identity, unknown: Peer.Unknown) {
    let group = try controlGroup()
    let unit = group.flatMap { ControlGroup.systemUnit(path: $0[...]) }
    let program = program
    var identity = Peer.Identity(unit: unit, controlGroup: group, executable: program.path)
    if let unit, let invocation = invocation(of: unit, in: units), try controlGroup() == group {
      identity.invocation = invocation
    }
    var unknown: Peer.Unknown = []
    // A path that leads out of the daemon's own control group namespace tells no unit.
    if group.map({ $0.hasPrefix("/..") }) ?? true { unknown.insert(.unit) }
    if !program.isTold { unknown.insert(.executable) }
    return (identity, unknown)
  }

  private func controlGroup() throws(Errno) -> String? {
    try text("cgroup").flatMap { ControlGroup.path(in: $0) }
  }

  /// When it began. The second field is the program's name, which may contain anything.
  private func begin() throws(Errno) -> BootTick? {
    guard let text = try text("stat"), let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].split(separator: " ")
    return fields.count > 20 ? UInt64(fields[20]).map(BootTick.init) : nil
  }

  /// A process in a mount namespace of its own can put any file at any path: so the path must lead
  /// to the running file in our own view.
  ///
  /// The program cannot be told where the kernel does not let the daemon look, and where its file was
  /// deleted, as when a package is upgraded: then no path leads to it any more.
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

  /// Nil for a file that is not there or is longer than 64 KiB.
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

/// A moment in the kernel's hundredths of a second since boot: what procfs tells processes' begin in.
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
