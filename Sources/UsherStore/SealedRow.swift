import FoundationEssentials
import UsherCore

/// A table row with clear, authenticated columns and hidden, encrypted columns.
protocol SealedRow {
  /// The table, the primary key and the other clear columns that are authenticated.
  var identity: RowIdentity { get }
  /// The encoded values of the hidden columns, before encryption.
  var plaintext: [UInt8] { get }
  /// Sets the hidden columns from decrypted bytes; returns false if the bytes are malformed.
  mutating func restore(from plaintext: [UInt8]) -> Bool
}

/// A row whose only encrypted column is its payload.
protocol PayloadRow: SealedRow {
  var payload: SealedPayload { get set }
}

extension PayloadRow {
  var plaintext: [UInt8] { payload.bytes }

  mutating func restore(from plaintext: [UInt8]) -> Bool {
    payload = SealedPayload(plaintext)
    return true
  }
}

extension Sealer {
  func seal(_ row: some SealedRow) throws -> Data { try seal(row.plaintext, as: row.identity) }

  func open<Row: SealedRow>(_ sealed: Data, into row: Row) throws(UsherError) -> Row {
    let plaintext = try open(sealed, as: row.identity)
    var row = row
    guard row.restore(from: plaintext) else { throw Self.refusal(row.identity) }
    return row
  }
}

extension FlowRow: SealedRow {
  var identity: RowIdentity {
    var identity = RowIdentity(table: "flows", key: [id.rawValue])
    identity.bind(owner)
    identity.bind(provider.rawValue)
    identity.bind(kind)
    identity.bind(status)
    identity.bind(Int64(revision))
    identity.bind(expiresAt.milliseconds)
    return identity
  }

  var plaintext: [UInt8] {
    var writer = ByteWriter()
    writer.append(state)
    writer.append(createdAt.milliseconds)
    writer.append(updatedAt.milliseconds)
    writer.append(requestID)
    writer.append(key)
    writer.append(payload.bytes)
    return writer.bytes
  }

  mutating func restore(from plaintext: [UInt8]) -> Bool {
    var reader = ByteReader(plaintext)
    guard let state = reader.text(), let created = reader.number(), let updated = reader.number(),
      let requestID = reader.optionalText(), let key = reader.optionalText(),
      let payload = reader.field(), reader.isAtEnd
    else { return false }
    self.state = state
    createdAt = Timestamp(milliseconds: created)
    updatedAt = Timestamp(milliseconds: updated)
    self.requestID = requestID
    self.key = key
    self.payload = SealedPayload(payload)
    return true
  }
}

extension AccountRow: SealedRow {
  var identity: RowIdentity {
    var identity = RowIdentity(table: "accounts", key: [id.rawValue])
    identity.bind(owner)
    identity.bind(provider.rawValue)
    // Unknown values are left out: earlier schemas encrypted rows without these columns.
    if let wakeAt, wakeAt != Self.unknownWakeTime { identity.bind(wakeAt.milliseconds) }
    if let callTag, callTag != Self.unknownCallTag { identity.bind([UInt8](callTag)) }
    return identity
  }

  var plaintext: [UInt8] {
    var writer = ByteWriter()
    writer.append(subject)
    writer.append(payload.bytes)
    return writer.bytes
  }

  mutating func restore(from plaintext: [UInt8]) -> Bool {
    var reader = ByteReader(plaintext)
    guard let subject = reader.text(), let payload = reader.field(), reader.isAtEnd
    else { return false }
    self.subject = subject
    self.payload = SealedPayload(payload)
    return true
  }
}

extension TokenRow: PayloadRow {
  var identity: RowIdentity {
    var identity = RowIdentity(table: "tokens", key: [account.rawValue, audience, scope])
    identity.bind(status)
    identity.bind(expiresAt == nil ? 0 : 1)
    identity.bind(expiresAt?.milliseconds ?? 0)
    return identity
  }
}

extension ConsentRow: PayloadRow {
  var identity: RowIdentity {
    var identity = RowIdentity(table: "consents", key: [account.rawValue, client, grant])
    identity.bind(expiresAt.milliseconds)
    return identity
  }
}

extension LocalAuthRow: PayloadRow {
  var identity: RowIdentity { RowIdentity(table: "local_auth", key: [realm, String(uid)]) }
}

extension CredentialRow: SealedRow {
  var identity: RowIdentity { RowIdentity(table: "credentials", key: [name]) }

  var plaintext: [UInt8] { Array(value.revealed().utf8) }

  mutating func restore(from plaintext: [UInt8]) -> Bool {
    guard let text = String(validating: plaintext, as: UTF8.self) else { return false }
    value = Secret(text)
    return true
  }
}

extension ConfirmationRow: PayloadRow {
  var identity: RowIdentity {
    var identity = RowIdentity(
      table: "confirmations", key: [realm, String(uid), client, question])
    identity.bind(expiresAt.milliseconds)
    return identity
  }
}

extension OwnerRow: PayloadRow {
  var identity: RowIdentity {
    var identity = RowIdentity(table: "owners", key: [realm, String(uid)])
    identity.bind(isWithheld ? 1 : 0)
    return identity
  }
}

extension NoteRow: PayloadRow {
  var identity: RowIdentity { RowIdentity(table: "notes", key: [name]) }
}
