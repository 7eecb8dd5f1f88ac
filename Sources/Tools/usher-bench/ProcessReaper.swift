import CBench
import Glibc

/// What is gone when this program has ended, however it ends, SIGKILL too: the processes that it
/// started and theirs, and the directory in which all of their files are.
///
/// Another process sees to it (`bench_keep`): a child that is told of its parent's end by the
/// kernel is told of the end of a thread, and not at all where it changes its user or group.
struct ProcessReaper {
  /// The process group of all that is started. A terminal's Ctrl-C is not for them.
  let group: pid_t
  /// Where every ``Scratch`` is.
  let directory: String

  private static let own: Result<ProcessReaper, any Error> = Result { try ProcessReaper() }

  /// - Throws: `BenchError` where there is no place in /tmp, or no room for one more process.
  static func ofThisProgram() throws -> ProcessReaper { try own.get() }

  private init() throws {
    directory = try Scratch.freshDirectory("/tmp/usher-bench-")
    // The sockets in it are for other users, too.
    chmod(directory, 0o711)
    group = bench_keep(directory)
    guard group > 0 else {
      let reason = String(cString: strerror(errno))
      rmdir(directory)
      throw BenchError("nobody sees to the end of what is started: \(reason)")
    }
  }
}

/// A directory for the files of one thing, removed with all of them when it is let go of.
final class Scratch {
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
      throw BenchError("no place for \(start)…: \(String(cString: strerror(errno)))")
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
