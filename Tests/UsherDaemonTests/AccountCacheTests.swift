import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Accounts on disk, and a way to create account repositories with an empty memory cache.
final class ColdHarness: Sendable {
  let place: TemporaryDirectory
  let store: Store
  let clock = FakeClock()
  private let dependencies: Dependencies

  init(room: Int = 16, listed: Int = 2000) throws {
    place = try TemporaryDirectory()
    store = try place.store(clock)
    var config = Config()
    config.limits.accountsInMemory = room
    config.limits.accountsInList = listed
    config.providers = [try .sample()]
    // The tests create more accounts than the fake entropy has distinct ids for.
    dependencies = Dependencies(
      configStore: .fake(config), clock: clock, entropy: SystemEntropy(),
      scheduler: FakeScheduler(clock), processors: 2, log: .silent)
  }

  func repository(_ store: Store? = nil) -> AccountRepository {
    AccountRepository(
      dependencies: dependencies, events: EventBus(historyLimit: 10), store: store ?? self.store)
  }

  @discardableResult
  func signIn(
    _ subject: String, owner: Owner = .anna, provider: ProviderName = .work,
    in repository: AccountRepository? = nil
  ) async throws -> AccountRecord {
    clock.advance(by: .seconds(1))
    var grant = AccountGrant.sample(
      subject, keepAlive: true,
      tokens: .sample(
        "access of \(subject)", expiresAt: clock.now() + .seconds(300), scope: "openid email"))
    grant.attributes = ["mode": "oauth2"]
    grant.profile = ["name": .string(subject)]
    grant.totpSecret = Sealed(Secret("GEZDGNBV"))
    grant.consents = [ConsentGrant(grant: "read.name", member: "name", expiresAt: .latest)]
    return try await (repository ?? self.repository()).persist(
      grant, of: owner, at: provider, client: "till", place: try ProviderConfig.sample().tokenPlace)
  }
}

extension AccountRecord {
  fileprivate func isSame(as other: AccountRecord) -> Bool {
    id == other.id && owner == other.owner && provider == other.provider
      && subject == other.subject && details == other.details && consents == other.consents
      && wakeAt == other.wakeAt && tokens.mapValues(\.reply) == other.tokens.mapValues(\.reply)
      && tokens.mapValues(\.issuedAt) == other.tokens.mapValues(\.issuedAt)
  }
}

@Suite("Reading of accounts that are not in memory", .mayBlock, .timeLimit(.minutes(10)))
struct AccountCacheTests {
  @Test("an account that was evicted from memory is read back from disk unchanged")
  func again() async throws {
    let harness = try ColdHarness()
    let repository = harness.repository()
    let first = try await harness.signIn("usr_0", in: repository)
    for number in 1...40 { try await harness.signIn("usr_\(number)", owner: .bert, in: repository) }
    #expect(!repository.isInMemory(first.id) && repository.count <= 16)
    let back = try #require(try repository.find(first.id))
    #expect(back.isSame(as: first) && repository.isInMemory(first.id))
    #expect(back.wakeAt != nil && back.tokens.count == 1 && !back.consents.entries.isEmpty)
  }

