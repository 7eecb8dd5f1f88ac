import GRDB
import Glibc
import Synchronization
package import UsherCore

extension Store {
  /// Writes a consistent copy of the whole database, for a backup. The copy is encrypted like the
  /// database and opens with the same keys.
  ///
  /// The copy is read through its own connection. Later commits do not wait for the copy and are
  /// not in it, but the write-ahead log is not emptied until the copy is complete. The file appears
  /// at `path` only when it is complete and on disk; only its owner can read it.
  ///
  /// - Returns: The size of the copy in bytes.
  /// - Throws: `overloaded` while another copy is made; `storage_unavailable` if the disk is full
  ///   or fails, or if the store is closed in the meantime; `cancelled` if the task is cancelled.
  package func copy(to path: String) async throws(UsherError) -> Int64 {
    try checkOpen()
    let draft = StoreFile(path: path + ".new")
    do {
      let source = try DatabaseQueue(
        path: file.path, configuration: StoreOpening.configuration(readonly: true))
      guard begin(source) else {
        throw UsherError(.overloaded, "another copy of the database is being made: try again later")
      }
      defer { copying.withLock { $0 = nil } }
      do {
        return try await copy(from: source, to: draft, named: path)
      } catch {
        unlink(draft.path)
        throw error
      }
    } catch {
      throw Self.copyError(error, path)
    }
  }

  private func begin(_ source: DatabaseQueue) -> Bool {
    copying.withLock { copying in
      guard copying == nil else { return false }
      copying = source
      return true
    }
  }

  private func copy(
    from source: DatabaseQueue, to draft: StoreFile, named path: String
  ) async throws -> Int64 {
    let descriptor = Glibc.open(draft.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw draft.fault("open", "cannot be created") }
    defer { Glibc.close(descriptor) }
    // VACUUM INTO accepts an existing file if it is empty, so its mode is set beforehand.
    try await Self.vacuum(source, into: draft.path, on: blocking)
    try source.close()
    FailPoint.reach("store.copied")
    guard fsync(descriptor) == 0 else { throw draft.fault("fsync", "cannot be synced to disk") }
    guard link(draft.path, path) == 0 else {
      throw draft.fault("link", "cannot be renamed to \(path)")
    }
    unlink(draft.path)
    try draft.syncDirectory()
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw draft.fault("fstat", "cannot be read") }
    return Int64(status.st_size)
  }

  /// Copies a database to an empty file. If the task is cancelled, the copy is interrupted, or does
  /// not begin.
  private static func vacuum(
    _ source: DatabaseQueue, into path: String, on blocking: any BlockingPool
  ) async throws {
    guard !Task.isCancelled else { throw CancellationError() }
    let cancellation = Cancellation()
    let outcome = await withTaskCancellationHandler {
      await blocking.run {
        Result {
          guard !cancellation.isAsked.load(ordering: .acquiring) else { throw CancellationError() }
          try source.writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM INTO ?", arguments: [path])
          }
        }
      }
    } onCancel: {
      cancellation.isAsked.store(true, ordering: .releasing)
      source.interrupt()
    }
    guard !Task.isCancelled else { throw CancellationError() }
    try outcome.get()
  }

  private final class Cancellation: Sendable {
    let isAsked = Atomic(false)
  }

  private static func copyError(_ error: any Error, _ path: String) -> UsherError {
    if error is CancellationError {
      return UsherError(.cancelled, "the copy of the database was cancelled")
    }
    guard let error = error as? DatabaseError else { return .storage(error) }
    let reason = UsherError.storage(error)
    let words =
      switch error.resultCode {
      case .SQLITE_INTERRUPT: "it was cancelled"
      case .SQLITE_FULL: "the disk is full"
      default: reason.message
      }
    return UsherError(
      .storageUnavailable, "the copy \(path) cannot be written: \(words)", cause: reason.cause)
  }
}
