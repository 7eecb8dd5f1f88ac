import CBench
import Glibc

/// Ends all child processes with theirs, and removes the directory of their files, when this
/// program ends for any reason, SIGKILL included.
///
/// A separate process does this (`bench_keep`). PR_SET_PDEATHSIG is no alternative: it is sent when
/// the parent's thread ends, and is cleared when the child changes its user or group.
struct ProcessReaper {
  /// The process group of all child processes. Ctrl-C at a terminal does not reach it.
  let group: pid_t
  /// The directory of every ``ScratchDirectory``.
  let directory: String

  private static let own: Result<ProcessReaper, any Error> = Result { try ProcessReaper() }

  /// - Throws: `BenchError` if no directory can be created in /tmp, or no process.
  static func ofThisProgram() throws -> ProcessReaper { try own.get() }

  private init() throws {
    directory = try ScratchDirectory.freshDirectory("/tmp/usher-bench-")
    // Other users must be able to reach the sockets in the directory.
    chmod(directory, 0o711)
    group = bench_keep(directory)
    guard group > 0 else {
      let reason = String(cString: strerror(errno))
      rmdir(directory)
      throw BenchError("cannot start the clean-up process: \(reason)")
    }
  }
}

/// A directory that is removed with all its files on deinitialization.
final class ScratchDirectory {
  let path: String

  init() throws {
    path = try Self.freshDirectory("\(try ProcessReaper.ofThisProgram().directory)/")
  }

  deinit { Self.remove(path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String) throws {
    try ReportFile(file(name)).write(text)
  }

  fileprivate static func freshDirectory(_ start: String) throws -> String {
    var template = Array("\(start)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw BenchError("cannot create a directory \(start)…: \(String(cString: strerror(errno)))")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func remove(_ directory: String) {
    guard let listing = opendir(directory) else { return }
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name != ".", name != ".." else { continue }
      if unlink("\(directory)/\(name)") != 0 { remove("\(directory)/\(name)") }
    }
    closedir(listing)
    rmdir(directory)
  }
}
