import Glibc
import UsherCore

/// Replaces the database of a stopped daemon, with its write-ahead log, by a backup.
///
/// If usherctl is killed at any point, every byte of the previous database still exists, under its
/// own name or under the name to which it was moved.
struct DatabaseFiles {
  /// SQLite's magic string. ``check(_:_:)`` also compares the daemon's `application_id` at offset
  /// 68 (SQLite file format, § 1.3).
  private static let magic = Array("SQLite format 3\0".utf8)
  private static let application: [UInt8] = [0x55, 0x73, 0x68, 0x72]

  let path: String

  private var log: String { path + "-wal" }
  private var memory: String { path + "-shm" }
  /// The path of the copy of the backup. While the copy exists, the daemon does not create a
  /// missing database.
  private var draft: String { path + ".restoring" }
  private var draftLog: String { draft + "-wal" }

  var directory: String { path.parentDirectory }

  /// Checks that a file is a complete database of the daemon.
  ///
  /// - Throws: ``CommandFailure`` if it is not.
  static func check(_ file: OpenFile, _ status: stat) throws {
    let header = try file.read(atMost: 100)
    guard header.count == 100, header.starts(with: magic), Array(header[68..<72]) == application
    else { throw CommandFailure("\(file.path) is not a backup of a usherd database") }
    let pageSize = Int64(header[16]) << 8 | Int64(header[17])
    let pages = header[28..<32].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    // The header of a database encodes a page size of 65536 as 1.
    guard Int64(status.st_size) >= pages * (pageSize == 1 ? 65_536 : pageSize) else {
      throw CommandFailure("\(file.path) is truncated")
    }
  }

  /// Copies a backup, with its write-ahead log if there is one, to draft names next to the
  /// database.
  ///
  /// - Throws: ``CommandFailure`` if the file is not a backup, is the database itself, changes
  ///   meanwhile or cannot be copied; `CancellationError`.
  func copyBackup(_ backup: String) throws {
    guard let (source, status) = try Durable.openFile(backup) else {
      throw CommandFailure("\(backup) does not exist")
    }
    if let present = try Durable.status(path), present.isSame(as: status) {
      throw CommandFailure("\(backup) is the database itself; name a backup")
    }
    try Self.check(source, status)
    let sourceLog = try Durable.openFile(backup + "-wal").flatMap {
      $0.status.st_size > 0 ? $0 : nil
    }
    do {
      discardCopy()
      if let sourceLog { try copy(sourceLog.file, sourceLog.status, to: draftLog) }
      try copy(source, status, to: draft)
      let logNow = try Durable.status(backup + "-wal")
      guard try source.isUnchanged(since: status),
        try sourceLog.map({ try $0.file.isUnchanged(since: $0.status) }) ?? true,
        sourceLog != nil || logNow?.st_size ?? 0 == 0
      else { throw CommandFailure("\(backup) changed while it was read; try again") }
    } catch {
      discardCopy()
      throw error
    }
  }

  private func copy(_ source: OpenFile, _ status: stat, to name: String) throws {
    let copy = try Durable.recreateFile(name, of: try Durable.owner(of: directory))
    guard try source.copy(to: copy) == Int64(status.st_size) else {
      throw CommandFailure("\(source.path) changed while it was read; try again")
    }
    try copy.sync()
  }

  /// Deletes the copy of a backup that has not replaced the database.
  func discardCopy() {
    unlink(draft)
    unlink(draftLog)
  }

  /// Replaces the database by the copy of the backup; restores the previous state on failure.
  ///
  /// - Returns: The new path of the previous database; nil if there was none.
  func replaceDatabase() throws -> String? {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    let hasLog = try Durable.status(draftLog) != nil
    let movedPath = try moveAside(exclusively: hasLog)
    do {
      // The log is renamed first, while no other database exists to which it could be applied.
      if hasLog { try Durable.rename(draftLog, log) }
      try Durable.rename(draft, path)
    } catch {
      if hasLog { try Durable.remove(log) }
      if let movedPath { try undoMove(movedPath) }
      throw error
    }
    return movedPath
  }

