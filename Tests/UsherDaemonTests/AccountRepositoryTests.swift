import JSONRPC
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("An access token in memory")
struct HeldTokenTests {
  private static let issued = Timestamp(seconds: 1_800_000_000)

  private func token(lasting seconds: Int?) throws -> HeldToken {
    let expiresAt = seconds.map { Self.issued + .seconds($0) }
    return try HeldToken(
      StoredToken(set: .sample(expiresAt: expiresAt), issuedAt: Self.issued),
      account: AccountID("acc_1"))
  }

  @Test(
    "it is valid while it lasts as long as asked, or as long as any token of this provider can",
    arguments: [
      // life, asked for, age, valid
      (300, 60, 0, true), (300, 60, 239, true), (300, 60, 240, true), (300, 60, 241, false),
      (300, 0, 300, true), (300, 0, 301, false), (300, 300, 0, true),
      // More than it ever had: half of it is as much as can be had.
      (300, 86_400, 0, true), (300, 86_400, 150, true), (300, 86_400, 151, false),
      (30, 60, 0, true), (30, 60, 15, true), (30, 60, 16, false), (30, 60, 31, false),
      (0, 60, 0, true), (0, 60, 1, false),
      // In full, also where that is more than half of it.
      (300, 200, 100, true), (300, 200, 101, false), (90, 60, 30, true), (90, 60, 31, false),
      // It has just been fetched: another one would not be of more use.
      (300, 299, 10, true), (300, 299, 11, false), (62, 60, 6, true), (62, 60, 7, false),
    ])
  func validity(processContext: Int, asked: Int, age: Int, isValid: Bool) throws {
    let token = try token(lasting: processContext)
    #expect(token.isValid(for: asked, at: Self.issued + .seconds(age)) == isValid)
    #expect(token.isAlive(at: Self.issued + .seconds(age)) == (age < processContext))
  }

  @Test("one without an expiry is valid and alive for ever")
  func eternal() throws {
    let token = try token(lasting: nil)
    #expect(token.isValid(for: 86_400, at: .latest))
    #expect(token.isAlive(at: .latest))
  }

  @Test("its reply is ready, and does not print")
  func reply() throws {
    let token = try token(lasting: 60)
    #expect(String(decoding: token.reply, as: UTF8.self).contains(#""accessToken":"access-1""#))
    #expect(!"\(token.set)".contains("access-1"))
  }
}

@Suite("The book of accounts")
struct AccountRepositoryTests {
  private let place: TemporaryDirectory
  private let store: Store
  private let clock = FakeClock()
  private let repository: AccountRepository

  init() throws {
    place = try TemporaryDirectory()
    store = try place.store()
    repository = Self.repository(clock, store)
  }

  private static func repository(_ clock: FakeClock, _ store: Store) -> AccountRepository {
    AccountRepository(
      dependencies: .fake(clock, FakeScheduler(clock)), events: EventBus(remembered: 10),
      store: store)
  }

  /// A finished log-in, written and taken over.
  @discardableResult
  private func signIn(
    _ subject: String = "usr_anna", _ tokens: TokenSet = .sample(), owner: Owner = .anna
  ) async throws -> AccountRecord {
    try await repository.keep(.sample(subject, tokens: tokens), of: owner)
  }

  private func refreshToken(_ record: AccountRecord?) throws -> Sealed<Secret> {
    try #require(record?.details.grant.refreshToken)
  }

  @Test("the same person at the same provider is the same account, with the new tokens only")
  func again() async throws {
    let first = try await signIn("usr_anna", .sample("access-1", scope: "email"))
    clock.advance(by: .seconds(60))
    let second = try await signIn("usr_anna", .sample("access-2", refreshToken: "refresh-2"))
    #expect(second.id == first.id)
    #expect(second.details.createdAt == first.details.createdAt)
    #expect(try repository.accounts(of: .anna).count == 1)
    #expect(second.tokens.count == 1)
    #expect(try store.loadTokens().map(\.scope) == ["openid"])
    #expect(try refreshToken(repository.record(first.id)) == Sealed(Secret("refresh-2")))
  }

  @Test(
    "what brings no tokens says nothing of those there are, and can make an account without any")
  func withoutTokens() async throws {
    let first = try await signIn("usr_anna", .sample("access-1"))
    try await repository.write(
      repository.update(first.id, attributes: ["kyc": "old", "deviceId": "d"]))
    for subject in ["usr_anna", "usr_other"] {
      try await repository.keep(
        AccountGrant(subject: subject, label: subject, attributes: ["kyc": "new"], tokens: nil))
    }
    let kept = try #require(repository.record(first.id))
    #expect(kept.mainToken == Secret("access-1"))
    #expect(kept.details.attributes == ["kyc": "new", "deviceId": "d"])
    #expect(try refreshToken(kept) == refreshToken(first))
    #expect(try store.loadTokens().map(\.account) == [first.id])
    let other = try #require(try repository.accounts(of: .anna).first { $0.subject == "usr_other" })
    #expect(other.tokens.isEmpty && other.mainToken == nil)
  }

