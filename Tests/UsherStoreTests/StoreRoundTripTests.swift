import Testing
import UsherCore

@testable import UsherStore

@Suite("Round trips through the store")
struct StoreRoundTripTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  @Test("the store reads the rows of every table back equal after a restart")
  func everyTable() async throws {
    let expiry = StoreFixture.now + .seconds(3600)
    var second = FlowRow.sample("flw_2")
    second.owner = .anna
    second.requestID = nil
    second.key = "event-7"
    try await fixture.create([
      .putFlow(.sample()), .putFlow(second), .appendJournal(.sample(revision: 1)),
      .appendJournal(.sample(revision: 2)), .rememberRequest(.sample()),
      .putAccount(.sample()), .putToken(.sample()),
      .putToken(.sample(audience: "api", expiresAt: expiry)),
      .putConsent(.sample()), .putConsent(.sample(grant: "read.lastname")),
      .putConsent(.sample(client: "(user)")), .putLocalAuth(.sample()),
      .putLocalAuth(.sample(uid: 1001)),
      .putCredential("work-client-secret", Secret("s3cr3t")),
    ])
    let store = try fixture.open()
    #expect(Set(try store.loadFlows()) == [.sample(), second])
    #expect(try store.loadJournal() == [.sample(revision: 1), .sample(revision: 2)])
    #expect(try store.loadRequests() == [.sample()])
    #expect(try store.loadAccounts() == [.sample()])
    #expect(
      Set(try store.loadTokens())
        == [.sample(), .sample(audience: "api", expiresAt: expiry)])
    #expect(
      Set(try store.loadConsents())
        == [.sample(), .sample(grant: "read.lastname"), .sample(client: "(user)")])
    #expect(Set(try store.loadLocalAuth()) == [.sample(), .sample(uid: 1001)])
    #expect(
      try store.loadCredentials()
        == [CredentialRow(name: "work-client-secret", value: Secret("s3cr3t"))])
  }

  @Test("storing a row again replaces it and keeps the rows that depend on it")
  func replacing() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putFlow(.sample()), .appendJournal(.sample()), .putAccount(.sample()), .putToken(.sample()),
      .putConsent(.sample()), .putLocalAuth(.sample()), .putCredential("name", Secret("old")),
    ])
    var flow = FlowRow.sample(payload: "later")
    flow.status = "succeeded"
    flow.revision = 4
    var account = AccountRow.sample(subject: "anna@example.org")
    account.payload = SealedPayload([1, 2])
    var token = TokenRow.sample()
    token.status = "dead"
    var consent = ConsentRow.sample(payload: "renewed")
    consent.expiresAt = consent.expiresAt + .seconds(60)
    let passcode = LocalAuthRow(realm: "host", uid: 1000, payload: SealedPayload([3]))
    try await store.commit([
      .putFlow(flow), .putAccount(account), .putToken(token), .putConsent(consent),
      .putLocalAuth(passcode), .putCredential("name", Secret("new")),
    ])
    #expect(try store.loadFlows() == [flow])
    #expect(try store.loadJournal() == [.sample()])
    #expect(try store.loadAccounts() == [account])
    #expect(try store.loadTokens() == [token])
    #expect(try store.loadConsents() == [consent])
    #expect(try store.loadLocalAuth() == [passcode])
    #expect(try store.loadCredentials().map(\.value) == [Secret("new")])
  }

  @Test("deleting a flow deletes its journal and keeps its requestId")
  func deletingFlow() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putFlow(.sample()), .putFlow(.sample("flw_2")), .appendJournal(.sample()),
      .appendJournal(.sample("flw_2")), .rememberRequest(.sample()),
    ])
    try await store.commit([.deleteFlow(FlowID("flw_1")), .deleteFlow(FlowID("flw_none"))])
    #expect(try store.loadFlows().map(\.id) == [FlowID("flw_2")])
    #expect(try store.loadJournal().map(\.flow) == [FlowID("flw_2")])
    #expect(try store.loadRequests() == [.sample()])
  }

  @Test("deleting an account deletes its tokens; tokens and credentials can be deleted singly")
  func deletingTheRest() async throws {
    let store = try fixture.open()
    let one = AccountID("acc_1")
    let two = AccountID("acc_2")
    try await store.commit([
      .putAccount(.sample()), .putAccount(.sample("acc_2", subject: "bert")),
      .putToken(.sample()), .putToken(.sample("acc_2")),
      .putToken(.sample("acc_2", audience: "api")),
      .putCredential("a", Secret("1")), .putCredential("b", Secret("2")),
    ])
    try await store.commit([
      .deleteAccount(one), .deleteToken(two, audience: "api", scope: "openid profile"),
      .deleteCredential("a"),
    ])
    #expect(try store.loadAccounts().map(\.id) == [two])
    #expect(try store.loadTokens() == [.sample("acc_2")])
    #expect(try store.loadCredentials().map(\.name) == ["b"])
    try await store.commit([.deleteTokens(two)])
    #expect(try store.loadTokens().isEmpty)
    #expect(try store.loadAccounts().count == 1)
  }

  @Test("deleting an account deletes its consents, and a consent can be deleted singly")
  func deletingConsents() async throws {
    let store = try fixture.open()
    let (one, two) = (AccountID("acc_1"), AccountID("acc_2"))
    try await store.commit([
      .putAccount(.sample()), .putAccount(.sample("acc_2", subject: "bert")),
      .putConsent(.sample()), .putConsent(.sample("acc_2")),
      .putConsent(.sample("acc_2", grant: "read.lastname")),
      .putConsent(.sample("acc_2", client: "(user)")),
    ])
    try await store.commit([
      .deleteAccount(one), .deleteConsent(two, client: "till", grant: "read.lastname"),
      .deleteConsent(two, client: "desk", grant: "read.firstname"),
    ])
    #expect(
      Set(try store.loadConsents()) == [.sample("acc_2"), .sample("acc_2", client: "(user)")])
  }

  @Test("a consent of a missing account is refused as not found")
  func consentOfNobody() async throws {
    let store = try fixture.open()
    let error = await #expect(throws: UsherError.self) {
      try await store.commit([.putConsent(.sample())])
    }
    #expect(error?.reason == .notFound)
    try await store.commit([.putAccount(.sample()), .putConsent(.sample())])
    #expect(try store.loadConsents() == [.sample()])
  }

  @Test("the store deletes confirmations and notes singly, and expired confirmations together")
  func confirmations() async throws {
    let store = try fixture.open()
    let later = ConfirmationRow.sample(client: "desk", expiresAt: StoreFixture.now + .seconds(301))
    try await store.commit([
      .putConfirmation(.sample()), .putConfirmation(.sample(question: "totp.code work")),
      .putConfirmation(later), .putNote(.sample()), .putNote(.sample(payload: "again")),
      .putNote(.sample("other")),
    ])
    #expect(try store.loadConfirmations().count == 3)
    #expect(try store.loadNote("lock") == .sample(payload: "again"))
    try await store.commit([
      .deleteConfirmation(
        realm: "host", uid: 1000, client: "till", question: "totp.code work"),
      .deleteNote("lock"), .deleteNote("none"),
    ])
    #expect(Set(try store.loadConfirmations()) == [.sample(), later])
    #expect(try store.loadNote("lock") == nil)
    #expect(try store.loadNote("other") == .sample("other"))
    try await store.commit([.forgetConfirmations(expiredBy: StoreFixture.now + .seconds(300))])
    #expect(try store.loadConfirmations() == [later])
  }

  @Test("deleting one user's local authentication keeps the other users' rows")
  func deletingLocalAuth() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putLocalAuth(.sample()), .putLocalAuth(.sample(uid: 1001)),
      .putLocalAuth(.sample("other")),
    ])
    try await store.commit([
      .deleteLocalAuth(realm: "host", uid: 1000), .deleteLocalAuth(realm: "none", uid: 1001),
    ])
    #expect(Set(try store.loadLocalAuth()) == [.sample(uid: 1001), .sample("other")])
  }

  @Test("an owner with an empty client name equals an owner without a client")
  func emptyClient() {
    #expect(Owner(realm: "host", uid: 1, client: "") == Owner(realm: "host", uid: 1))
  }

  @Test("the store's status has the file's path, schema version and size")
  func status() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    #expect(store.status.path == fixture.path)
    #expect(store.status.schemaVersion == 5)
    #expect(store.status.sizeBytes == Int64(fixture.bytes().count + fixture.bytes("-wal").count))
  }
}
