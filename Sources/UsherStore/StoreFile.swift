import Glibc
import Synchronization
import UsherCore

/// The database file: its presence, its permissions and its header.
struct StoreFile {
  let path: String

  /// Whether the database file exists.
  enum Presence {
    case absent
    case database
  }

  /// Returns whether there is a database at the path. Does not write to the file.
  ///
  /// - Throws: `storage_unavailable` if the path is something other than a database that this
  ///   version of usherd can read.
  func presence() throws(UsherError) -> Presence {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw fault("stat", "cannot be inspected") }
      guard size(of: path + "-wal") == 0 else {
        throw refusal(
          "is missing, but its write-ahead log exists; restore a backup: usherctl restore")
      }
      return .absent
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw refusal("is not a regular file") }
    guard access(path, R_OK | W_OK) == 0 else { throw fault("access", "cannot be opened") }
    try checkHeader()
    return .database
  }

  /// Restricts access to the database file, write-ahead log and index to their owner.
  func makePrivate() throws(UsherError) {
    for file in [path, path + "-wal", path + "-shm"] {
      guard chmod(file, 0o600) == 0 || errno == ENOENT else {
        throw fault("chmod", "cannot be made private")
      }
    }
  }

  /// Syncs what an earlier process has written but was killed before it could sync: the last
  /// commits in the write-ahead log, and the names of files.
  ///
  /// SQLite reads such a commit like any other. Without this, callers could learn of it before a
  /// power failure takes it back.
  func syncLeftovers() throws(UsherError) {
    let log = open(path + "-wal", O_RDONLY | O_CLOEXEC)
    if log >= 0 {
      defer { close(log) }
      guard fsync(log) == 0 else { throw fault("fsync", "cannot be synced to disk") }
    } else if errno != ENOENT {
      throw fault("open", "cannot be opened")
    }
    try syncDirectory()
  }

  /// Syncs the directory, so that the names of created and renamed files survive a crash.
  func syncDirectory() throws(UsherError) {
    let directory = open(path.parentDirectory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw fault("open", "cannot be synced to disk") }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw fault("fsync", "cannot be synced to disk") }
  }

  /// The size of the database and its write-ahead log, in bytes.
  var size: Int64 { size(of: path) + size(of: path + "-wal") }

  /// Returns an error whose message names the database file.
  func refusal(_ what: String, cause: (any Error)? = nil) -> UsherError {
    UsherError(.storageUnavailable, "the database \(path) \(what)", cause: cause)
  }

  /// Returns an error for the last failed system call, from `errno`. The message names the database
  /// file.
  func fault(_ call: String, _ what: String) -> UsherError {
    let fault = SystemCallError(call: call, errno: errno)
    return refusal("\(what): \(String(cString: strerror(fault.errno)))", cause: fault)
  }

  /// Checks the header in SQLite's file format, § 1.3: the magic text, `user_version` at offset 60
  /// and `application_id` at offset 68.
  private func checkHeader() throws(UsherError) {
    let header = try firstBytes(100)
    guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw refusal("is damaged, or not an SQLite database; it was left as it is")
    }
    func number(at offset: Int) -> Int32 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
    guard number(at: 68) == StoreSchema.applicationID else {
      throw refusal("belongs to another program; it was left as it is")
    }
    try checkVersion(Int(number(at: 60)))
  }

  func checkVersion(_ version: Int) throws(UsherError) {
    guard version <= StoreSchema.version else {
      throw refusal(
        "was written by a newer usherd: its schema is \(version), this one knows \(StoreSchema.version)"
      )
    }
    guard version > 0 else { throw refusal("is damaged: it has no schema") }
  }

  private func firstBytes(_ count: Int) throws(UsherError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw fault("open", "cannot be opened") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: count)
    let read = pread(descriptor, &bytes, count, 0)
    guard read >= 0 else { throw fault("pread", "cannot be read") }
    return Array(bytes.prefix(read))
  }

  private func size(of path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }
}

/// An exclusive flock(2) on a file beside the database, which prevents a second usherd from opening
/// the database.
///
/// The database file itself is not locked, because closing a descriptor of that file would release
/// SQLite's own locks. The lock file is never deleted; the kernel releases the lock when the
/// process ends.
final class StoreLock: Sendable {
  private let descriptor: Mutex<Int32?>

  init(of file: StoreFile) throws(UsherError) {
    var status = stat()
    guard stat(file.path.parentDirectory, &status) == 0 else {
      throw file.fault("stat", "cannot be opened, nor its directory")
    }
    let opened = open(file.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw file.fault("open", "cannot be locked") }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      let isHeld = errno == EWOULDBLOCK
      let error = file.fault("flock", "cannot be locked")
      close(opened)
      throw isHeld ? file.refusal("is in use by another usherd") : error
    }
    descriptor = Mutex(opened)
  }

  deinit { release() }

  func release() {
    descriptor.withLock { descriptor in
      if let open = descriptor {
        // The lock is released explicitly, because a forked child that has not called exec yet
        // shares it.
        flock(open, LOCK_UN)
        close(open)
      }
      descriptor = nil
    }
  }
}
