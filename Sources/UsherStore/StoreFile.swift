import Glibc
import Synchronization
import UsherCore

/// The database as a file: whose it is, who may use it, and what stands in its header.
struct StoreFile {
  let path: String

  /// What stands at the path.
  enum Presence {
    case absent
    case database
  }

  /// - Throws: `storage_unavailable` for anything that is neither nothing nor a database that
  ///   this usherd can read. The file is only read.
  func presence() throws(UsherError) -> Presence {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw fault("stat", "cannot be looked at") }
      guard size(of: path + "-wal") == 0 else {
        throw refusal("is missing, but its write-ahead log is there: restore it from a backup")
      }
      return .absent
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw refusal("is not a regular file") }
    guard access(path, R_OK | W_OK) == 0 else { throw fault("access", "cannot be opened") }
    try checkHeader()
    return .database
  }

  /// Takes away what others may do with the files.
  func makePrivate() throws(UsherError) {
    for file in [path, path + "-wal", path + "-shm"] {
      guard chmod(file, 0o600) == 0 || errno == ENOENT else {
        throw fault("chmod", "cannot be made private")
      }
    }
  }

  /// Returns when what was named in the directory, or renamed, stays so.
  func syncDirectory() throws(UsherError) {
    let directory = open(self.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw fault("open", "cannot be made durable") }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw fault("fsync", "cannot be made durable") }
  }

  /// Bytes of the database and of its write-ahead log.
  var size: Int64 { size(of: path) + size(of: path + "-wal") }

  var directory: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// A refusal to open, naming the file.
  func refusal(_ what: String, cause: (any Error)? = nil) -> UsherError {
    UsherError(.storageUnavailable, "the database \(path) \(what)", cause: cause)
  }

  /// A refusal because of the last system call.
  func fault(_ call: String, _ what: String) -> UsherError {
    let fault = SystemFault(call: call, errno: errno)
    return refusal("\(what): \(String(cString: strerror(fault.errno)))", cause: fault)
  }

  /// SQLite's file format, § 1.3: magic, then `user_version` at 60 and `application_id` at 68.
  private func checkHeader() throws(UsherError) {
    let header = try firstBytes(100)
    guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw refusal("is damaged, or not an SQLite database; it was left as it is")
    }
    func number(at offset: Int) -> Int32 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
    guard number(at: 68) == Schema.applicationID else {
      throw refusal("belongs to another program; it was left as it is")
    }
    try checkVersion(Int(number(at: 60)))
  }

  func checkVersion(_ version: Int) throws(UsherError) {
    guard version <= Schema.version else {
      throw refusal(
        "was written by a newer usherd: its schema is \(version), this one knows \(Schema.version)")
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

/// Keeps a second usherd away: an exclusive `flock` on a file beside the database.
///
/// Not on the database itself: closing a descriptor of it would drop SQLite's own locks. The file
/// stays; the kernel drops the lock when the process dies, however it dies.
final class StoreLock: Sendable {
  private let descriptor: Mutex<Int32?>

  init(of file: StoreFile) throws(UsherError) {
    var status = stat()
    guard stat(file.directory, &status) == 0 else {
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
        // A child that was forked and has not yet run its program has a copy of the descriptor.
        flock(open, LOCK_UN)
        close(open)
      }
      descriptor = nil
    }
  }
}
