import Testing
import UsherCore

@testable import UsherStore

@Suite("what is stored comes back after a restart")
struct StoreRoundTripTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  @Test("every row of every table is equal to what was put")
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
      try store.loadCredentials()
        == [CredentialRow(name: "work-client-secret", value: Secret("s3cr3t"))])
  }

  @Test("a put replaces the row and keeps what belongs to it")
  func replacing() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putFlow(.sample()), .appendJournal(.sample()), .putAccount(.sample()), .putToken(.sample()),
      .putCredential("name", Secret("old")),
    ])
    var flow = FlowRow.sample(payload: "later")
    flow.status = "succeeded"
    flow.revision = 4
    var account = AccountRow.sample(subject: "anna@example.org")
    account.payload = SealedPayload([1, 2])
    var token = TokenRow.sample()
    token.status = "dead"
    try await store.commit([
      .putFlow(flow), .putAccount(account), .putToken(token), .putCredential("name", Secret("new")),
    ])
    #expect(try store.loadFlows() == [flow])
    #expect(try store.loadJournal() == [.sample()])
    #expect(try store.loadAccounts() == [account])
    #expect(try store.loadTokens() == [token])
    #expect(try store.loadCredentials().map(\.value) == [Secret("new")])
  }

  @Test("deleting a flow takes its journal and leaves its requestId")
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

  @Test("deleting an account takes its tokens; tokens and credentials go one by one too")
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

  @Test("an empty client name is no client")
  func emptyClient() {
    #expect(Owner(realm: "host", uid: 1, client: "") == Owner(realm: "host", uid: 1))
  }

  @Test("the status names file, schema and size")
  func status() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    #expect(store.status.path == fixture.path)
    #expect(store.status.schemaVersion == 1)
    #expect(store.status.sizeBytes == Int64(fixture.bytes().count + fixture.bytes("-wal").count))
  }
}