  /// Moves the database to a name that is not used yet.
  ///
  /// - Parameter exclusively: Whether the database has to lose its own name at once. If not, it
  ///   only gets a second name until it is replaced.
  private func moveAside(exclusively: Bool) throws -> String? {
    let present = try Durable.status(path)
    let presentLog = try Durable.status(log)
    guard present != nil || presentLog != nil else { return nil }
    if present == nil, let presentLog, let movedPath = try movedDatabase(ofLog: presentLog) {
      // An earlier run was killed before its last step, which removes the log.
      try Durable.remove(log)
      return movedPath
    }
    let movedPath = try FreeName.next(to: path, "before-restore", "-wal")
    do {
      let hasLog = presentLog?.st_size ?? 0 > 0
      if hasLog { try Durable.link(log, movedPath + "-wal") }
      if present != nil {
        if hasLog || exclusively {
          try Durable.rename(path, movedPath)
        } else {
          try Durable.link(path, movedPath)
        }
      }
      for file in [log, memory] { try Durable.remove(file) }
    } catch {
      try undoMove(movedPath)
      throw error
    }
    return movedPath
  }

  /// Returns the new name of the moved database to which the log belongs; nil if no database was
  /// moved.
  private func movedDatabase(ofLog log: stat) throws -> String? {
    guard log.st_nlink > 1 else { return nil }
    for name in FreeName.names(nextTo: path, "before-restore") {
      guard let kept = try Durable.status(name + "-wal") else {
        if try Durable.status(name) == nil { return nil }
        continue
      }
      if try kept.isSame(as: log) && Durable.status(name) != nil { return name }
    }
    return nil
  }

  /// Restores the database that was moved, in place of the backup, which the daemon cannot open.
  func restorePrevious(_ movedPath: String?) throws {
    let lock = try DatabaseLock(of: path)
    defer { lock.release() }
    guard let movedPath else { return try remove() }
    // The backup becomes a draft again, so that no daemon creates a database meanwhile.
    if try Durable.status(movedPath + "-wal") != nil { try Durable.rename(path, draft) }
    for file in [log, memory] { try Durable.remove(file) }
    try undoMove(movedPath)
    discardCopy()
  }

  /// Reverts ``moveAside(exclusively:)``, wherever that was interrupted. The log keeps both names
  /// until the end.
  private func undoMove(_ movedPath: String) throws {
    if try Durable.status(movedPath + "-wal") != nil, try Durable.status(log) == nil {
      try Durable.link(movedPath + "-wal", log)
    }
    if let kept = try Durable.status(movedPath) {
      // rename(2) does nothing if both names are links to the same file.
      if let present = try Durable.status(path), present.isSame(as: kept) {
        try Durable.remove(movedPath)
      } else {
        try Durable.rename(movedPath, path)
      }
    }
    try Durable.remove(movedPath + "-wal")
  }

  private func remove() throws {
    for file in [path, log, memory] { try Durable.remove(file) }
  }
}

/// Prevents the daemon from using a database, by the `flock` that the daemon itself takes while it
/// runs.
final class DatabaseLock {
  private var file: OpenFile?

  /// Acquires the lock.
  ///
  /// - Throws: ``CommandFailure`` if a daemon is running on the database.
  init(of database: String) throws {
    let path = database + ".lock"
    let owner = try Durable.owner(of: DatabaseFiles(path: database).directory)
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
    var opened = open(path, flags | O_CREAT | O_EXCL, 0o600)
    if opened >= 0 {
      // Root has created the lock file, which the daemon's user must be able to open.
      if geteuid() == 0 { fchown(opened, owner.user, owner.group) }
    } else {
      opened = open(path, flags)
    }
    guard opened >= 0 else { throw Durable.systemFailure("\(path) cannot be opened") }
    file = OpenFile(path: path, descriptor: opened)
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      throw CommandFailure("\(database) is in use by a running usherd; stop it first")
    }
  }

  func release() { file = nil }
}
