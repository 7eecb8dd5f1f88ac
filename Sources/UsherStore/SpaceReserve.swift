import Glibc
import Synchronization
import UsherCore

/// A file that reserves disk space for changes that must not be lost, such as rotated refresh
/// tokens. It is truncated if the disk is full when such a change is written.
///
/// The methods block; they are called rarely.
final class SpaceReserve: Sendable {
  /// The size of the file in bytes: more than SQLite's write-ahead log needs for the largest
  /// account and its tokens.
  static let size: off_t = 512 << 10

  private let file: StoreFile
  private let isAllocated = Mutex(false)

  init(of database: StoreFile) { file = StoreFile(path: database.path + ".reserve") }

  /// Reserves the disk space.
  ///
  /// - Throws: `storage_unavailable` if the disk has too little free space.
  func allocate() throws(UsherError) {
    let problem = isAllocated.withLock { isAllocated -> UsherError? in
      if isAllocated { return nil }
      let descriptor = open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { return file.fault("open", Self.problem) }
      defer { close(descriptor) }
      let code = posix_fallocate(descriptor, 0, Self.size)
      guard code == 0 else {
        errno = code
        defer { ftruncate(descriptor, 0) }
        return file.fault("posix_fallocate", Self.problem)
      }
      isAllocated = true
      return nil
    }
    if let problem { throw problem }
  }

  /// Frees the reserved disk space.
  ///
  /// - Returns: Whether space was reserved and is now free.
  func release() -> Bool {
    isAllocated.withLock { exchange(&$0, with: false) && truncate(file.path, 0) == 0 }
  }

  private static let problem = "has no room in reserve"
}
