import FoundationEssentials
import GRDB
import Testing
import UsherCore

@testable import UsherStore

@Suite("Reading of accounts", .timeLimit(.minutes(10)))
struct StoreReadingTests {
  private let fixture: StoreFixture
  private let store: Store
  private let work = ProviderName("work")

  init() throws {
    fixture = try StoreFixture()
    store = try fixture.open()
  }

  private func account(
    _ id: String, owner: Owner = .anna, provider: String = "work", wakeAt: Timestamp? = nil,
    callTag: Data? = nil
  ) -> Change {
    var row = AccountRow.sample(id, subject: "of \(id)", owner: owner)
    row.provider = ProviderName(provider)
    row.wakeAt = wakeAt
    row.callTag = callTag
    return .putAccount(row)
  }

  /// Returns the ids of all pages of at most `count` accounts.
  private func ids(
    _ selection: Store.AccountSelection, atMost count: Int = 2
  ) throws -> [String] {
    var ids: [String] = []
    var last: SealedAccount?
    repeat {
      let page = try store.accounts(selection, after: last, atMost: count)
      #expect(page.count <= count)
      ids += page.map(\.id.rawValue)
      last = page.last
    } while last != nil
    return ids
  }

  @Test("an account is read with its own tokens and consents only")
  func one() async throws {
    let expiry = StoreFixture.now + .seconds(60)
    try await store.commit([
      .putAccount(.sample()), .putToken(.sample()),
      .putToken(.sample(audience: "api", expiresAt: expiry)), .putConsent(.sample()),
      account("acc_2"), .putToken(.sample("acc_2")), .putConsent(.sample("acc_2")),
      account("acc_3"),
    ])
    let found = try store.accounts(.id(AccountID("acc_1"), of: .anna), atMost: 1)
    let stored = try store.open(try #require(found.first))
    #expect(found.count == 1 && stored.account == .sample())
    #expect(
      Set(stored.tokens) == [.sample(), .sample(audience: "api", expiresAt: expiry)])
    #expect(stored.consents == [.sample()])
    let bare = try store.accounts(.id(AccountID("acc_3"), of: nil), atMost: 1)
    let opened = try store.open(try #require(bare.first))
    #expect(opened.tokens.isEmpty && opened.consents.isEmpty)
  }

  @Test("an account of another owner and an unknown account are not found")
  func notFound() async throws {
    try await store.commit([.putAccount(.sample())])
    #expect(try ids(.id(AccountID("acc_1"), of: .till)).isEmpty)
    #expect(try ids(.id(AccountID("acc_9"), of: nil)).isEmpty)
    #expect(try store.accounts(.id(AccountID("acc_1"), of: nil), atMost: 1).count == 1)
  }

  @Test("the pages of an owner's, a provider's or all accounts contain each account exactly once")
  func pages() async throws {
    var changes: [Change] = []
    for number in 1...7 {
      changes.append(account("acc_\(number)", provider: number % 2 == 0 ? "home" : "work"))
    }
    changes += [account("acc_8", owner: .till), account("acc_9", owner: .till, provider: "home")]
    try await store.commit(changes)
    let all = Set((1...9).map { "acc_\($0)" })
    for count in [1, 2, 3, 7, 100] {
      let annas = try ids(.owner(.anna, at: nil), atMost: count)
      #expect(Set(annas) == Set((1...7).map { "acc_\($0)" }) && annas.count == 7)
      let work = try ids(.owner(.anna, at: work), atMost: count)
      #expect(Set(work) == ["acc_1", "acc_3", "acc_5", "acc_7"] && work.count == 4)
      let everyone = try ids(.all, atMost: count)
      #expect(Set(everyone) == all && everyone.count == 9)
    }
    #expect(try ids(.owner(.till, at: nil)).sorted() == ["acc_8", "acc_9"])
    #expect(try ids(.owner(.till, at: ProviderName("none"))).isEmpty)
  }

  @Test("the store finds the accounts of a provider callback by their call tag, for all owners")
  func called() async throws {
    let home = ProviderName("home")
    let tag = store.tag(ofCallKey: "req-1", at: work)
    #expect(tag == store.tag(ofCallKey: "req-1", at: work) && tag.count == 32)
    #expect(tag != store.tag(ofCallKey: "req-1", at: home))
    #expect(tag != store.tag(ofCallKey: "req-2", at: work))
    try await store.commit([
      account("acc_1", callTag: tag), account("acc_2", owner: .till, callTag: tag),
      account("acc_3"), account("acc_4", callTag: AccountRow.unknownCallTag),
      account("acc_5", callTag: tag),
      account("acc_6", callTag: store.tag(ofCallKey: "req-2", at: work)),
      account("acc_7", provider: "home", callTag: tag),
    ])
    for count in [1, 2, 3, 9] {
      #expect(try ids(.callTag(tag, at: work), atMost: count) == ["acc_1", "acc_2", "acc_5"])
      #expect(try ids(.callTag(tag, at: home), atMost: count) == ["acc_7"])
      #expect(
        try ids(.callTag(AccountRow.unknownCallTag, at: work), atMost: count) == ["acc_4"])
    }
    let row = try #require(try store.accounts(.callTag(tag, at: home), atMost: 1).first)
    #expect(try store.open(row).account.callTag == tag)
    try await store.commit([account("acc_1"), account("acc_3", callTag: tag)])
    #expect(try ids(.callTag(tag, at: work)) == ["acc_2", "acc_3", "acc_5"])
  }

