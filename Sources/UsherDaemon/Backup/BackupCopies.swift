import UsherCore
import UsherSystem

/// Finished and partial copies of the database, which `usherctl backup` fetches. They are stored as
/// files beside the database.
struct BackupCopies {
  /// The time for which a copy is kept if it is not fetched.
  static let maxAge = Duration.seconds(3600)

  private let disk: Disk
  private let directory: String
  private let prefix: String

  /// - Parameter database: The path of the database, beside which the copies are stored.
  init(database: String, on disk: Disk) {
    self.disk = disk
    let slash = database.lastIndex(of: "/")
    directory = slash.map { String(database[...$0]) } ?? "./"
    prefix = slash.map { String(database[database.index(after: $0)...]) } ?? database
  }

  func path(_ name: String) -> String { "\(directory)\(prefix).backup-\(name)" }

  /// Removes copies that were not fetched, including partial ones.
  ///
  /// - Parameter time: Copies changed at or after this time are kept. Nil removes all copies, which
  ///   is safe only while the daemon makes none.
  func sweep(before time: Timestamp? = nil) {
    for file in disk.files(directory) where file.name.hasPrefix("\(prefix).backup-") {
      if time.map({ file.changedAt < $0 }) ?? true { disk.remove(directory + file.name) }
    }
  }
}
