import Glibc
import UsherCore

/// The copies of the database that wait to be fetched: files beside it, by their names.
struct BackupCopies {
  /// How long somebody has to fetch one.
  static let patience = Duration.seconds(3600)

  private let directory: String
  private let prefix: String

  /// - Parameter database: Its path.
  init(database: String) {
    let slash = database.lastIndex(of: "/")
    directory = slash.map { String(database[...$0]) } ?? "./"
    prefix = slash.map { String(database[database.index(after: $0)...]) } ?? database
  }

  func path(_ name: String) -> String { "\(directory)\(prefix).backup-\(name)" }

  /// Removes what nobody came for, halves too.
  ///
  /// - Parameter time: Younger ones stay; nil removes all, while no daemon makes any.
  func sweep(before time: Timestamp? = nil) {
    for name in names() {
      let path = directory + name
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      let changed = Timestamp(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
      if time.map({ changed < $0 }) ?? true { unlink(path) }
    }
  }

  private func names() -> [String] {
    guard let opened = opendir(directory) else { return [] }
    defer { closedir(opened) }
    var names: [String] = []
    while let entry = readdir(opened) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix("\(prefix).backup-") { names.append(name) }
    }
    return names
  }
}
