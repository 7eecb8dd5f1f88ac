import FoundationEssentials
import Glibc
import UsherConfig

/// The few things usherctl asks of the file system.
enum Files {
  static func exist(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// - Throws: ``Failure`` naming the file.
  static func read(_ path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure("\(path) cannot be read")
    }
    return Array(data)
  }

  /// The files of a folder with this ending, by name; none where there is no such folder.
  static func list(_ folder: String, ending: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted()
      .map { "\(folder)/\($0)" }
  }

  /// Refuses a configuration that the daemon would refuse because others may write it.
  ///
  /// - Parameter user: Whose daemon it is; root: the system's.
  /// - Throws: ``Failure`` naming the file and the command that mends it.
  static func checkTrust(of files: [String], in folder: String, as user: UInt32) throws {
    let trust = FileTrust(user: user == 0 ? nil : user)
    for path in [folder, "\(folder)/conf.d"] + files {
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      let problem = trust.problem(
        with: .init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777),
        at: path, isShared: path == folder)
      if let problem { throw Failure("\(path): \(problem)") }
    }
  }
}
