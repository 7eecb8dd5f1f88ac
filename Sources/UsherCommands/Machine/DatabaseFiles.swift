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
  /// While it is there, the daemon makes no new database where there is none.
  private var draft: String { path + ".restoring" }
  private var draftLog: String { draft + "-wal" }

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

  /// Copies a backup, with its write-ahead log where it has one, to where the database is, under
  /// other names yet.
  ///
  /// - Throws: ``Failure`` for what is no backup, is the database itself, is being written, or cannot
  ///   be copied; `CancellationError`.
  func take(_ backup: String) throws {
    guard let (source, status) = try Durable.opened(backup) else {
      throw Failure("there is no \(backup)")
    }
    if let present = try Durable.status(path), present.isSame(as: status) {
      throw Failure("\(backup) is the database itself")
    }
    try Self.check(source, status)
    let sourceLog = try Durable.opened(backup + "-wal").flatMap { $0.status.st_size > 0 ? $0 : nil }
    do {
      drop()
      if let sourceLog { try copy(sourceLog.file, sourceLog.status, to: draftLog) }
      try copy(source, status, to: draft)
      let logNow = try Durable.status(backup + "-wal")
      guard try source.isAs(status), try sourceLog.map({ try $0.file.isAs($0.status) }) ?? true,
        sourceLog != nil || logNow?.st_size ?? 0 == 0
      else { throw Failure("\(backup) changed while it was read") }
    } catch {
      drop()
      throw error
    }
  }

  private func copy(_ source: OpenFile, _ status: stat, to name: String) throws {
    let copy = try Durable.createdAnew(name, of: try Durable.owner(of: directory))
    guard try source.copy(to: copy) == Int64(status.st_size) else {
      throw Failure("\(source.path) changed while it was read")
    }
    try copy.sync()
  }

  /// Forgets the backup that was taken and not put in place.
  func drop() {
    unlink(draft)
    unlink(draftLog)
  }

  /// Puts what was taken in the place of the database; where that fails, all is as it was.
  ///
  /// - Returns: Where the one before is now; nil where there was none.
  func exchange() throws -> String? {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    let hasLog = try Durable.status(draftLog) != nil
    let aside = try putAside(wholly: hasLog)
    do {
      // The log first, where nothing is that it could be taken for the log of.
      if hasLog { try Durable.rename(draftLog, log) }
      try Durable.rename(draft, path)
    } catch {
      if hasLog { try Durable.remove(log) }
      if let aside { try undo(aside) }
      throw error
    }
    return aside
  }

  /// - Parameter wholly: Whether nothing may stay under the database's name.
  private func putAside(wholly: Bool) throws -> String? {
    let present = try Durable.status(path)
    let presentLog = try Durable.status(log)
    guard present != nil || presentLog != nil else { return nil }
    if present == nil, let presentLog, let aside = try asideOf(presentLog) {
      // Somebody was killed here below, before the last step.
      try Durable.remove(log)
      return aside
    }
    let aside = try FreeName.beside(path, "before-restore", "-wal")
    do {
      let hasLog = presentLog?.st_size ?? 0 > 0
      if hasLog { try Durable.link(log, aside + "-wal") }
      if present != nil {
        if hasLog || wholly {
          try Durable.rename(path, aside)
        } else {
          try Durable.link(path, aside)
        }
      }
      for file in [log, memory] { try Durable.remove(file) }
    } catch {
      try undo(aside)
      throw error
    }
    return aside
  }

  /// The name by which a database was put aside whose log this is.
  private func asideOf(_ log: stat) throws -> String? {
    guard log.st_nlink > 1 else { return nil }
    for name in FreeName.names(beside: path, "before-restore") {
      guard let kept = try Durable.status(name + "-wal") else {
        if try Durable.status(name) == nil { return nil }
        continue
      }
      if try kept.isSame(as: log) && Durable.status(name) != nil { return name }
    }
    return nil
  }

  /// Puts the database back that was put aside, in the place of the one that does not open.
  func putBack(_ aside: String?) throws {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    guard let aside else { return try remove() }
    // What was to be the database is a draft again: see `draft`.
    if try Durable.status(aside + "-wal") != nil { try Durable.rename(path, draft) }
    for file in [log, memory] { try Durable.remove(file) }
    try undo(aside)
    drop()
  }

  /// Takes back a putting aside, wherever it ended. The log has two names until it is done.
  private func undo(_ aside: String) throws {
    if try Durable.status(aside + "-wal") != nil, try Durable.status(log) == nil {
      try Durable.link(aside + "-wal", log)
    }
    if let kept = try Durable.status(aside) {
      // Of two names of one file rename(2) takes none away.
      if let present = try Durable.status(path), present.isSame(as: kept) {
        try Durable.remove(aside)
      } else {
        try Durable.rename(aside, path)
      }
    }
    try Durable.remove(aside + "-wal")
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
