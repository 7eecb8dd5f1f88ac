import Glibc
import Synchronization
import UsherCore

/// Disk space beside the database that is given up for what must not be lost when the disk is full.
///
/// Blocking calls, of a file of one size: for what happens seldom.
final class SpaceReserve: Sendable {
  /// More than the write-ahead log grows by the largest account and its tokens.
  static let size: off_t = 512 << 10

  private let file: StoreFile
  private let isHeld = Mutex(false)

  init(of database: StoreFile) { file = StoreFile(path: database.path + ".reserve") }

  /// Returns when the space is reserved.
  ///
  /// - Throws: `storage_unavailable` where there is no room for it.
  func hold() throws(UsherError) {
    let problem = isHeld.withLock { isHeld -> UsherError? in
      if isHeld { return nil }
      let descriptor = open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { return file.fault("open", Self.problem) }
      defer { close(descriptor) }
      let code = posix_fallocate(descriptor, 0, Self.size)
      guard code == 0 else {
        errno = code
        defer { ftruncate(descriptor, 0) }
        return file.fault("posix_fallocate", Self.problem)
      }
      isHeld = true
      return nil
    }
    if let problem { throw problem }
  }

  /// Gives the space to whoever needs it.
  ///
  /// - Returns: Whether there was any.
  func release() -> Bool {
    isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld && truncate(file.path, 0) == 0
    }
  }

  private static let problem = "has no room in reserve"
}
