import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// The data key, wrapped so that one other key opens it.
///
/// A wrapped key is: form (1 byte), salt (32), nonce (12), ciphertext (32), tag (16), by
/// AES-256-GCM under HKDF-SHA256 of the other key. Kind and host of the slot are authenticated, and
/// from form 2 on the form, which says that the sets of rows are authenticated (``RowSets``).
struct KeySlot {
  /// Whether a database with a slot that opens must have authenticated sets of rows.
  typealias UnlockedKey = (dataKey: SymmetricKey, hasRowSets: Bool)

  private static let form: UInt8 = 2
  /// The form that 0.1.0 wrote.
  static let firstForm: UInt8 = 1
  private static let saltCount = 32

  let kind: String
  /// Empty: for every host.
  let host: String

  static let master = KeySlot(kind: "master", host: "")
  static let recovery = KeySlot(kind: "recovery", host: "")

  func exists(in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM key_slots WHERE kind = ? AND host = ?)",
      arguments: [kind, host]) ?? false
  }

  /// The row of the slot.
  var row: GuardedRows { GuardedRows(.keySlots, "kind = ? AND host = ?", [kind, host]) }

  /// Wraps the data key by another one; what was in the slot is gone then.
  ///
  /// The caller sees to the sets of rows.
  func put(
    _ dataKey: SymmetricKey, under key: SymmetricKey, at now: Timestamp, entropy: any Entropy,
    form: UInt8 = Self.form, into db: Database
  ) throws {
    let salt = entropy.bytes(Self.saltCount)
    let box = try dataKey.withUnsafeBytes { bytes in
      try AES.GCM.seal(
        bytes.bindMemory(to: UInt8.self), using: wrappingKey(key, salt: salt, form),
        nonce: AES.GCM.Nonce(data: entropy.bytes(12)), authenticating: authenticated(form))
    }
    let wrapped = Data([form]) + salt + box.nonce + box.ciphertext + box.tag
    try db.execute(
      sql: """
        INSERT INTO key_slots (kind, host, created_at, wrapped) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET created_at = excluded.created_at, wrapped = excluded.wrapped
        """,
      arguments: [kind, host, now.milliseconds, wrapped])
  }

  /// - Returns: The data key, or nil when there is no such slot or it does not open with this key.
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
