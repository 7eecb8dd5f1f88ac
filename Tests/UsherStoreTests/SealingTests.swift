import FoundationEssentials
import GRDB
import Testing
import UsherCore

@testable import UsherStore

@Suite("Sealing of rows")
struct SealingTests {
  let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test("no secret is in the database files while open, after deletion or after closing")
  func canaries() async throws {
    let canary = "CANARY-7f3a"
    var token = TokenRow.sample()
    token.payload = try SealedPayload(encoding: ["access": Sealed(Secret(canary))])
    let store = try fixture.open()
    try await store.commit([
      .putFlow(.sample(payload: canary)), .putAccount(.sample(subject: canary)), .putToken(token),
      .putConsent(.sample(payload: canary)), .putCredential("name", Secret(canary)),
    ])
    func isClean() -> Bool {
      ["", "-wal", "-shm", ".lock"].allSatisfy { !contains(fixture.bytes($0), Array(canary.utf8)) }
    }
    #expect(fixture.bytes("-wal").count > 0)
    #expect(isClean())
    try await store.commit([.deleteFlow(FlowID("flw_1")), .deleteAccount(AccountID("acc_1"))])
    #expect(isClean())
    try store.close()
    #expect(isClean())
  }

  @Test("the sealed bytes of a deleted row are gone from the database files after closing")
  func wiped() async throws {
    let store = try fixture.open()
    try await store.commit([.putCredential("name", Secret("value"))])
    let sealed = try await store.database.read { db in
      try Data.fetchOne(db, sql: "SELECT sealed FROM credentials")
    }
    let bytes = [UInt8](try #require(sealed))
    func isThere() -> Bool { contains(fixture.bytes() + fixture.bytes("-wal"), bytes) }
    #expect(isThere())
    try await store.commit([.deleteCredential("name")])
    try store.close()
    #expect(!isThere())
  }

  @Test("rows swapped between ids do not open; the error names the row but not its content")
  func swapped() async throws {
    try await fixture.create([
      .putFlow(.sample("flw_1", payload: "first")), .putFlow(.sample("flw_2", payload: "second")),
    ])
    try fixture.tamper(
      """
      UPDATE flows SET sealed = (SELECT sealed FROM flows AS other WHERE other.id <> flows.id)
      """)
    let store = try fixture.open()
    let error = try #require(throws: UsherError.self) { try store.loadFlows() }
    #expect(error.reason == .storageUnavailable)
    #expect(error.message.contains("flows/flw_"))
    #expect(!"\(error)".contains("first") && !"\(error)".contains("second"))
  }

  @Test("each flipped bit of a sealed row is detected")
  func flippedBits() async throws {
    let store = try fixture.open()
    let row = CredentialRow(name: "name", value: Secret("v"))
    let sealed = try store.sealer.seal(row)
    #expect(try store.sealer.open(sealed, into: row) == row)
    for bit in 0..<sealed.count * 8 {
      var flipped = sealed
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: UsherError.self) { try store.sealer.open(flipped, into: row) }
    }
  }

