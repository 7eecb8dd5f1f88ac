import Synchronization
import UsherCore

/// Reads files that other programs write, each as it is now.
///
/// A file system that hangs delays no caller beyond the deadline, and holds one thread for each
/// file.
final class SecretFiles: Sendable {
  /// The time for which a caller waits for a file.
  static let deadline = Duration.seconds(5)

  /// A read that may continue when its callers no longer wait.
  private final class Read: Sendable {
    let ended = AsyncLatch()
    let result = Mutex<Result<Secret, UsherError>?>(nil)
  }

  private let disk: Disk
  private let dependencies: Dependencies
  private let reads = Mutex<[String: Read]>([:])

  init(on disk: Disk, dependencies: Dependencies) {
    self.disk = disk
    self.dependencies = dependencies
  }

  /// Returns the text of a file. Concurrent callers share one read.
  ///
  /// - Throws: `internalError` with a sentence that names the file, also after ``deadline`` or if
  ///   the task is cancelled.
  func content(of path: String) async throws(UsherError) -> Secret {
    let read = read(path)
    let latch = AsyncLatch()
    Task(executorPreference: dependencies.executor) {
      await read.ended.wait()
      latch.open()
    }
    await dependencies.scheduler.wait(for: latch, atMost: Self.deadline)
    guard let result = read.result.withLock({ $0 }) else {
      throw UsherError(
        .internalError, "the file \(path) cannot be read: its file system does not answer")
    }
    return try result.get()
  }

  /// Returns the read of a file that is running, or starts one.
  private func read(_ path: String) -> Read {
    let (read, isNew) = reads.withLock { reads in
      if let running = reads[path] { return (running, false) }
      let read = Read()
      reads[path] = read
      return (read, true)
    }
    guard isNew else { return read }
    dependencies.blocking.start { [self] in
      let result = Result { () throws(UsherError) in
        try disk.secretFile(path, dependencies.daemonUser)
      }
      reads.withLock { $0[path] = nil }
      read.result.withLock { $0 = result }
      read.ended.open()
    }
    return read
  }
}
