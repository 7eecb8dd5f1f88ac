import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Tokens of accounts by consent", .timeLimit(.minutes(10)))
struct GuardedTokenTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  private func persist(
    _ granted: [String], scope: String, until end: Timestamp = .latest, expiresAt: Timestamp? = nil
  ) async throws -> AccountRecord {
    try await harness.persist(
      .consented(
        nil, granted: granted, until: end, tokens: .sample(expiresAt: expiresAt, scope: scope)))
  }

  /// Returns the error, or `nil` if a token is returned.
  private func refusal(
    _ record: AccountRecord, _ client: String?, scope: String? = nil, isAdmin: Bool = false
  ) throws -> UsherError? {
    do {
      let call = TokenGet(account: record.id, scope: scope)
      guard let reply = try harness.tokens.get(call, .program(client, isAdmin: isAdmin)).atOnce
      else { throw TestError("token.get would call the provider") }
      return try JSONValue(parsing: reply)["accessToken"] == "access-1"
        ? nil : UsherError(.internalError, "no token")
    } catch let error as UsherError {
      return error
    }
  }

  @Test("token.get needs consent for the token's whole scope; the error names the flow to start")
  func scopes() async throws {
    let record = try await persist(["email", "firstname"], scope: "read.email read.firstname")
    #expect(try refusal(record, "till") == nil)
    for client in ["desk", nil] {
      let error = try #require(try refusal(record, client))
      #expect(error.reason == .consentRequired)
      #expect(error.detail.next?.account == record.id)
      #expect(error.detail.next?.provider == ConsentHarness.provider)
    }
    let admin = try refusal(record, nil, isAdmin: true)
    #expect(admin?.reason == .consentRequired)
  }

  @Test("token.get is refused if the token's scope exceeds the consent or is empty")
  func lessThanAll() async throws {
    var record = try await persist(["email"], scope: "read.email read.firstname")
    #expect(try refusal(record, "till")?.reason == .consentRequired)
    record = try await persist(["email"], scope: "")
    #expect(try refusal(record, "till")?.reason == .consentRequired)
  }

  @Test("a token broader than the requested scope is refused without consent for all of it")
  func broader() async throws {
    let record = try await persist(["email"], scope: "read.email read.firstname")
    let narrow = TokenKey(audience: "", scope: "read.email")
    let update = try harness.renewal(
      of: record, key: narrow, .sample(scope: "read.email read.firstname"))
    harness.repository.install(update)
    #expect(try refusal(record, "till", scope: "read.email")?.reason == .consentRequired)
    harness.repository.install(
      try harness.renewal(of: update.record, key: narrow, .sample(scope: "read.email")))
    #expect(try refusal(record, "till", scope: "read.email") == nil)
  }

  @Test("token.get follows the consents at the time of the call: expired, renewed or revoked")
  func moment() async throws {
    let end = harness.clock.now() + .seconds(60)
    let record = try await persist(["email"], scope: "read.email", until: end)
    harness.clock.time = end - .milliseconds(1)
    #expect(try refusal(record, "till") == nil)
    harness.clock.time = end
    #expect(try refusal(record, "till")?.reason == .consentRequired)
    try await harness.persist(.consented(nil, granted: ["email"]))
    #expect(try refusal(record, "till") == nil)
    _ = try await harness.consents.revoke(.init(account: record.id), .program())
    #expect(try refusal(record, "till")?.reason == .consentRequired)
  }

  @Test("a consent revoked while the token is refreshed keeps it from being returned")
  func meanwhile() async throws {
    let record = try await persist(
      ["email"], scope: "read.email", expiresAt: harness.clock.now() + .seconds(60))
    harness.clock.advance(by: .seconds(61))
    let response = try harness.tokens.get(TokenGet(account: record.id), .program("till"))
    guard case .later(let answer) = response else {
      Issue.record("token.get returned an expired token")
      return
    }
    harness.repository.install(
      try harness.renewal(of: record, .sample("access-2", scope: "read.email")))
    let token = try JSONValue(parsing: try await answer())["accessToken"]
    #expect(token == "access-2")
    try harness.repository.install(
      #require(
        try harness.repository.update(record.id, at: harness.clock.now()) { _, _ in true }
      ).update)
    let error = await #expect(throws: UsherError.self) { try await answer() }
    #expect(error?.reason == .consentRequired)
  }

  @Test(
    "tokens for usherd's own calls are neither returned nor listed, and account.forget deletes them"
  )
  func ownOnes() async throws {
    var grant = AccountGrant.consented(
      ["email": "a@x.example"], tokens: .sample(refreshToken: nil, scope: "read.email"))
    grant.tokensAreInternal = true
    var record = try await harness.persist(grant)
    for (client, isAdmin) in [("till", false), (nil, false), (nil, true)] {
      let error = try #require(try refusal(record, client, isAdmin: isAdmin))
      #expect(error.reason == .permissionDenied)
      #expect(error.message == "the tokens of this account are for the daemon only")
    }
    let till = try Caller.program("till")
    #expect(try harness.accounts.tokens(TokenList(account: record.id), .program()).tokens.isEmpty)
    #expect(try harness.accounts.get(record.id, till).account.tokens.isEmpty)
    #expect(record.mainToken != nil)
    // A grant without tokens leaves the stored tokens unchanged.
    record = try await harness.persist(.consented(["email": "a@x.example"]))
    #expect(record.details.tokensAreInternal && record.tokens.count == 1)
    #expect(try harness.stored(record.id)?.details.tokensAreInternal == true)
    _ = try await harness.tokens.forget(
      AccountForget(account: record.id, revoke: false), .program())
    #expect(harness.repository.record(record.id) == nil)
    await harness.close()
  }

  @Test("tokens of an account without consents are returned to any client and are listed")
  func others() async throws {
    let record = try await harness.persist(.sample())
    for client in ["till", nil] { #expect(try refusal(record, client) == nil) }
    #expect(
      try harness.accounts.tokens(TokenList(account: record.id), .program()).tokens.count == 1)
  }
}