  @Test(
    "a stored row with changed clear columns or sealed bytes does not open",
    arguments: [
      "UPDATE flows SET uid = 0", "UPDATE flows SET realm = 'other'",
      "UPDATE flows SET client = ''", "UPDATE flows SET provider = 'other'",
      "UPDATE flows SET kind = 'other'", "UPDATE flows SET status = 'succeeded'",
      "UPDATE flows SET revision = 2", "UPDATE flows SET expires_at = expires_at + 1",
      "UPDATE flows SET id = 'flw_9'", "UPDATE flows SET sealed = x''",
      "UPDATE flows SET sealed = x'01'", "UPDATE flows SET sealed = zeroblob(64)",
      "UPDATE flows SET sealed = CAST(x'02' || substr(sealed, 2) AS BLOB)",
      "UPDATE accounts SET uid = 0", "UPDATE accounts SET subject_tag = zeroblob(32)",
      "UPDATE accounts SET wake_at = wake_at + 1", "UPDATE accounts SET wake_at = NULL",
      "UPDATE accounts SET wake_at = 0", "UPDATE accounts SET call_tag = NULL",
      "UPDATE accounts SET call_tag = x''", "UPDATE accounts SET call_tag = zeroblob(32)",
      "UPDATE tokens SET status = 'dead'",
      "UPDATE tokens SET expires_at = 1",
      "UPDATE tokens SET audience = 'api'", "UPDATE credentials SET name = 'other'",
      "UPDATE consents SET client = '(user)'", "UPDATE consents SET grant_name = 'read.email'",
      "UPDATE consents SET expires_at = expires_at + 1",
      "UPDATE consents SET sealed = zeroblob(64)", "UPDATE local_auth SET uid = 0",
      "UPDATE local_auth SET realm = 'other'", "UPDATE local_auth SET sealed = x'01'",
      "UPDATE confirmations SET client = 'desk'", "UPDATE confirmations SET question = 'other'",
      "UPDATE confirmations SET expires_at = expires_at + 1", "UPDATE confirmations SET uid = 0",
      "UPDATE notes SET sealed = zeroblob(64) WHERE name = 'lock'",
    ])
  func changed(_ sql: String) async throws {
    var account = AccountRow.sample()
    account.wakeAt = StoreFixture.now
    account.callTag = Data([1, 2, 3])
    try await fixture.create([
      .putFlow(.sample()), .putAccount(account), .putToken(.sample()), .putConsent(.sample()),
      .putLocalAuth(.sample()), .putCredential("name", Secret("value")),
      .putConfirmation(.sample()), .putNote(.sample()),
    ])
    try fixture.tamper(sql)
    let error = #expect(throws: UsherError.self) {
      let store = try fixture.open()
      _ = (try store.loadAccounts(), try store.loadTokens(), try store.loadCredentials())
      _ = (try store.loadFlows(), try store.loadConsents(), try store.loadLocalAuth())
      _ = (try store.loadConfirmations(), try store.loadNote("lock"))
    }
    if sql.contains("flows") { #expect(error?.message.contains("cannot be decrypted") == true) }
    #expect(throws: UsherError.self) { try fixture.open().check() }
  }

  @Test(
    "a check of the store names a damaged row that a start does not read",
    arguments: [
      ("UPDATE owners SET sealed = zeroblob(64)", "owners/host/1000"),
      ("UPDATE owners SET is_withheld = 1", "owners/host/1000"),
      ("UPDATE notes SET sealed = zeroblob(64) WHERE name = 'other'", "notes/other"),
    ])
  func checked(_ sql: String, _ row: String) async throws {
    try await fixture.create([.putOwner(.sample()), .putNote(.sample("other"))])
    let sound = try fixture.open()
    try sound.check()
    try sound.close()
    try fixture.tamper(sql)
    let store = try fixture.open(acceptsChanges: true)
    let error = #expect(throws: UsherError.self) { try store.check() }
    #expect(error?.message.contains(row) == true)
  }

  @Test("a check of the store does not report a damaged head of the audit log")
  func checkedHead() async throws {
    try await fixture.create()
    try fixture.tamper("UPDATE notes SET sealed = zeroblob(64) WHERE name = 'audit.head'")
    try fixture.open().check()
  }

  @Test("sealing the same row of the store twice gives different bytes")
  func salted() throws {
    let store = try fixture.open()
    let row = CredentialRow(name: "name", value: Secret("v"))
    #expect(try store.sealer.seal(row) != store.sealer.seal(row))
  }