  @Test(
    "a new account repository reads no account at first, and each one from disk once, on demand")
  func once() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    #expect(repository.count == 0)
    #expect(try repository.find(record.id)?.isSame(as: record) == true && repository.count == 1)
    // With the store closed, only memory can answer.
    try harness.store.close()
    #expect(try repository.find(record.id)?.isSame(as: record) == true)
  }

  @Test("50 concurrent lookups of one account all return it, and memory holds it once")
  func together() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    let found = try await withThrowingTaskGroup(of: AccountRecord?.self) { group in
      for _ in 0..<50 { group.addTask { try repository.find(record.id, of: [.anna]) } }
      return try await group.reduce(into: [AccountRecord?]()) { $0.append($1) }
    }
    #expect(found.count == 50 && found.allSatisfy { $0?.isSame(as: record) == true })
    #expect(repository.count == 1)
  }

  @Test("another owner's account is not found, in memory or on disk, and the lookup loads nothing")
  func others() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    #expect(try repository.find(record.id, of: [.bert]) == nil && repository.count == 0)
    #expect(try repository.find(record.id) != nil)
    #expect(try repository.find(record.id, of: [.bert]) == nil)
    #expect(!repository.isInMemory(.account(record.id), for: [.bert]))
    #expect(!repository.isInMemory(.account(AccountID("acc_none")), for: [.bert]))
  }

  @Test("an owner's account list at a provider, even an empty one, is read from disk only once")
  func lists() async throws {
    let harness = try ColdHarness(room: 64)
    let one = try await harness.signIn("usr_1")
    let two = try await harness.signIn("usr_2")
    try await harness.signIn("usr_3", provider: ProviderName("home"))
    try await harness.signIn("usr_4", owner: .bert)
    let repository = harness.repository()
    #expect(!repository.isInMemory(.provider(.work), for: [.anna]))
    try repository.read(.provider(.work), for: [.anna])
    #expect(repository.isInMemory(.provider(.work), for: [.anna]))
    #expect(!repository.isInMemory(.provider(.work), for: [.anna, .bert]))
    let none = ProviderName("none")
    #expect(try repository.accounts(of: .anna, at: none).isEmpty)
    #expect(repository.isInMemory(.provider(none), for: [.anna]))
    let three = try await harness.signIn("usr_5", in: repository)
    repository.remove(one)
    try harness.store.close()
    #expect(try repository.accounts(of: .anna, at: .work).map(\.id) == [two.id, three.id])
  }

  @Test("all 90 accounts of an owner are listed, oldest first, while at most 16 stay in memory")
  func long() async throws {
    let harness = try ColdHarness()
    var ids: [AccountID] = []
    let maker = harness.repository()
    for number in 0..<90 { ids.append(try await harness.signIn("usr_\(number)", in: maker).id) }
    let repository = harness.repository()
    #expect(try repository.accounts(of: .anna).map(\.id) == ids)
    #expect(
      try repository.accounts(of: .anna, at: .work).map(\.id) == ids && repository.count <= 16)
    let picked = try repository.accounts(of: .anna) { $0.subject.hasSuffix("7") }
    #expect(picked.map(\.id) == stride(from: 7, to: 90, by: 10).map { ids[$0] })
    #expect(try repository.accounts(of: .anna, limit: 20).count > 20)
    #expect(try repository.hasAccounts(of: .anna, at: .work))
    #expect(try !repository.hasAccounts(of: .bert, at: .work))
  }

  @Test("a caller with more than 100 accounts at a provider is asked to name one")
  func ambiguous() async throws {
    let harness = try ColdHarness()
    let maker = harness.repository()
    for number in 0...AccountRepository.maxChoices {
      try await harness.signIn("usr_\(number)", in: maker)
    }
    let repository = harness.repository()
    let caller = try Caller.program()
    let records = try repository.accounts(
      for: caller, "token.get", at: .work, limit: AccountRepository.maxChoices)
    let error = #expect(throws: UsherError.self) {
      try repository.onlyAccount(among: records, at: .work, field: "account")
    }
    #expect(
      error?.message == "there are more than 100 accounts at provider work: name one")
  }

  @Test("a new sign-in with a subject that is stored only on disk updates that account")
  func signedInAgain() async throws {
    let harness = try ColdHarness()
    let first = try await harness.signIn("usr_anna")
    let second = try await harness.signIn("usr_anna")
    #expect(second.id == first.id && second.details.createdAt == first.details.createdAt)
    #expect(try harness.store.loadAccounts().count == 1)
  }

  @Test("a forgotten account does not come back from disk, and a changed attribute is on disk")
  func changed() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    try await repository.write(repository.update(record) { $0.attributes = ["mode": "other"] })
    #expect(try repository.find(record.id)?.details.attributes == ["mode": "other"])
    #expect(try harness.repository().find(record.id)?.details.attributes == ["mode": "other"])
    try await harness.store.commit([.deleteAccount(record.id)])
    repository.remove(record)
    #expect(try repository.find(record.id) == nil)
    #expect(try repository.accounts(of: .anna).isEmpty)
  }

  @Test("reading an account keeps the account repository's generation, and removing one changes it")
  func generation() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    let before = repository.generation
    _ = try repository.find(record.id)
    _ = try repository.accounts(of: .anna)
    #expect(repository.generation == before)
    repository.remove(record)
    #expect(repository.generation != before)
  }

  @Test(
    "a damaged account row gives only its owner an error that names the row; other rows are read")
  func damaged() async throws {
    let harness = try ColdHarness()
    let good = try await harness.signIn("usr_good")
    let bad = try await harness.signIn("usr_bad", owner: .bert)
    try harness.store.close()
    try execute(
      "UPDATE accounts SET sealed = zeroblob(64) WHERE id = '\(bad.id)'",
      at: harness.store.status.path)
    let store = try harness.place.store(harness.clock)
    let repository = harness.repository(store)
    #expect(try repository.find(good.id)?.isSame(as: good) == true)
    let error = #expect(throws: UsherError.self) { try repository.find(bad.id, of: [.bert]) }
    #expect(error?.reason == .storageUnavailable)
    #expect(error?.message.contains("accounts/\(bad.id)") == true)
    #expect(throws: UsherError.self) { try repository.accounts(of: .bert) }
    #expect(try repository.find(bad.id, of: [.anna]) == nil)
  }
}

