import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Accounts on disk, and books that have none of them in memory yet.
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
    // Of more accounts than the fake chance has names for.
    dependencies = Dependencies(
      configStore: .fake(config), clock: clock, entropy: SystemEntropy(),
      scheduler: FakeScheduler(clock))
  }

  func repository(_ store: Store? = nil) -> AccountRepository {
    AccountRepository(
      dependencies: dependencies, events: EventBus(remembered: 10), store: store ?? self.store)
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
    return try await (repository ?? self.repository()).keep(
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

@Suite("Accounts that are not in memory", .mayBlock)
struct AccountCacheTests {
  @Test("one that has gone from memory comes back equal to what it was")
  func again() async throws {
    let harness = try ColdHarness()
    let repository = harness.repository()
    let first = try await harness.signIn("usr_0", in: repository)
    for number in 1...40 { try await harness.signIn("usr_\(number)", owner: .bert, in: repository) }
    #expect(!repository.holds(first.id) && repository.count <= 16)
    let back = try #require(try repository.find(first.id))
    #expect(back.isSame(as: first) && repository.holds(first.id))
    #expect(back.wakeAt != nil && back.tokens.count == 1 && !back.consents.entries.isEmpty)
  }

  @Test("a start has none in memory; each is read when it is asked for, and once")
  func once() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    #expect(repository.count == 0)
    #expect(try repository.find(record.id)?.isSame(as: record) == true && repository.count == 1)
    // What is asked for now can only be in memory.
    try harness.store.close()
    #expect(try repository.find(record.id)?.isSame(as: record) == true)
  }

  @Test("many who ask for one at a time get the same, and it is there once")
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

  @Test("another's is not found, in memory or not, and does not come into it by asking")
  func others() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    #expect(try repository.find(record.id, of: [.bert]) == nil && repository.count == 0)
    #expect(try repository.find(record.id) != nil)
    #expect(try repository.find(record.id, of: [.bert]) == nil)
    #expect(!repository.holds(.account(record.id), for: [.bert]))
    #expect(!repository.holds(.account(AccountID("acc_none")), for: [.bert]))
  }

  @Test("an owner's at a provider are known whole once they were read, also that there are none")
  func lists() async throws {
    let harness = try ColdHarness(room: 64)
    let one = try await harness.signIn("usr_1")
    let two = try await harness.signIn("usr_2")
    try await harness.signIn("usr_3", provider: ProviderName("home"))
    try await harness.signIn("usr_4", owner: .bert)
    let repository = harness.repository()
    #expect(!repository.holds(.provider(.work), for: [.anna]))
    try repository.read(.provider(.work), for: [.anna])
    #expect(repository.holds(.provider(.work), for: [.anna]))
    #expect(!repository.holds(.provider(.work), for: [.anna, .bert]))
    let none = ProviderName("none")
    #expect(try repository.accounts(of: .anna, at: none).isEmpty)
    #expect(repository.holds(.provider(none), for: [.anna]))
    let three = try await harness.signIn("usr_5", in: repository)
    repository.remove(one)
    try harness.store.close()
    #expect(try repository.accounts(of: .anna, at: .work).map(\.id) == [two.id, three.id])
  }

  @Test("of many all are listed, oldest first, and no more than there is room for stay")
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
    #expect(try repository.accounts(of: .anna, most: 20).count > 20)
    #expect(try repository.hasAccounts(of: .anna, at: .work))
    #expect(try !repository.hasAccounts(of: .bert, at: .work))
  }

  @Test("whoever has more accounts than can be counted out is asked to name one all the same")
  func ambiguous() async throws {
    let harness = try ColdHarness()
    let maker = harness.repository()
    for number in 0...AccountRepository.mostToChoose {
      try await harness.signIn("usr_\(number)", in: maker)
    }
    let repository = harness.repository()
    let caller = try Caller.program()
    let records = try repository.accounts(
      for: caller, "token.get", at: .work, most: AccountRepository.mostToChoose)
    let error = #expect(throws: UsherError.self) {
      try repository.onlyAccount(among: records, at: .work, field: "account")
    }
    #expect(
      error?.message == "there are more than 100 accounts of provider work: name one")
  }

  @Test("a new log-in of a person whose account is on disk is that account")
  func signedInAgain() async throws {
    let harness = try ColdHarness()
    let first = try await harness.signIn("usr_anna")
    let second = try await harness.signIn("usr_anna")
    #expect(second.id == first.id && second.details.createdAt == first.details.createdAt)
    #expect(try harness.store.loadAccounts().count == 1)
  }

  @Test("what was forgotten does not come back from the disk, nor does a change get lost")
  func changed() async throws {
    let harness = try ColdHarness()
    let record = try await harness.signIn("usr_anna")
    let repository = harness.repository()
    try await repository.write(repository.update(record.id, attributes: ["mode": "other"]))
    #expect(try repository.find(record.id)?.details.attributes == ["mode": "other"])
    #expect(try harness.repository().find(record.id)?.details.attributes == ["mode": "other"])
    try await harness.store.commit([.deleteAccount(record.id)])
    repository.remove(record)
    #expect(try repository.find(record.id) == nil)
    #expect(try repository.accounts(of: .anna).isEmpty)
  }

  @Test("reading and forgetting change nothing that anybody remembers; changes do")
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

  @Test("a row that does not open is named to who asks for it, and spoils no other")
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

@Suite("When an account wakes")
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

  @Test("when its grant ends; one that ends at no time, or cannot be renewed, sleeps")
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

  @Test("when its token is to be renewed, where that is asked for")
  func renewal() throws {
    let soon = harness.clock.now() + .seconds(900)
    #expect(
      try record(keepAlive: true, expiresAt: soon, refreshExpiresAt: end).wakeAt
        == soon - .seconds(60))
    #expect(
      try record(keepAlive: true, expiresAt: nil, refreshExpiresAt: nil).wakeAt == nil)
  }

  @Test("a dead grant sleeps")
  func dead() async throws {
    let record = try await harness.signIn("usr_anna")
    #expect(record.wakeAt != nil)
    let update = try #require(
      try harness.repository().update(
        dropping: record, word: ProviderErrorCode(name: .work, code: "revoked")))
    #expect(update.record.wakeAt == nil)
    try await harness.store.commit(update.changes)
    #expect(try harness.store.wakingAccounts(until: .latest, atMost: 9).isEmpty)
  }
}
