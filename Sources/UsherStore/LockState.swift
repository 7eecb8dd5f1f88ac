import FoundationEssentials
import GRDB
package import UsherCore

// Stores whether the daemon is locked. The daemon is unlocked only if a sealed note says so: then
// deleting a note from the file cannot unlock it.
extension Store {
  /// The content of the note ``unlocked``: the time at which the daemon was unlocked or the
  /// database was created.
  private struct Unlocked: Codable {
    var at: Timestamp
  }

  private static let unlocked = "unlocked"
  /// The name of the note of a locked daemon before schema 5. Only the migration reads it.
  static let earlierLock = "lock"

  /// Whether the daemon is locked. Throws `storage_unavailable` if the note ``unlocked`` does not
  /// decrypt.
  package var isLocked: Bool {
    get throws(UsherError) {
      guard let note = try loadNote(Self.unlocked) else { return true }
      _ = try note.payload.decoded(as: Unlocked.self)
      return false
    }
  }

  /// Stores whether the daemon is locked; returns when that is on disk.
  package func setLocked(_ isLocked: Bool) async throws(UsherError) {
    guard !isLocked else { return try await commit([.deleteNote(Self.unlocked)]) }
    let note = try Self.unlockedNote(at: writer.clock.now())
    try await commit([.deleteNote(Self.earlierLock), .putNote(note)])
  }

  static func unlockedNote(at now: Timestamp) throws(UsherError) -> NoteRow {
    NoteRow(name: unlocked, payload: try SealedPayload(encoding: Unlocked(at: now)))
  }

  /// Adds the note ``unlocked`` to a new database, or to an unlocked one from before schema 5.
  static func beginUnlocked(in db: Database, by sealer: Sealer, at now: Timestamp) throws {
    let wasLocked = try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM notes WHERE name = ?)", arguments: [earlierLock])
    guard wasLocked == false else { return }
    try unlockedNote(at: now).upsert(by: sealer)(db)
  }

  /// Removes the note ``unlocked``, so that the daemon starts locked.
  static func beginLocked(in db: Database) throws {
    try db.execute(sql: "DELETE FROM notes WHERE name = ?", arguments: [unlocked])
  }
}