@Suite("Wake-up times of accounts", .timeLimit(.minutes(10)))
struct WakingTests {
  private let harness: ColdHarness
  private let end: Timestamp

  init() throws {
    harness = try ColdHarness()
    end = harness.clock.now() + .seconds(10_000)
  }

  private func record(
    keepAlive: Bool, expiresAt: Timestamp?, refreshExpiresAt: Timestamp?,
    refreshToken: String? = "refresh"
  ) throws -> AccountRecord {
    try harness.repository().update(
      .sample(
        keepAlive: keepAlive,
        tokens: .sample(
          refreshToken: refreshToken, expiresAt: expiresAt, refreshExpiresAt: refreshExpiresAt)),
      owner: .anna, provider: .work, at: harness.clock.now()
    ).record
  }

  @Test("without keepAlive an account wakes when its refresh token expires, if that is known")
  func grant() throws {
    let soon = harness.clock.now() + .seconds(900)
    #expect(
      try record(keepAlive: false, expiresAt: soon, refreshExpiresAt: end).wakeAt == end)
    #expect(
      try record(keepAlive: false, expiresAt: soon, refreshExpiresAt: nil).wakeAt == nil)
    #expect(
      try record(
        keepAlive: true, expiresAt: soon, refreshExpiresAt: end, refreshToken: nil
      ).wakeAt == nil)
  }

  @Test("an account with keepAlive wakes 60 s before its access token expires, if that is known")
  func renewal() throws {
    let soon = harness.clock.now() + .seconds(900)
    #expect(
      try record(keepAlive: true, expiresAt: soon, refreshExpiresAt: end).wakeAt
        == soon - .seconds(60))
    #expect(
      try record(keepAlive: true, expiresAt: nil, refreshExpiresAt: nil).wakeAt == nil)
  }

  @Test("an account with a dead grant has no wake-up time")
  func dead() async throws {
    let record = try await harness.signIn("usr_anna")
    #expect(record.wakeAt != nil)
    let update = try #require(
      try harness.repository().update(
        droppingTokensOf: record, errorCode: ProviderErrorCode(name: .work, code: "revoked")))
    #expect(update.record.wakeAt == nil)
    try await harness.store.commit(update.changes)
    #expect(try harness.store.dueAccounts(until: .latest, atMost: 9).isEmpty)
  }
}
