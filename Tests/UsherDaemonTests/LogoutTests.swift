import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A Freedom ID provider whose accounts may be logged out by a callback.
private final class LogoutHarness: Sendable {
  let calls: VerdictHarness
  private let told = Recorded<String>()

  init() async throws {
    var settings = FreedomIDSettings(mode: .oauth2)
    settings.clientID = "acme"
    settings.clientCredential = "freedom-secret"
    settings.callbackListen = try LoopbackAddress(setting: "127.0.0.1:1")
    calls = try await VerdictHarness(
      ProviderConfig(name: ProviderName("freedom"), settings: settings))
    _ = calls.harness.events.listen(since: nil) { [told] entry in
      if [.token, .kyc].contains(entry.event.topic) { told.add(entry.event.what) }
    }
    calls.watch.start()
  }

  var repository: AccountRepository { calls.harness.repository }
  /// The events of the topics `token` and `kyc` so far.
  var news: [String] { told.all }

  func signIn(
    _ tokenID: String, subject: String = "person-1", owner: Owner = .anna
  ) async throws -> AccountRecord {
    let grant = AccountGrant(
      subject: subject, label: subject,
      attributes: ["mode": "oauth2", "tokenIdHash": .string(FreedomTokenID.hash(of: tokenID))],
      tokens: .sample())
    return try await repository.persist(grant, of: owner, at: calls.provider.name)
  }

  func renew(_ record: AccountRecord, tokenID: String) async throws {
    var tokens = TokenSet.sample("access-2", refreshToken: "refresh-2")
    tokens.attributes = ["tokenIdHash": FreedomTokenID.hash(of: tokenID)]
    let used = try #require(record.details.grant.refreshToken)
    try await repository.write(
      repository.update(
        record.id, record.mainKey, granted: tokens, for: used, at: calls.harness.clock.now()))
  }

  /// Delivers Freedom's logout callback.
  ///
  /// - Parameter isRestarted: Whether the daemon has no account in memory yet.
  func logOut(
    _ body: String, isRestarted: Bool = false
  ) async throws -> (outcome: CallbackOutcome, reply: HTTPReply) {
    let dialect = try #require(calls.provider.definition.callback)
    let (harness, service) = (calls.harness, calls.service)
    let restarted = CallbackService(
      credentials: service.credentials, engine: service.engine,
      repository: AccountRepository(
        dependencies: harness.dependencies, events: harness.events, store: harness.store),
      watch: service.watch, dependencies: service.dependencies)
    let outcome = await (isRestarted ? restarted : service).handle(
      .init(
        authorization: nil, body: Array(body.utf8),
        endpoint: .init(dialect: dialect, provider: calls.provider)))
    return (outcome, dialect.answer(outcome))
  }

  func isSignedIn(_ record: AccountRecord) -> Bool {
    guard let record = repository.record(record.id) else { return false }
    return !record.tokens.isEmpty && record.details.grant.isAlive(at: calls.harness.clock.now())
  }
}

@Suite("Logout at Freedom ID", .mayBlock, .timeLimit(.minutes(10)))
struct LogoutTests {
  private let harness: LogoutHarness

  init() async throws { harness = try await LogoutHarness() }

