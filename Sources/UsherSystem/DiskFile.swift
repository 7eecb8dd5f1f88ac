import Glibc
package import UsherCore

/// A regular file in a directory.
package struct DiskFile: Sendable, Equatable {
  package let name: String
  package let changedAt: Timestamp

  package init(name: String, changedAt: Timestamp) {
    self.name = name
    self.changedAt = changedAt
  }

  /// Returns the regular files of a directory, or none if it cannot be read. The path must end with
  /// a slash.
  package static func all(in directory: String) -> [DiskFile] {
    guard let opened = opendir(directory) else { return [] }
    defer { closedir(opened) }
    var files: [DiskFile] = []
    while let entry = readdir(opened) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      var status = stat()
      guard lstat(directory + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        continue
      }
      let changedAt = Timestamp(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
      files.append(DiskFile(name: name, changedAt: changedAt))
    }
    return files
  }
}
