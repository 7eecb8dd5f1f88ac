import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

/// A temporary directory with a store, removed with this object.
final class StoreFixture: Sendable {
  static let masterKey = (0..<32).map { UInt8($0) }
  static let now = Timestamp(milliseconds: 1_700_000_000_123)

  let directory: String
  var path: String { directory + "/usherd.db" }

  init() throws {
    var template = Array(
      (FileManager.default.temporaryDirectory.path + "/usher.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemCallError(call: "mkdtemp", errno: errno) }
    directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func open(
    masterKey: [UInt8] = masterKey, recoveryKey: RecoveryKey? = nil, acceptsChanges: Bool = false,
    at now: Timestamp = now
  ) throws(UsherError) -> Store {
    try Self.open(
      path, masterKey: masterKey, recoveryKey: recoveryKey, acceptsChanges: acceptsChanges, at: now)
  }

  static func open(
    _ path: String, masterKey: [UInt8] = masterKey, recoveryKey: RecoveryKey? = nil,
    acceptsChanges: Bool = false, at now: Timestamp = now
  ) throws(UsherError) -> Store {
    try Store.open(
      path: path, masterKey: masterKey,
      recoveryKey: { () throws(UsherError) in recoveryKey }, acceptsChanges: acceptsChanges,
      keyStorage: { PlainKey(bytes: Array($0)) }, clock: FakeClock(now),
      entropy: SystemEntropy(), blocking: TestPool())
  }

  /// Creates a store with the changes and closes it.
  func create(_ changes: [Change] = []) async throws {
    let store = try open()
    try await store.commit(changes)
    try store.close()
  }

  /// Changes the database through an SQLite connection of its own.
  func tamper(_ sql: String) throws {
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { try $0.execute(sql: sql) }
    try database.close()
  }

  /// Expects that opening fails with these words and does not change the file.
  func expectRefusal(
    _ words: String, masterKey: [UInt8] = masterKey, recoveryKey: RecoveryKey? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = bytes()
    let error = try #require(throws: UsherError.self, sourceLocation: sourceLocation) {
      try open(masterKey: masterKey, recoveryKey: recoveryKey)
    }
    #expect(error.reason == .storageUnavailable, sourceLocation: sourceLocation)
    #expect(error.message.contains(words), "\(error.message)", sourceLocation: sourceLocation)
    let isUntouched = bytes() == before
    #expect(isUntouched, sourceLocation: sourceLocation)
  }

  /// Returns a copy of the database and its write-ahead log, as a kill at this moment leaves them.
  func crashed() throws -> StoreFixture {
    let crashed = try StoreFixture()
    try crashed.write(bytes())
    try crashed.write(bytes("-wal"), to: "-wal")
    return crashed
  }

  func bytes(_ suffix: String = "") -> [UInt8] {
    (try? Data(contentsOf: URL(filePath: path + suffix))).map { [UInt8]($0) } ?? []
  }

  func write(_ bytes: [UInt8], to suffix: String = "") throws {
    try Data(bytes).write(to: URL(filePath: path + suffix))
  }
}

/// A key in ordinary memory.
struct PlainKey: HeldKey {
  let bytes: [UInt8]

  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.span.bytes.withUnsafeBytes(body)
  }
}

extension Owner {
  static let anna = Owner(realm: "host", uid: 1000)
  static let till = Owner(realm: "host", uid: 1000, client: "till")
}

extension FlowRow {
  static func sample(_ id: String = "flw_1", payload: String = "payload") -> FlowRow {
    FlowRow(
      id: FlowID(id), owner: .till, provider: ProviderName("work"), kind: "login", status: "active",
      revision: 3,
      state: "challenged", createdAt: StoreFixture.now,
      updatedAt: StoreFixture.now + .milliseconds(1), expiresAt: StoreFixture.now + .seconds(60),
      requestID: "req-1", key: nil, payload: SealedPayload(Array(payload.utf8)))
  }
}

extension JournalRow {
  static func sample(_ flow: String = "flw_1", revision: Int = 3) -> JournalRow {
    JournalRow(
      flow: FlowID(flow), revision: revision, state: "challenged", status: "active",
      stepType: revision == 1 ? nil : "enterCode", at: StoreFixture.now)
  }
}

extension RequestRow {
  static func sample(_ flow: String = "flw_1", owner: Owner = .anna) -> RequestRow {
    RequestRow(
      owner: owner, provider: ProviderName("work"), requestID: "req-1", flow: FlowID(flow),
      expiresAt: StoreFixture.now + .seconds(60))
  }
}

extension AccountRow {
  static func sample(
    _ id: String = "acc_1", subject: String = "anna@example.com", owner: Owner = .anna
  ) -> AccountRow {
    AccountRow(
      id: AccountID(id), owner: owner, provider: ProviderName("work"), subject: subject,
      payload: SealedPayload(Array("profile".utf8)))
  }
}

extension ConsentRow {
  static func sample(
    _ account: String = "acc_1", client: String = "till", grant: String = "read.firstname",
    payload: String = "consent"
  ) -> ConsentRow {
    ConsentRow(
      account: AccountID(account), client: client, grant: grant,
      expiresAt: StoreFixture.now + .seconds(3600), payload: SealedPayload(Array(payload.utf8)))
  }
}

extension LocalAuthRow {
  static func sample(_ realm: String = "host", uid: UInt32 = 1000) -> LocalAuthRow {
    LocalAuthRow(realm: realm, uid: uid, payload: SealedPayload(Array("hash".utf8)))
  }
}

extension ConfirmationRow {
  static func sample(
    client: String = "till", question: String = "token.get work", payload: String = "allowed",
    expiresAt: Timestamp = StoreFixture.now + .seconds(300)
  ) -> ConfirmationRow {
    ConfirmationRow(
      realm: "host", uid: 1000, client: client, question: question, expiresAt: expiresAt,
      payload: SealedPayload(Array(payload.utf8)))
  }
}

extension NoteRow {
  static func sample(_ name: String = "lock", payload: String = "note") -> NoteRow {
    NoteRow(name: name, payload: SealedPayload(Array(payload.utf8)))
  }
}

extension TokenRow {
  static func sample(
    _ account: String = "acc_1", audience: String = "", expiresAt: Timestamp? = nil
  ) -> TokenRow {
    TokenRow(
      account: AccountID(account), audience: audience, scope: "openid profile",
      expiresAt: expiresAt, status: "valid", payload: SealedPayload(Array("tokens".utf8)))
  }
}

extension OwnerRow {
  static func sample(uid: UInt32 = 1000, isWithheld: Bool = false) -> OwnerRow {
    OwnerRow(
      realm: "host", uid: uid, isWithheld: isWithheld, payload: SealedPayload(Array("anna".utf8)))
  }
}

// Reads whole tables that the daemon never reads at once.
extension Store {
  func loadAccounts() throws(UsherError) -> [AccountRow] {
    try load("SELECT \(AccountRow.table.columns) FROM accounts") { columns in
      let clear = try AccountRow(clear: &columns)
      let tag: Data = try columns.next()
      return try self.open(columns.next(), tagged: tag, into: clear)
    }
  }

  func loadTokens() throws(UsherError) -> [TokenRow] { try loadRows(TokenRow.self) }

  func loadConsents() throws(UsherError) -> [ConsentRow] { try loadRows(ConsentRow.self) }

  func loadJournal() throws(UsherError) -> [JournalRow] {
    var rows: [JournalRow] = []
    try readJournal { rows.append($0) }
    return rows
  }

  /// Returns the remembered requests, including expired ones.
  func loadRequests() throws(UsherError) -> [RequestRow] {
    try load(
      "SELECT realm, uid, client, provider, request_id, flow, expires_at FROM requests"
    ) { columns in
      RequestRow(
        owner: try columns.owner(), provider: ProviderName(try columns.next()),
        requestID: try columns.next(), flow: FlowID(try columns.next()),
        expiresAt: try columns.time())
    }
  }
}
