import FoundationEssentials
import Glibc
package import UsherCore

/// A regular file in a directory, such as a copy of the database.
package struct DiskFile: Sendable, Equatable {
  package let name: String
  package let changedAt: Timestamp

  /// Returns the regular files of a directory, or none if the directory cannot be read. Its path
  /// must end with a slash.
  package static func all(in directory: String) -> [DiskFile] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.compactMap { name in
      var status = stat()
      guard lstat(directory + name, &status) == 0, status.isRegularFile else { return nil }
      let changedAt = Timestamp(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
      return DiskFile(name: name, changedAt: changedAt)
    }
  }
}
