import JSONRPC
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Access tokens in memory", .timeLimit(.minutes(10)))
struct HeldTokenTests {
  private static let issued = Timestamp(seconds: 1_800_000_000)

  private func token(lasting seconds: Int?) throws -> HeldToken {
    let expiresAt = seconds.map { Self.issued + .seconds($0) }
    return try HeldToken(
      StoredToken(set: .sample(expiresAt: expiresAt), issuedAt: Self.issued),
      as: TokenKey(audience: "", scope: ""), account: AccountID("acc_1"), issuer: nil)
  }

  @Test(
    "a token in memory is valid if it lasts as long as asked, or if a new one hardly lasts longer",
    arguments: [
      // lifetime, asked time, age, whether it is valid
      (300, 60, 0, true), (300, 60, 239, true), (300, 60, 240, true), (300, 60, 241, false),
      (300, 0, 300, true), (300, 0, 301, false), (300, 300, 0, true),
      // More than its whole lifetime is asked for: half of the lifetime is enough.
      (300, 86_400, 0, true), (300, 86_400, 150, true), (300, 86_400, 151, false),
      (30, 60, 0, true), (30, 60, 15, true), (30, 60, 16, false), (30, 60, 31, false),
      (0, 60, 0, true), (0, 60, 1, false),
      // The asked time is required in full, even if it is more than half of the lifetime.
      (300, 200, 100, true), (300, 200, 101, false), (90, 60, 30, true), (90, 60, 31, false),
      // The token was just fetched: a new one would hardly last longer.
      (300, 299, 10, true), (300, 299, 11, false), (62, 60, 6, true), (62, 60, 7, false),
    ])
  func validity(lifetime: Int, asked: Int, age: Int, isValid: Bool) throws {
    let token = try token(lasting: lifetime)
    #expect(token.isValid(for: asked, at: Self.issued + .seconds(age)) == isValid)
    #expect(token.isAlive(at: Self.issued + .seconds(age)) == (age < lifetime))
  }

  @Test("an access token without an expiry is always valid and alive")
  func eternal() throws {
    let token = try token(lasting: nil)
    #expect(token.isValid(for: 86_400, at: .latest))
    #expect(token.isAlive(at: .latest))
  }

  @Test(
    "the reply for a token in memory contains the access token, and its debug description does not")
  func reply() throws {
    let token = try token(lasting: 60)
    #expect(String(decoding: token.reply, as: UTF8.self).contains(#""accessToken":"access-1""#))
    #expect(!"\(token.set)".contains("access-1"))
  }
}

@Suite("Account repository", .timeLimit(.minutes(10)))
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
      dependencies: .fake(clock, FakeScheduler(clock)), events: EventBus(historyLimit: 10),
      store: store)
  }

  /// Stores a finished sign-in.
  @discardableResult
  private func signIn(
    _ subject: String = "usr_anna", _ tokens: TokenSet = .sample(), owner: Owner = .anna
  ) async throws -> AccountRecord {
    try await repository.persist(.sample(subject, tokens: tokens), of: owner)
  }

  private func refreshToken(_ record: AccountRecord?) throws -> Sealed<Secret> {
    try #require(record?.details.grant.refreshToken)
  }

  @Test("a second sign-in of a subject updates its account and replaces all its tokens")
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
    "a grant without tokens keeps the account's tokens, and can create an account without any")
  func withoutTokens() async throws {
    let first = try await signIn("usr_anna", .sample("access-1"))
    try await repository.write(
      repository.update(first) { $0.attributes = ["kyc": "old", "deviceId": "d"] })
    for subject in ["usr_anna", "usr_other"] {
      try await repository.persist(
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

  @Test("another subject, owner or provider means another account")
  func others() async throws {
    let anna = try await signIn("usr_anna")
    let other = try await signIn("usr_other")
    let berts = try await signIn("usr_anna", owner: .bert)
    #expect(Set([anna.id, other.id, berts.id]).count == 3)
    #expect(try Set(repository.accounts(of: .anna).map(\.id)) == [anna.id, other.id])
    #expect(try repository.accounts(of: .anna, at: ProviderName("home")).isEmpty)
  }

  @Test("one subject's accounts of two owners have tokens of their own, and are forgotten apart")
  func sameSubject() async throws {
    let annas = try await signIn("usr_anna", .sample("access-of-anna"))
    let berts = try await signIn("usr_anna", .sample("access-of-bert"), owner: .bert)
    #expect(repository.record(annas.id)?.mainToken == Secret("access-of-anna"))
    try await store.commit([.deleteAccount(annas.id)])
    repository.remove(annas)
    #expect(try repository.accounts(of: .anna).isEmpty)
    for repository in [repository, Self.repository(clock, store)] {
      #expect(try repository.accounts(of: .bert).map(\.mainToken) == [Secret("access-of-bert")])
    }
    #expect(try store.loadTokens().map(\.account) == [berts.id])
  }

  @Test("a refresh replaces the access token, and the refresh token only if it was rotated")
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

  @Test("a refresh deletes the account's expired access tokens of other scopes")
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

  @Test("a refresh result is dropped if the account was forgotten or signed in again meanwhile")
  func late() async throws {
    let record = try await signIn()
    let used = try refreshToken(record)
    let granted = TokenSet.sample("access-2", refreshToken: "refresh-2")
    try await signIn("usr_anna", .sample("access-9", refreshToken: "refresh-9"))
    #expect(
      try repository.update(record.id, record.mainKey, granted: granted, for: used, at: clock.now())
        == nil)
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    #expect(try repository.update(record.id, endedWith: word, of: used) == nil)
    try await store.commit([.deleteAccount(record.id)])
    repository.remove(record)
    let newer = Sealed(Secret("refresh-9"))
    #expect(
      try repository.update(
        record.id, record.mainKey, granted: granted, for: newer, at: clock.now())
        == nil)
    #expect(try repository.update(record.id, endedWith: word, of: newer) == nil)
  }

  @Test(
    "a dead grant loses only its refresh token, and dropping the grant deletes the access tokens too"
  )
  func death() async throws {
    let record = try await signIn()
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    let died = try #require(
      try repository.update(record.id, endedWith: word, of: refreshToken(record)))
    #expect(died.record.details.grant.death == word)
    #expect(died.record.details.grant.refreshToken == nil)
    #expect(died.record.tokens.count == 1)
    let dropped = try #require(try repository.update(droppingTokensOf: record, errorCode: word))
    try await store.commit(dropped.changes)
    #expect(dropped.record.tokens.isEmpty)
    #expect(try store.loadTokens().isEmpty)
    #expect(try store.loadAccounts().count == 1)
  }

  @Test("an account update that is planned but not installed does not change the account in memory")
  func planned() async throws {
    let record = try await signIn()
    _ = try repository.update(
      droppingTokensOf: record, errorCode: ProviderErrorCode(name: .work, code: "revoked"))
    #expect(repository.record(record.id)?.tokens.count == 1)
    #expect(repository.record(record.id)?.details.grant.death == nil)
  }
}
