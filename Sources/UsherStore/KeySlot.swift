import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// The data key, wrapped so that one other key opens it.
///
/// A wrapped key is: form (1 byte, here 1), salt (32), nonce (12), ciphertext (32), tag (16), by
/// AES-256-GCM under HKDF-SHA256 of the other key. Kind and host of the slot are authenticated.
struct KeySlot {
  private static let form: UInt8 = 1
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

  /// Wraps the data key by another one; what was in the slot is gone then.
  func put(
    _ dataKey: SymmetricKey, under key: SymmetricKey, at now: Timestamp, entropy: any Entropy,
    into db: Database
  ) throws {
    let salt = entropy.bytes(Self.saltCount)
    let box = try dataKey.withUnsafeBytes { bytes in
      try AES.GCM.seal(
        bytes.bindMemory(to: UInt8.self), using: wrappingKey(key, salt: salt),
        nonce: AES.GCM.Nonce(data: entropy.bytes(12)), authenticating: authenticated)
    }
    let wrapped = Data([Self.form]) + salt + box.nonce + box.ciphertext + box.tag
    try db.execute(
      sql: """
        INSERT INTO key_slots (kind, host, created_at, wrapped) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET created_at = excluded.created_at, wrapped = excluded.wrapped
        """,
      arguments: [kind, host, now.milliseconds, wrapped])
  }

  /// - Returns: The data key, or nil when the slot does not open with this key.
  /// - Throws: `storage_unavailable` when there is no such slot.
  func open(with key: SymmetricKey, in db: Database) throws -> SymmetricKey? {
    let wrapped = try Data.fetchOne(
      db, sql: "SELECT wrapped FROM key_slots WHERE kind = ? AND host = ?", arguments: [kind, host])
    guard let wrapped else {
      throw UsherError(.storageUnavailable, "the database has no key slot of kind \(kind)")
    }
    let bytes = [UInt8](wrapped)
    let start = 1 + Self.saltCount
    guard bytes.first == Self.form, bytes.count == start + 60 else { return nil }
    let opened = try? AES.GCM.open(
      AES.GCM.SealedBox(combined: bytes[start...]),
      using: wrappingKey(key, salt: Array(bytes[1..<start])), authenticating: authenticated)
    return opened.map { SymmetricKey(data: $0) }
  }

  private var authenticated: [UInt8] {
    var writer = ByteWriter()
    writer.append("usherd key slot")
    writer.append(kind)
    writer.append(host)
    return writer.bytes
  }

  private func wrappingKey(_ key: SymmetricKey, salt: [UInt8]) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, salt: salt, info: authenticated, outputByteCount: 32)
  }
}
