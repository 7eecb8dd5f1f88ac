import FoundationEssentials
import GRDB
package import UsherCore

// Whether the daemon is locked. It is unlocked only where a sealed note says so, so that whoever
// deletes a note cannot unlock it.
extension Store {
  /// When the daemon was unlocked, or the database created.
  private struct Unlocked: Codable {
    var at: Timestamp
  }

  private static let unlocked = "unlocked"
  /// In a database before schema 5: that the daemon is locked. It is not read any more.
  static let earlierLock = "lock"

  /// - Throws: `storage_unavailable` where the note does not open.
  package var isLocked: Bool {
    get throws(UsherError) {
      guard let note = try loadNote(Self.unlocked) else { return true }
      _ = try note.payload.decoded(as: Unlocked.self)
      return false
    }
  }

  /// Returns when it is on disk.
  package func setLocked(_ isLocked: Bool) async throws(UsherError) {
    guard !isLocked else { return try await commit([.deleteNote(Self.unlocked)]) }
    let note = try Self.unlockedNote(at: writer.clock.now())
    try await commit([.deleteNote(Self.earlierLock), .putNote(note)])
  }

  static func unlockedNote(at now: Timestamp) throws(UsherError) -> NoteRow {
    NoteRow(name: unlocked, payload: try SealedPayload(encoding: Unlocked(at: now)))
  }

  /// Has a new database, or one of a schema that knew no such note, be unlocked unless its daemon
  /// was locked.
  static func beginUnlocked(in db: Database, by sealer: Sealer, at now: Timestamp) throws {
    let wasLocked = try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM notes WHERE name = ?)", arguments: [earlierLock])
    guard wasLocked == false else { return }
    let note = try unlockedNote(at: now)
    try db.execute(
      sql: "INSERT OR REPLACE INTO notes (name, sealed) VALUES (?, ?)",
      arguments: [note.name, try sealer.seal(note)])
  }

  /// Has the next start find the daemon locked.
  static func beginLocked(in db: Database) throws {
    try db.execute(sql: "DELETE FROM notes WHERE name = ?", arguments: [unlocked])
  }
}