  @Test("other people, owners and providers are other accounts")
  func others() async throws {
    let anna = try await signIn("usr_anna")
    let other = try await signIn("usr_other")
    let berts = try await signIn("usr_anna", owner: .bert)
    #expect(Set([anna.id, other.id, berts.id]).count == 3)
    #expect(try Set(repository.accounts(of: .anna).map(\.id)) == [anna.id, other.id])
    #expect(try repository.accounts(of: .anna, at: ProviderName("home")).isEmpty)
  }

  @Test("a refresh brings its token, and the rotated refresh token where there is one")
  func refresh() async throws {
    let record = try await signIn()
    let used = try refreshToken(record)
    let rotated = try #require(
      try repository.update(
        record.id, record.mainKey, granted: .sample("access-2", refreshToken: "refresh-2"),
        for: used, at: clock.now()))
    #expect(try refreshToken(rotated.record) == Sealed(Secret("refresh-2")))
    #expect(rotated.record.tokens[record.mainKey]?.set.accessToken == Sealed(Secret("access-2")))
    #expect(rotated.record.tokens[record.mainKey]?.set.refreshToken == nil)
    let kept = try #require(
      try repository.update(
        record.id, record.mainKey, granted: .sample("access-3", refreshToken: nil), for: used,
        at: clock.now()))
    #expect(try refreshToken(kept.record) == used)
  }

  @Test("expired tokens of scopes that were asked for once go with the next refresh")
  func pruning() async throws {
    let record = try await signIn()
    let used = try refreshToken(record)
    let narrow = TokenKey(audience: "", scope: "narrow")
    let first = try #require(
      try repository.update(
        record.id, narrow, granted: .sample("access-2", expiresAt: clock.now() + .seconds(60)),
        for: used, at: clock.now()))
    try await store.commit(first.changes)
    repository.install(first)
    clock.advance(by: .seconds(61))
    let next = try #require(
      try repository.update(
        record.id, record.mainKey, granted: .sample("access-3"),
        for: refreshToken(first.record), at: clock.now()))
    try await store.commit(next.changes)
    #expect(Set(next.record.tokens.keys) == [record.mainKey])
    #expect(try store.loadTokens().map(\.scope) == [record.mainKey.scope])
  }

  @Test("what a refresh brings is dropped when the account was forgotten or signed in anew")
  func late() async throws {
    let record = try await signIn()
    let used = try refreshToken(record)
    let granted = TokenSet.sample("access-2", refreshToken: "refresh-2")
    try await signIn("usr_anna", .sample("access-9", refreshToken: "refresh-9"))
    #expect(
      try repository.update(record.id, record.mainKey, granted: granted, for: used, at: clock.now())
        == nil)
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    #expect(try repository.update(record.id, died: word, of: used) == nil)
    try await store.commit([.deleteAccount(record.id)])
    repository.remove(record)
    let newer = Sealed(Secret("refresh-9"))
    #expect(
      try repository.update(
        record.id, record.mainKey, granted: granted, for: newer, at: clock.now())
        == nil)
    #expect(try repository.update(record.id, died: word, of: newer) == nil)
  }

  @Test("a dead grant keeps its tokens and loses its refresh token; dropping takes them all")
  func death() async throws {
    let record = try await signIn()
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    let died = try #require(
      try repository.update(record.id, died: word, of: refreshToken(record)))
    #expect(died.record.details.grant.death == word)
    #expect(died.record.details.grant.refreshToken == nil)
    #expect(died.record.tokens.count == 1)
    let dropped = try #require(try repository.update(dropping: record, word: word))
    try await store.commit(dropped.changes)
    #expect(dropped.record.tokens.isEmpty)
    #expect(try store.loadTokens().isEmpty)
    #expect(try store.loadAccounts().count == 1)
  }

  @Test("a plan that is not installed changes nothing")
  func planned() async throws {
    let record = try await signIn()
    _ = try repository.update(
      dropping: record, word: ProviderErrorCode(name: .work, code: "revoked"))
    #expect(repository.record(record.id)?.tokens.count == 1)
    #expect(repository.record(record.id)?.details.grant.death == nil)
  }
}
