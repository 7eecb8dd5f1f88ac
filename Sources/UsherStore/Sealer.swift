import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// Which row it is, and what in its clear columns must not be changed by anybody else.
struct RowIdentity {
  /// Table and primary key: for messages.
  let name: String
  /// Table and primary key: what the row's key is derived for.
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

/// AES-256-GCM of rows under keys derived from the data key.
///
/// A sealed row is: form (1 byte, here 1), salt (16), nonce (12), ciphertext, tag (16). The row's
/// key is HKDF-SHA256 (RFC 5869) of the data key with that salt, for table and primary key; these
/// and the bound columns are authenticated data. So a row opens only where it was written.
struct Sealer: Sendable {
  private static let form: UInt8 = 1
  private static let saltCount = 16

  private let dataKey: any HeldKey
  private let blindingKey: any HeldKey
  private let entropy: any Entropy

  /// - Throws: What `keep` throws.
  init(dataKey: SymmetricKey, keep: KeyKeeper, entropy: any Entropy) throws {
    self.dataKey = try dataKey.withUnsafeBytes(keep)
    self.entropy = entropy
    let blindingKey = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: dataKey, info: Array("usherd subject tag".utf8), outputByteCount: 32)
    self.blindingKey = try blindingKey.withUnsafeBytes(keep)
  }

  func seal(_ clear: [UInt8], as row: RowIdentity) throws -> Data {
    let salt = entropy.bytes(Self.saltCount)
    let box = try AES.GCM.seal(
      clear, using: key(salt: salt, for: row), nonce: AES.GCM.Nonce(data: entropy.bytes(12)),
      authenticating: row.authenticated.bytes)
    return Data([Self.form]) + salt + box.nonce + box.ciphertext + box.tag
  }

  /// - Throws: `storage_unavailable` naming the row, when it is not as it was sealed there.
  func open(_ sealed: Data, as row: RowIdentity) throws(UsherError) -> [UInt8] {
    let bytes = [UInt8](sealed)
    let start = 1 + Self.saltCount
    guard bytes.first == Self.form, bytes.count >= start + 28 else { throw Self.refusal(row) }
    do {
      let box = try AES.GCM.SealedBox(combined: bytes[start...])
      let key = key(salt: Array(bytes[1..<start]), for: row)
      return [UInt8](try AES.GCM.open(box, using: key, authenticating: row.authenticated.bytes))
    } catch {
      throw Self.refusal(row)
    }
  }

  /// Writes the data key into a slot, wrapped by `key`.
  func wrap(
    into slot: KeySlot, by key: SymmetricKey, at now: Timestamp, in db: Database
  ) throws {
    try slot.put(SymmetricKey(dataKey), under: key, at: now, entropy: entropy, into: db)
  }

  /// A keyed hash: equal for equal subjects of one owner and provider, and tells nothing else.
  func tag(ofSubject subject: String, owner: Owner, provider: ProviderName) -> Data {
    var row = RowIdentity(table: "accounts", key: [provider.rawValue])
    row.bind(owner)
    row.bind(subject)
    return tag(of: row)
  }

  /// A keyed hash: equal for equal values of one name, and tells nothing else.
  func tag(ofCredential value: Secret, named name: String) -> Data {
    var row = RowIdentity(table: "credential tags", key: [name])
    row.bind(value.revealed())
    return tag(of: row)
  }

  /// A keyed hash: equal for equal keys at one provider, and tells nothing else.
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

  /// A random version 4 UUID's form (RFC 9562 §5.4) of 122 keyed bits: the same for an owner and
  /// provider as long as the data key lives, and of no use for finding out either.
  func installationID(of owner: Owner, provider: ProviderName) -> String {
    var row = RowIdentity(table: "installations", key: [provider.rawValue])
    row.bind(owner)
    var bytes = Array(tag(of: row).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Data(bytes).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }
    let groups = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10...]]
    return groups.map { $0.joined() }.joined(separator: "-")
  }

  static func refusal(_ row: RowIdentity) -> UsherError {
    UsherError(
      .storageUnavailable,
      "the stored row \(row.name) does not open: it is damaged, or was changed or moved by "
        + "something other than usherd; restore a backup: usherctl restore")
  }

  private func key(salt: [UInt8], for row: RowIdentity) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(dataKey), salt: salt, info: row.place, outputByteCount: 32)
  }
}

extension SymmetricKey {
  /// A copy for one operation: Crypto wipes it when it is given back.
  fileprivate init(_ held: any HeldKey) {
    self = held.withUnsafeBytes { SymmetricKey(data: $0) }
  }
}