  @Test("an account is found by its subject, owner and provider")
  func subject() async throws {
    try await store.commit([account("acc_1"), account("acc_2", owner: .till)])
    func find(_ subject: String, _ owner: Owner, _ provider: String = "work") throws -> String? {
      try store.account(ofSubject: subject, owner: owner, provider: ProviderName(provider))?
        .rawValue
    }
    #expect(try find("of acc_1", .anna) == "acc_1")
    #expect(try find("of acc_2", .till) == "acc_2")
    #expect(try find("of acc_2", .anna) == nil)
    #expect(try find("of acc_1", .anna, "home") == nil)
  }

  @Test("accounts with a wake time are listed in its order, up to a given time")
  func waking() async throws {
    let now = StoreFixture.now
    try await store.commit([
      account("acc_1", wakeAt: now + .seconds(3)), account("acc_2"),
      account("acc_3", wakeAt: now + .seconds(1)), account("acc_4", wakeAt: now + .seconds(1)),
      account("acc_5", wakeAt: now + .seconds(4)), account("acc_6", wakeAt: .init(milliseconds: 0)),
    ])
    for count in [1, 2, 9] {
      var found: [String] = []
      var last: DueAccount?
      repeat {
        let page = try store.dueAccounts(
          after: last, until: now + .seconds(3), atMost: count)
        found += page.map(\.id.rawValue)
        last = page.last
      } while last != nil
      #expect(found == ["acc_6", "acc_3", "acc_4", "acc_1"])
    }
    try await store.commit([account("acc_3"), account("acc_2", wakeAt: now)])
    #expect(
      try store.dueAccounts(until: now + .seconds(1), atMost: 9).map(\.id.rawValue)
        == ["acc_6", "acc_2", "acc_4"])
  }

  @Test("each account with an expired consent is listed exactly once")
  func expired() async throws {
    let end = ConsentRow.sample().expiresAt
    var later = ConsentRow.sample("acc_3")
    later.expiresAt = end + .seconds(1)
    try await store.commit([
      account("acc_1"), account("acc_2"), account("acc_3"), .putConsent(.sample()),
      .putConsent(.sample(grant: "read.lastname")), .putConsent(.sample("acc_2")),
      .putConsent(later),
    ])
    let first = try store.accountsWithConsents(expiredBy: end, atMost: 1)
    #expect(first.map(\.rawValue) == ["acc_1"])
    let rest = try store.accountsWithConsents(expiredBy: end, after: first.last, atMost: 9)
    #expect(rest.map(\.rawValue) == ["acc_2"])
    #expect(try store.accountsWithConsents(expiredBy: end + .seconds(-1), atMost: 9).isEmpty)
  }

  @Test("an account with a damaged row is refused by the row's name, and other accounts open")
  func damaged() async throws {
    try await store.commit([account("acc_1"), account("acc_2"), .putToken(.sample("acc_2"))])
    try store.close()
    try fixture.tamper("UPDATE tokens SET sealed = zeroblob(64)")
    let store = try fixture.open()
    let rows = try store.accounts(.owner(.anna, at: work), atMost: 9)
    let sound = try #require(rows.first { $0.id == AccountID("acc_1") })
    #expect(try store.open(sound).account.subject == "of acc_1")
    let row = try #require(rows.first { $0.id == AccountID("acc_2") })
    let error = #expect(throws: UsherError.self) { try store.open(row) }
    #expect(error?.reason == .storageUnavailable)
    #expect(error?.message.contains("tokens/acc_2/") == true)
    let found = #expect(throws: UsherError.self) { try store.check() }
    #expect(found?.message == error?.message)
  }

  @Test("reading an account does not wait for a write transaction in progress")
  func besideWriter() async throws {
    try await store.commit([account("acc_1")])
    let (store, database) = (store, store.database)
    let seen = try await database.writeWithoutTransaction { db in
      var seen: [SealedAccount] = []
      try db.inTransaction(.immediate) {
        try db.execute(sql: "UPDATE accounts SET wake_at = 7")
        seen = try store.accounts(.id(AccountID("acc_1"), of: nil), atMost: 1)
        return .commit
      }
      return seen
    }
    #expect(try store.open(try #require(seen.first)).account.wakeAt == nil)
    #expect(try store.dueAccounts(until: StoreFixture.now, atMost: 1).count == 1)
  }
}
