import FoundationEssentials
import Glibc
import UsherCore

/// Files that are there whole or not at all, whoever is killed: keys and databases.
///
/// Nothing here follows a symbolic link as the last part of a path.
enum Durable {
  /// Whose a file is to be.
  struct Owner: Equatable {
    var user: UInt32
    var group: UInt32
  }

  /// What the kernel says of a file; nil where there is none.
  static func status(_ path: String) throws -> stat? {
    var status = stat()
    if lstat(path, &status) == 0 { return status }
    guard errno == ENOENT || errno == ENOTDIR else { throw fault("\(path) cannot be looked at") }
    return nil
  }

  static func owner(of path: String) throws -> Owner {
    guard let status = try status(path) else { throw Failure("there is no \(path)") }
    return Owner(user: status.st_uid, group: status.st_gid)
  }

  /// An open file, which is a file and nothing else, with what the kernel says of it; nil where there
  /// is none.
  static func opened(_ path: String) throws -> (file: OpenFile, status: stat)? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      guard errno != ELOOP else {
        throw Failure("\(path) is a symbolic link, and must be a file")
      }
      throw fault("\(path) cannot be opened")
    }
    let file = OpenFile(path: path, descriptor: descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw fault("\(path) cannot be looked at") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Failure("\(path) is not a regular file") }
    return (file, status)
  }

  /// A new, empty file of mode 0600, of a name that is usherctl's alone: one that is there already is
  /// what somebody who was killed left, and goes.
  static func createdAnew(_ path: String, of owner: Owner? = nil) throws -> OpenFile {
    unlink(path)
    return try created(path, of: owner)
  }

  /// A new, empty file of mode 0600 beside a path, under a name that nobody has.
  static func draft(beside path: String) throws -> OpenFile {
    let digits = SystemEntropy().bytes(8).map { String($0 >> 4, radix: 16) }.joined()
    return try created("\(path).new-\(digits)")
  }

  /// - Throws: ``Failure``, also where there is something of that name.
  private static func created(_ path: String, of owner: Owner? = nil) throws -> OpenFile {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault("\(path) cannot be created") }
    let file = OpenFile(path: path, descriptor: descriptor)
    if let owner, owner != Owner(user: geteuid(), group: getegid()) {
      guard fchown(descriptor, owner.user, owner.group) == 0 else {
        throw fault("\(path) cannot be given to its owner")
      }
    }
    return file
  }

  /// What a file of usherctl's alone is called until it is whole.
  static func draft(of path: String) -> String { path + ".new" }

  /// Writes a file under another name, ``draft(of:)``, and gives it its own when it is on the disk.
  static func write(_ bytes: [UInt8], to path: String, of owner: Owner? = nil) throws {
    let draft = draft(of: path)
    do {
      let file = try createdAnew(draft, of: owner)
      try file.write(bytes)
      try file.sync()
      try rename(draft, path)
    } catch {
      unlink(draft)
      throw error
    }
  }

  /// Returns when it will be found under its new name.
  static func rename(_ old: String, _ new: String) throws {
    guard Glibc.rename(old, new) == 0 else { throw fault("\(old) cannot become \(new)") }
    try syncDirectory(of: new)
  }

  /// Gives a file a second name, which nothing has yet; returns when it will be found under it.
  static func link(_ old: String, _ new: String) throws {
    guard Glibc.link(old, new) == 0 else { throw fault("\(old) cannot become \(new)") }
    try syncDirectory(of: new)
  }

  /// Removes a file, if there is one, for good.
  static func remove(_ path: String) throws {
    guard unlink(path) == 0 else {
      if errno == ENOENT { return }
      throw fault("\(path) cannot be removed")
    }
    try syncDirectory(of: path)
  }

  static func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw fault("\(path) cannot be made") }
  }

  static func syncDirectory(of path: String) throws {
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw fault("\(directory) cannot be opened") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw fault("\(directory) cannot be made durable") }
  }

  /// The last system call's failure.
  static func fault(_ sentence: String) -> Failure {
    Failure("\(sentence): \(String(cString: strerror(errno)))")
  }
}

/// A file that is closed when its value goes.
final class OpenFile {
  let path: String
  let descriptor: CInt

  init(path: String, descriptor: CInt) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The first bytes, at most `limit`.
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
    guard !failed else { throw Durable.fault("\(path) cannot be read") }
    return bytes
  }

  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Durable.fault("\(path) cannot be written") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Copies all of it.
  ///
  /// - Returns: How many bytes.
  /// - Throws: `CancellationError`; ``Failure`` naming the file that cannot be read or written.
  func copy(to other: OpenFile) throws -> Int64 {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 8)
    defer { room.deallocate() }
    var done: Int64 = 0
    while true {
      try Task.checkCancellation()
      let count = pread(descriptor, room.baseAddress, room.count, off_t(done))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Durable.fault("\(path) cannot be read") }
      guard count > 0 else { return done }
      try other.write(UnsafeRawBufferPointer(rebasing: room[..<count]))
      done += Int64(count)
    }
  }

  /// Whether nobody has written to it since.
  func isAs(_ before: stat) throws -> Bool {
    var now = stat()
    guard fstat(descriptor, &now) == 0 else { throw Durable.fault("\(path) cannot be looked at") }
    return now.st_size == before.st_size && now.st_mtim.tv_sec == before.st_mtim.tv_sec
      && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec
  }

  func sync() throws {
    guard fsync(descriptor) == 0 else { throw Durable.fault("\(path) cannot be made durable") }
  }
}

extension stat {
  /// Whether it is the same file, whatever its names.
  func isSame(as other: stat) -> Bool { st_dev == other.st_dev && st_ino == other.st_ino }
}
