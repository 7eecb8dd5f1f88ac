import FoundationEssentials
import Glibc
import UsherCore

/// File operations for keys and databases: whenever the process is killed, a file is either
/// complete or absent.
///
/// No operation follows a symbolic link as the last component of a path.
enum Durable {
  /// The user and group that own a file.
  struct Owner: Equatable {
    var user: UInt32
    var group: UInt32
  }

  /// Returns the file's status (lstat(2)); nil if the file does not exist.
  static func status(_ path: String) throws -> stat? {
    var status = stat()
    if lstat(path, &status) == 0 { return status }
    guard errno == ENOENT || errno == ENOTDIR else {
      throw systemFailure("\(path) cannot be inspected")
    }
    return nil
  }

  static func owner(of path: String) throws -> Owner {
    guard let status = try status(path) else { throw CommandFailure("\(path) does not exist") }
    return Owner(user: status.st_uid, group: status.st_gid)
  }

  /// Opens a regular file for reading; returns nil if it does not exist.
  static func openFile(_ path: String) throws -> (file: OpenFile, status: stat)? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      guard errno != ELOOP else {
        throw CommandFailure("\(path) is a symbolic link; it must be a regular file")
      }
      throw systemFailure("\(path) cannot be opened")
    }
    let file = OpenFile(path: path, descriptor: descriptor)
    let status = try file.status()
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw CommandFailure("\(path) is not a regular file")
    }
    return (file, status)
  }

  /// Creates an empty file of mode 0600, under a name that only usherctl uses. An existing file of
  /// that name is left over from a killed run and is deleted.
  static func recreateFile(_ path: String, of owner: Owner? = nil) throws -> OpenFile {
    unlink(path)
    return try createFile(path, of: owner)
  }

  /// Creates an empty file of mode 0600 in the directory of a path, under a random name.
  static func draft(nextTo path: String) throws -> OpenFile {
    try createFile("\(path).new-\(SystemEntropy().bytes(4).hexadecimal)")
  }

  /// Creates an empty file of mode 0600.
  ///
  /// - Throws: ``CommandFailure``, also if the name already exists.
  private static func createFile(_ path: String, of owner: Owner? = nil) throws -> OpenFile {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw systemFailure("\(path) cannot be created") }
    let file = OpenFile(path: path, descriptor: descriptor)
    if let owner, owner != Owner(user: geteuid(), group: getegid()) {
      guard fchown(descriptor, owner.user, owner.group) == 0 else {
        throw systemFailure("the owner of \(path) cannot be set")
      }
    }
    return file
  }

  /// Returns the path under which usherctl writes a file until it is complete.
  static func draft(of path: String) -> String { path + ".new" }

  /// Writes a file under the name ``draft(of:)``, and renames it after its content is on disk.
  static func write(_ bytes: [UInt8], to path: String, of owner: Owner? = nil) throws {
    let draft = draft(of: path)
    do {
      let file = try recreateFile(draft, of: owner)
      try file.write(bytes)
      try file.sync()
      try rename(draft, path)
    } catch {
      unlink(draft)
      throw error
    }
  }

  /// Renames a file. The new name is on disk when this returns.
  static func rename(_ old: String, _ new: String) throws {
    guard Glibc.rename(old, new) == 0 else {
      throw systemFailure("\(old) cannot be renamed to \(new)")
    }
    try syncDirectory(of: new)
  }

  /// Gives a file a second name, which must not exist. The name is on disk when this returns.
  static func link(_ old: String, _ new: String) throws {
    guard Glibc.link(old, new) == 0 else {
      throw systemFailure("\(old) cannot be linked to \(new)")
    }
    try syncDirectory(of: new)
  }

  /// Removes a file if it exists. The removal is on disk when this returns.
  static func remove(_ path: String) throws {
    guard unlink(path) == 0 else {
      if errno == ENOENT { return }
      throw systemFailure("\(path) cannot be removed")
    }
    try syncDirectory(of: path)
  }

  static func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw systemFailure("\(path) cannot be created")
    }
  }

  static func syncDirectory(of path: String) throws {
    let directory = path.parentDirectory
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw systemFailure("\(directory) cannot be opened") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw systemFailure("\(directory) cannot be synced to disk")
    }
  }

  /// Returns a failure that ends with the error text of the last system call.
  static func systemFailure(_ sentence: String) -> CommandFailure {
    CommandFailure("\(sentence): \(String(cString: strerror(errno)))")
  }
}

/// An open file. The descriptor is closed on deinitialization.
final class OpenFile {
  let path: String
  let descriptor: CInt

  init(path: String, descriptor: CInt) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Reads the first bytes of the file, at most `limit`.
  func read(atMost limit: Int) throws -> [UInt8] {
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      while count < limit {
        let got = pread(
          descriptor, buffer.baseAddress?.advanced(by: count), limit - count, off_t(count))
        if got < 0 && errno == EINTR { continue }
        failed = got < 0
        guard got > 0 else { return }
        count += got
      }
    }
    guard !failed else { throw Durable.systemFailure("\(path) cannot be read") }
    return bytes
  }

  func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard Files.writeAll(bytes, to: descriptor) else {
      throw Durable.systemFailure("\(path) cannot be written")
    }
  }

  /// Copies the whole file to another one.
  ///
  /// - Returns: The number of bytes copied.
  /// - Throws: `CancellationError`; ``CommandFailure`` that names the unreadable or unwritable
  ///   file.
  func copy(to other: OpenFile) throws -> Int64 {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 8)
    defer { room.deallocate() }
    var done: Int64 = 0
    while true {
      try Task.checkCancellation()
      let count = pread(descriptor, room.baseAddress, room.count, off_t(done))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Durable.systemFailure("\(path) cannot be read") }
      guard count > 0 else { return done }
      try other.write(UnsafeRawBufferPointer(rebasing: room[..<count]))
      done += Int64(count)
    }
  }

  func status() throws -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw Durable.systemFailure("\(path) cannot be inspected")
    }
    return status
  }

  /// Whether the file still has the size and modification time of `before`.
  func isUnchanged(since before: stat) throws -> Bool {
    let now = try status()
    return now.st_size == before.st_size && now.st_mtim.tv_sec == before.st_mtim.tv_sec
      && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec
  }

  func sync() throws {
    guard fsync(descriptor) == 0 else {
      throw Durable.systemFailure("\(path) cannot be synced to disk")
    }
  }
}

extension stat {
  /// Whether both describe the same file, even under different names.
  func isSame(as other: stat) -> Bool { st_dev == other.st_dev && st_ino == other.st_ino }
}
