import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// A row that contains the data key, encrypted with the master key or the recovery key.
///
/// A wrapped key consists of form (1 byte), salt (32), nonce (12), ciphertext (32) and tag (16). It
/// is encrypted with AES-256-GCM; the key for that is derived from the master or recovery key by
/// HKDF-SHA256. The kind and host of the slot are authenticated, and from form 2 on also the form
/// itself. Form 2 states that the database has authenticated row sets (``RowSets``).
struct KeySlot {
  /// The decrypted data key, and whether the database must have authenticated row sets.
  typealias UnlockedKey = (dataKey: SymmetricKey, hasRowSets: Bool)

  private static let form: UInt8 = 2
  /// The form that usherd 0.1.0 wrote, for a database without row sets.
  static let firstForm: UInt8 = 1
  private static let saltCount = 32

  let kind: String
  /// The host for which the slot is; empty for every host.
  let host: String

  static let master = KeySlot(kind: "master", host: "")
  static let recovery = KeySlot(kind: "recovery", host: "")

  func exists(in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM key_slots WHERE kind = ? AND host = ?)",
      arguments: [kind, host]) ?? false
  }

  /// The selection of the slot's row, which ``RowSets`` needs to update the table's digest.
  var row: GuardedRows { GuardedRows(.keySlots, "kind = ? AND host = ?", [kind, host]) }

  /// Encrypts the data key with another key and writes it into the slot. Replaces the key in the
  /// slot, if any.
  ///
  /// The caller must update the ``RowSets``.
  func store(
    _ dataKey: SymmetricKey, under key: SymmetricKey, at now: Timestamp, entropy: any Entropy,
    form: UInt8 = Self.form, into db: Database
  ) throws {
    let salt = entropy.bytes(Self.saltCount)
    let sealedBox = try dataKey.withUnsafeBytes { bytes in
      try AES.GCM.seal(
        bytes.bindMemory(to: UInt8.self), using: wrappingKey(key, salt: salt, form),
        nonce: AES.GCM.Nonce(data: entropy.bytes(12)), authenticating: authenticated(form))
    }
    let wrapped = Data([form]) + salt + sealedBox.nonce + sealedBox.ciphertext + sealedBox.tag
    try db.execute(
      sql: """
        INSERT INTO key_slots (kind, host, created_at, wrapped) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET created_at = excluded.created_at, wrapped = excluded.wrapped
        """,
      arguments: [kind, host, now.milliseconds, wrapped])
  }

  /// Returns the decrypted data key; nil if the slot does not exist or was encrypted with a key
  /// other than `key`.
  func open(with key: SymmetricKey, in db: Database) throws -> UnlockedKey? {
    let wrapped = try Data.fetchOne(
      db, sql: "SELECT wrapped FROM key_slots WHERE kind = ? AND host = ?", arguments: [kind, host])
    guard let wrapped else { return nil }
    let bytes = [UInt8](wrapped)
    let start = 1 + Self.saltCount
    guard let form = bytes.first, form == Self.form || form == Self.firstForm,
      bytes.count == start + 60
    else { return nil }
    let opened = try? AES.GCM.open(
      AES.GCM.SealedBox(combined: bytes[start...]),
      using: wrappingKey(key, salt: Array(bytes[1..<start]), form),
      authenticating: authenticated(form))
    return opened.map { (SymmetricKey(data: $0), form > Self.firstForm) }
  }

  private func authenticated(_ form: UInt8) -> [UInt8] {
    var writer = ByteWriter()
    writer.append("usherd key slot")
    writer.append(kind)
    writer.append(host)
    if form > Self.firstForm { writer.append(Int64(form)) }
    return writer.bytes
  }

  private func wrappingKey(_ key: SymmetricKey, salt: [UInt8], _ form: UInt8) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, salt: salt, info: authenticated(form), outputByteCount: 32)
  }
}
