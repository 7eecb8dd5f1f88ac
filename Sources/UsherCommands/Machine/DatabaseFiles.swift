import Glibc
import UsherCore

/// The database of a daemon that does not run, and what belongs to it.
///
/// Whoever is killed at any point here leaves every byte of the database there was: under its own
/// name, or under the one it was put aside by.
struct DatabaseFiles {
  /// SQLite's file format, § 1.3: its magic, and the daemon's `application_id` at 68.
  private static let magic = Array("SQLite format 3\0".utf8)
  private static let application: [UInt8] = [0x55, 0x73, 0x68, 0x72]

  let path: String

  private var log: String { path + "-wal" }
  private var memory: String { path + "-shm" }
  private var draft: String { path + ".restoring" }

  var directory: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Whether the file is a database of usherd's with nothing missing at its end.
  ///
  /// - Throws: ``Failure`` where not.
  static func check(_ file: OpenFile, _ status: stat) throws {
    let header = try file.read(atMost: 100)
    guard header.count == 100, header.starts(with: magic), Array(header[68..<72]) == application
    else { throw Failure("\(file.path) is no backup of usherd's") }
    let pageSize = Int64(header[16]) << 8 | Int64(header[17])
    let pages = header[28..<32].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    // 1 stands for 65536.
    guard Int64(status.st_size) >= pages * (pageSize == 1 ? 65_536 : pageSize) else {
      throw Failure("\(file.path) is cut short")
    }
  }

  /// Copies a backup to where the database is, under another name yet.
  ///
  /// - Throws: ``Failure`` for what is no backup, or cannot be copied; `CancellationError`.
  func take(_ backup: String) throws {
    guard let (source, status) = try Durable.opened(backup) else {
      throw Failure("there is no \(backup)")
    }
    try Self.check(source, status)
    do {
      let copy = try Durable.created(draft, of: try Durable.owner(of: directory))
      guard try source.copy(to: copy) == Int64(status.st_size) else {
        throw Failure("\(backup) changed while it was read")
      }
      try copy.sync()
    } catch {
      drop()
      throw error
    }
  }

  /// Forgets the backup that was taken and not put in place.
  func drop() { unlink(draft) }

  /// Puts what was taken in the place of the database.
  ///
  /// - Returns: Where the one before is now; nil where there was none.
  func exchange() throws -> String? {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    let aside = try putAside()
    try Durable.rename(draft, path)
    return aside
  }

  private func putAside() throws -> String? {
    guard try Durable.status(path) != nil || Durable.status(log) != nil else { return nil }
    let aside = try FreeName.beside(path, "before-restore")
    if try Durable.status(log)?.st_size ?? 0 > 0 {
      // The database first: without it the daemon does not take the log for anything else's.
      if try Durable.status(path) != nil { try Durable.rename(path, aside) }
      try Durable.rename(log, aside + "-wal")
    } else {
      guard link(path, aside) == 0 else { throw Durable.fault("\(path) cannot become \(aside)") }
      try Durable.remove(log)
    }
    try Durable.remove(memory)
    return aside
  }

  /// Puts the database back that was put aside, in the place of the one that does not open.
  func putBack(_ aside: String?) throws {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    guard let aside else { return try remove() }
    let hasLog = try Durable.status(aside + "-wal") != nil
    if hasLog { try remove() }
    for file in [log, memory] { try Durable.remove(file) }
    if hasLog { try Durable.rename(aside + "-wal", log) }
    try Durable.rename(aside, path)
  }

  private func remove() throws {
    for file in [path, log, memory] { try Durable.remove(file) }
  }
}

/// Keeps every usherd away from a database: the `flock` by which they keep each other away.
final class DatabaseLock {
  private var descriptor: CInt?

  /// - Throws: ``Failure`` where a usherd runs on it.
  init(of database: String) throws {
    let path = database + ".lock"
    let owner = try Durable.owner(of: DatabaseFiles(path: database).directory)
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
    var opened = open(path, flags | O_CREAT | O_EXCL, 0o600)
    if opened >= 0 {
      // The daemon has to be able to open it too.
      if geteuid() == 0 { fchown(opened, owner.user, owner.group) }
    } else {
      opened = open(path, flags)
    }
    guard opened >= 0 else { throw Durable.fault("\(path) cannot be opened") }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      close(opened)
      throw Failure("a usherd runs on \(database): stop it first")
    }
    descriptor = opened
  }

  deinit { release() }

  func release() {
    if let descriptor { close(descriptor) }
    descriptor = nil
  }
}