  @Test("a sealed secret can be encoded and decoded only by the store's coder")
  func coder() throws {
    let state = ["verifier": Sealed(Secret("abc"))]
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(state) }
    let bytes = try StoreCoder.encode(state)
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"verifier":"abc"}"#)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([String: Sealed<Secret>].self, from: Data(bytes))
    }
    #expect(try StoreCoder.decode([String: Sealed<Secret>].self, from: bytes) == state)
    #expect(try SealedPayload(encoding: state).decoded() == state)
  }

  @Test("the store's coder sorts keys, so that equal values encode to equal bytes")
  func sortedKeys() throws {
    let bytes = try StoreCoder.encode(["b": "/", "a": "", "c": ""])
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":"","b":"/","c":""}"#)
  }

  @Test("a coding error names the type and the member but quotes no value")
  func codingErrors() throws {
    struct Numbers: Codable { var inner: [String: Int] }
    let bytes = Array(#"{"inner":{"n":"CANARY"}}"#.utf8)
    let error = try #require(throws: UsherError.self) {
      try StoreCoder.decode(Numbers.self, from: bytes)
    }
    let fault = try #require(error.cause as? StoreCodingError)
    #expect(fault.type == "Numbers")
    #expect(fault.member == "inner.n")
    #expect(!"\(error)".contains("CANARY"))
    let infinite = try #require(throws: UsherError.self) {
      try StoreCoder.encode(["x": Double.infinity])
    }
    #expect((infinite.cause as? StoreCodingError)?.member == "x")
  }

  @Test("a sealed payload does not print its content")
  func payloadIsMute() {
    let row = FlowRow.sample(payload: "CANARY")
    var dumped = ""
    dump(row, to: &dumped)
    let canary = "\(Array("CANARY".utf8))"
    #expect(!"\(row)\(dumped)".contains("CANARY"))
    #expect(!"\(row)\(dumped)".contains(canary))
    #expect("\(row.payload)" == "<sealed payload>")
  }

  @Test("byte fields of a row that are truncated or have an invalid length are not read")
  func byteFields() {
    var writer = ByteWriter()
    writer.append("text")
    writer.append(nil as String?)
    writer.append("more" as String?)
    writer.append(-5)
    var reader = ByteReader(writer.bytes)
    #expect(reader.text() == "text")
    #expect(reader.optionalText() == .some(nil))
    #expect(reader.optionalText() == "more")
    #expect(reader.number() == -5)
    #expect(reader.isAtEnd)
    #expect(reader.number() == nil)
    var short = ByteReader(Array(writer.bytes.prefix(10)))
    #expect(short.text() == nil)
    var negative = ByteReader([UInt8](repeating: 0xff, count: 16))
    #expect(negative.field() == nil)
    var neither = ByteReader([0, 0, 0, 0, 0, 0, 0, 2])
    #expect(neither.optionalText() == nil)
  }
}

func contains(_ haystack: [UInt8], _ needle: [UInt8]) -> Bool {
  Data(haystack).firstRange(of: Data(needle)) != nil
}

@Suite("Installation ids")
struct InstallationTests {
  @Test("an owner's installation id at a provider is a UUID that survives a restart")
  func lasting() throws {
    let fixture = try StoreFixture()
    let anna = Owner(realm: "host", uid: 1000)
    let tel = ProviderName("tel")
    let store = try fixture.open()
    let first = store.installationID(of: anna, provider: tel)
    try store.close()
    #expect(try fixture.open().installationID(of: anna, provider: tel) == first)
    let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
    #expect(first.wholeMatch(of: form) != nil)
  }

  @Test("each owner, client, provider and database has its own installation id")
  func distinct() throws {
    let (here, there) = (try StoreFixture(), try StoreFixture())
    let (store, other) = (try here.open(), try there.open())
    let tel = ProviderName("tel")
    let ids = [
      store.installationID(of: Owner(realm: "host", uid: 1000), provider: tel),
      store.installationID(of: Owner(realm: "host", uid: 1001), provider: tel),
      store.installationID(of: Owner(realm: "other", uid: 1000), provider: tel),
      store.installationID(of: Owner(realm: "host", uid: 1000, client: "till"), provider: tel),
      store.installationID(of: Owner(realm: "host", uid: 1000), provider: ProviderName("tel2")),
      other.installationID(of: Owner(realm: "host", uid: 1000), provider: tel),
    ]
    #expect(Set(ids).count == ids.count)
  }
}
