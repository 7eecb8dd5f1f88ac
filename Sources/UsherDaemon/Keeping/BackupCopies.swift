import UsherCore
import UsherSystem

/// The copies of the database that wait to be fetched: files beside it, by their names.
struct BackupCopies {
  /// How long somebody has to fetch one.
  static let patience = Duration.seconds(3600)

  private let disk: any Disk
  private let directory: String
  private let prefix: String

  /// - Parameter database: Its path.
  init(database: String, on disk: any Disk) {
    self.disk = disk
    let slash = database.lastIndex(of: "/")
    directory = slash.map { String(database[...$0]) } ?? "./"
    prefix = slash.map { String(database[database.index(after: $0)...]) } ?? database
  }

  func path(_ name: String) -> String { "\(directory)\(prefix).backup-\(name)" }

  /// Removes what nobody came for, halves too.
  ///
  /// - Parameter time: Younger ones stay; nil removes all, while no daemon makes any.
  func sweep(before time: Timestamp? = nil) {
    for file in disk.files(in: directory) where file.name.hasPrefix("\(prefix).backup-") {
      if time.map({ file.changedAt < $0 }) ?? true { disk.remove(directory + file.name) }
    }
  }
}
