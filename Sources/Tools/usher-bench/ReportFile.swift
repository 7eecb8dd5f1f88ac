import Glibc

/// A file for results. It is opened before the measurement, so that an error shows early.
final class ReportFile {
  private let path: String
  private let descriptor: CInt
  /// Whether the file did not exist before. It is then removed if nothing is written to it.
  private let isNew: Bool
  private var isWritten = false

  /// - Throws: `BenchError` if the file cannot be written.
  init(_ path: String) throws {
    self.path = path
    isNew = access(path, F_OK) != 0
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.failure(path) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    if isNew, !isWritten { unlink(path) }
  }

  /// Replaces the contents of the file.
  func write(_ text: String) throws {
    // A pipe cannot be truncated.
    _ = ftruncate(descriptor, 0)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw Self.failure(path) }
      rest = rest.dropFirst(count)
    }
    isWritten = true
  }

  private static func failure(_ path: String) -> BenchError {
    BenchError("cannot write \(path): \(String(cString: strerror(errno)))")
  }
}
