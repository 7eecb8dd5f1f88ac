import FoundationEssentials
import Glibc
import UsherConfig
import UsherCore

/// Access to files that need not survive a power failure: reading, listing and checking
/// permissions.
enum Files {
  static func exist(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Writes all bytes; returns false, with the cause in errno(3), if they cannot be written.
  static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return true
  }

  /// Returns the content of a file.
  ///
  /// - Throws: ``CommandFailure`` that names the file.
  static func read(_ path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandFailure("\(path) cannot be read")
    }
    return Array(data)
  }

  /// Returns the sorted paths of the files in a folder with this ending, without hidden files;
  /// empty if the folder does not exist.
  static func list(_ folder: String, ending: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted()
      .map { "\(folder)/\($0)" }
  }

  /// Returns the ownership and permission problems for which the daemon would refuse configuration
  /// files or the directories they are in. Each problem has the path and the command that fixes it.
  ///
  /// - Parameter user: The user that the daemon runs as; root means the system's daemon.
  static func trustProblems(of files: [String], as user: UInt32) -> [ConfigProblem] {
    let trust = FileTrust(user: user == 0 ? nil : user)
    let folders = Set(files.map(\.parentDirectory)).sorted()
    // The daemon also reads the `conf.d` directory next to the main file.
    let overlays = folders.filter { !isOverlayFolder($0) }.map { "\($0)/conf.d" }
    let paths = Set(folders + overlays + files).sorted()
    return paths.compactMap { path in
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      let problem = trust.problem(
        with: .init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777),
        at: path, isShared: folders.contains(path) && !isOverlayFolder(path))
      return problem.map {
        ConfigProblem(file: path, line: 0, column: 0, key: "", message: $0)
      }
    }
  }

  private static func isOverlayFolder(_ path: String) -> Bool {
    path.split(separator: "/").last == "conf.d"
  }
}
