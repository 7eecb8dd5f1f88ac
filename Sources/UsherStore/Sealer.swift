import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// The identity of a row, to which its encryption is bound: the table, the primary key and the
/// other authenticated clear columns.
struct RowIdentity {
  /// The table and the primary key, for error messages.
  let name: String
  /// The table and the primary key, from which the row's encryption key is derived.
  fileprivate let place: [UInt8]
  private(set) var authenticated: ByteWriter

  init(table: String, key: [String]) {
    name = ([table] + key).joined(separator: "/")
    var writer = ByteWriter()
    writer.append("usherd row")
    writer.append(table)
    for part in key { writer.append(part) }
    place = writer.bytes
    authenticated = writer
  }

  mutating func bind(_ number: Int64) { authenticated.append(number) }
  mutating func bind(_ text: String) { authenticated.append(text) }
  mutating func bind(_ bytes: [UInt8]) { authenticated.append(bytes) }
  mutating func bind(_ owner: Owner) {
    authenticated.append(owner.realm)
    authenticated.append(Int64(owner.uid))
    authenticated.append(owner.client)
  }
}

/// Encrypts and decrypts rows with AES-256-GCM, under keys that are derived from the data key.
///
/// A sealed row consists of form (1 byte, here 1), salt (16), nonce (12), ciphertext and tag (16).
/// The row's key is HKDF-SHA256 (RFC 5869) of the data key with that salt, and with the table and
/// primary key as `info`. Table, primary key and the other clear columns are the authenticated
/// data. So a row that was moved to another key or table does not decrypt.
struct Sealer: Sendable {
  private static let form: UInt8 = 1
  private static let saltCount = 16

  private let dataKey: any HeldKey
  private let blindingKey: any HeldKey
  private let entropy: any Entropy

  /// Creates a sealer that keeps its keys in memory from `keyStorage`.
  ///
  /// - Throws: The errors of `keyStorage`.
  init(dataKey: SymmetricKey, keyStorage: KeyStorage, entropy: any Entropy) throws {
    self.dataKey = try dataKey.withUnsafeBytes(keyStorage)
    self.entropy = entropy
    let blindingKey = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: dataKey, info: Array("usherd subject tag".utf8), outputByteCount: 32)
    self.blindingKey = try blindingKey.withUnsafeBytes(keyStorage)
  }

  func seal(_ clear: [UInt8], as row: RowIdentity) throws -> Data {
    let salt = entropy.bytes(Self.saltCount)
    let sealedBox = try AES.GCM.seal(
      clear, using: key(salt: salt, for: row), nonce: AES.GCM.Nonce(data: entropy.bytes(12)),
      authenticating: row.authenticated.bytes)
    return Data([Self.form]) + salt + sealedBox.nonce + sealedBox.ciphertext + sealedBox.tag
  }

  /// Decrypts a row. Throws `storage_unavailable` with the row's name if something other than
  /// usherd altered or moved it.
  func open(_ sealed: Data, as row: RowIdentity) throws(UsherError) -> [UInt8] {
    let bytes = [UInt8](sealed)
    let start = 1 + Self.saltCount
    guard bytes.first == Self.form, bytes.count >= start + 28 else { throw Self.refusal(row) }
    do {
      let sealedBox = try AES.GCM.SealedBox(combined: bytes[start...])
      let key = key(salt: Array(bytes[1..<start]), for: row)
      return [UInt8](
        try AES.GCM.open(sealedBox, using: key, authenticating: row.authenticated.bytes))
    } catch {
      throw Self.refusal(row)
    }
  }

  /// Encrypts the data key with `key` and writes the result into a key slot.
  func wrap(
    into slot: KeySlot, by key: SymmetricKey, at now: Timestamp, in db: Database
  ) throws {
    try slot.store(SymmetricKey(dataKey), under: key, at: now, entropy: entropy, into: db)
  }

  /// Returns a keyed hash of an account's subject, which reveals only whether two subjects are
  /// equal. The hashes of one subject differ between owners and providers.
  func tag(ofSubject subject: String, owner: Owner, provider: ProviderName) -> Data {
    var row = RowIdentity(table: "accounts", key: [provider.rawValue])
    row.bind(owner)
    row.bind(subject)
    return tag(of: row)
  }

  /// Returns a keyed hash of a credential, which reveals only whether two values of that credential
  /// are equal.
  func tag(ofCredential value: Secret, named name: String) -> Data {
    var row = RowIdentity(table: "credential tags", key: [name])
    row.bind(value.revealed())
    return tag(of: row)
  }

  /// Returns a keyed hash of a callback's key, which reveals only whether two keys of callbacks
  /// from a provider are equal.
  func tag(ofCallKey key: String, at provider: ProviderName) -> Data {
    var row = RowIdentity(table: "call tags", key: [provider.rawValue])
    row.bind(key)
    return tag(of: row)
  }

  func tag(of row: RowIdentity) -> Data {
    Data(
      HMAC<SHA256>.authenticationCode(
        for: row.authenticated.bytes, using: SymmetricKey(blindingKey)))
  }

  /// Returns 122 bits of a keyed hash of owner and provider in the form of a version 4 UUID (RFC
  /// 9562 §5.4). The result stays the same as long as the data key does, and reveals neither owner
  /// nor provider.
  func installationID(of owner: Owner, provider: ProviderName) -> String {
    var row = RowIdentity(table: "installations", key: [provider.rawValue])
    row.bind(owner)
    var bytes = Array(tag(of: row).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let groups = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10...]]
    return groups.map(\.hexadecimal).joined(separator: "-")
  }

  static func refusal(_ row: RowIdentity) -> UsherError {
    UsherError(
      .storageUnavailable,
      "the stored row \(row.name) cannot be decrypted: it is damaged, or was changed or moved by "
        + "something other than usherd; restore a backup: usherctl restore")
  }

  private func key(salt: [UInt8], for row: RowIdentity) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(dataKey), salt: salt, info: row.place, outputByteCount: 32)
  }
}

extension SymmetricKey {
  /// Copies a held key for one operation. Swift Crypto wipes the copy when it is released.
  fileprivate init(_ held: any HeldKey) { self = held.withUnsafeBytes { SymmetricKey(data: $0) } }
}