  @Test("a logout callback deletes the account's tokens, on disk too, and publishes an event")
  func loggedOut() async throws {
    let record = try await harness.signIn("token-1")
    let (outcome, reply) = try await harness.logOut("{\"id\": \"token-1\"}")
    #expect(outcome == .accepted && reply.status == 200 && reply.body == Array("{}".utf8))
    #expect(!harness.isSignedIn(record))
    #expect(harness.repository.record(record.id)?.tokens.isEmpty == true)
    #expect(harness.repository.record(record.id)?.details.grant.death?.code == "logged_out")
    #expect(try harness.calls.harness.store.loadTokens().isEmpty)
    let row = try #require(try harness.calls.harness.store.loadAccounts().first)
    #expect(try AccountRecord(row, tokens: []).details.grant.refreshToken == nil)
    #expect(harness.news == ["dead"])
    let error = await #expect(throws: UsherError.self) {
      _ = try await harness.calls.refresher.token(
        record.id, record.mainKey, validFor: 60, isForced: false)
    }
    #expect(error?.reason == .reauthenticationRequired)
  }

  @Test("a repeated logout callback is accepted and publishes no second event")
  func twice() async throws {
    _ = try await harness.signIn("token-1")
    for _ in 0..<3 {
      #expect(try await harness.logOut("{\"id\": \"token-1\"}").outcome == .accepted)
    }
    #expect(harness.news == ["dead"])
  }

  @Test("a logout callback with an unknown token id gets the same reply and changes nothing")
  func unknown() async throws {
    let record = try await harness.signIn("token-1")
    let known = try await harness.logOut("{\"id\": \"token-2\"}").reply
    for id in ["token-", "token-11", "TOKEN-1", "person-1", "*"] {
      let (outcome, reply) = try await harness.logOut("{\"id\": \"\(id)\"}")
      #expect(outcome == .unauthorized && reply == known)
    }
    #expect(known.status == 200)
    for body in ["", "{", "[\"token-1\"]", "{\"id\": [\"token-1\"]}"] {
      #expect(try await harness.logOut(body).reply.status == 400)
    }
    #expect(harness.isSignedIn(record) && harness.news.isEmpty)
  }

  @Test("a logout callback ends the account with its token id only")
  func several() async throws {
    let anna = try await harness.signIn("token-1")
    let other = try await harness.signIn("token-2", subject: "person-2")
    let bert = try await harness.signIn("token-3", owner: .bert)
    #expect(try await harness.logOut("{\"id\": \"token-3\"}").outcome == .accepted)
    #expect(harness.isSignedIn(anna) && harness.isSignedIn(other) && !harness.isSignedIn(bert))
  }

  @Test("a logout callback with the token id of an earlier sign-in does not end a newer one")
  func again() async throws {
    _ = try await harness.signIn("token-1")
    let record = try await harness.signIn("token-2")
    #expect(try await harness.logOut("{\"id\": \"token-1\"}").outcome == .unauthorized)
    #expect(harness.isSignedIn(record))
    #expect(try await harness.logOut("{\"id\": \"token-2\"}").outcome == .accepted)
    #expect(!harness.isSignedIn(record))
    let anew = try await harness.signIn("token-3")
    #expect(harness.isSignedIn(anew))
  }

  @Test("a logout callback needs the token id of the last refresh")
  func renewed() async throws {
    let record = try await harness.signIn("token-1")
    try await harness.renew(record, tokenID: "token-2")
    let renewed = try #require(harness.repository.record(record.id))
    #expect(
      renewed.details.attributes == [
        "mode": "oauth2", "tokenIdHash": .string(FreedomTokenID.hash(of: "token-2")),
      ])
    #expect(renewed.tokens.values.allSatisfy { $0.set.attributes == nil })
    #expect(try await harness.logOut("{\"id\": \"token-1\"}").outcome == .unauthorized)
    #expect(harness.isSignedIn(record))
    #expect(try await harness.logOut("{\"id\": \"token-2\"}").outcome == .accepted)
    #expect(!harness.isSignedIn(record))
  }

  @Test(
    "a Freedom ID logout callback about an account that cannot be decrypted gets HTTP 503")
  func damaged() async throws {
    let record = try await harness.signIn("token-1")
    try execute(
      "UPDATE accounts SET sealed = zeroblob(64) WHERE id = '\(record.id)'",
      at: harness.calls.harness.store.status.path)
    let (outcome, reply) = try await harness.logOut("{\"id\": \"token-1\"}", isRestarted: true)
    #expect(outcome == .unavailable && reply.status == 503)
    let other = try await harness.logOut("{\"id\": \"token-2\"}", isRestarted: true)
    #expect(other.outcome == .unauthorized && other.reply.status == 200)
  }

  @Test("a Freedom ID logout callback that cannot be stored gets HTTP 503 and signs nobody out")
  func failingDisk() async throws {
    let record = try await harness.signIn("token-1")
    try harness.calls.harness.store.close()
    let (outcome, reply) = try await harness.logOut("{\"id\": \"token-1\"}")
    #expect(outcome == .unavailable && reply.status == 503)
    #expect(harness.isSignedIn(record) && harness.news.isEmpty)
  }
}
