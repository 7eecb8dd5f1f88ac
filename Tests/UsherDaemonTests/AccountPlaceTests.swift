import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Token places of accounts", .timeLimit(.minutes(10)))
struct AccountPlaceTests {
  private let harness: FlowHarness
  private let provider: ProviderConfig
  private let other: ProviderConfig

  init() throws {
    provider = try .sample()
    let issuer = try ProviderURL(setting: "https://other.example")
    other = ProviderConfig(
      name: .work, settings: OIDCSettings(issuer: issuer, clientID: "usher"))
    var config = Config()
    config.providers = [provider]
    harness = try FlowHarness(config: config)
  }

  /// The account as a new repository reads it from disk.
  private func restored(_ place: TokenPlace?) async throws -> AccountRecord {
    let update = try harness.repository.update(
      .sample(), owner: .anna, provider: .work, place: place, at: harness.clock.now())
    try await harness.store.commit(update.changes)
    let repository = AccountRepository(
      dependencies: harness.dependencies, events: harness.events, store: harness.store)
    return try #require(try repository.find(update.record.id))
  }

  @Test(
    "an account keeps the token place that it was stored with, even if the provider has changed")
  func kept() async throws {
    let record = try await restored(other.tokenPlace)
    #expect(record.isOf(other) && !record.isOf(provider))
  }

  @Test("the ID token of an account goes only to the page of the provider that issued it")
  func endSession() async throws {
    for (place, isSent) in [(provider.tokenPlace, true), (other.tokenPlace, false)] {
      var grant = AccountGrant.sample(isSent ? "usr_anna" : "usr_other")
      grant.idToken = IDToken(
        token: Sealed(Secret("id-token-1")), expiresAt: harness.clock.now() + .seconds(300))
      let record = try await harness.repository.persist(grant, place: place)
      let flow = try await harness.engine.start(
        FlowStart(
          provider: .work, kind: "endSession",
          params: ["account": .string(record.id.rawValue)]),
        owner: .anna, client: FlowClient(name: "(user)", title: "anna", uid: 1000),
        in: try harness.engine.admit(.anna), mayHaveIDToken: { _ in true })
      var machine = try #require(flow.snapshot.machine as? OIDCEndSession)
      var transition = harness.dependencies.transitionContext()
      var metadata = OIDCMetadata(issuer: "https://id.example")
      metadata.endSessionEndpoint = "https://id.example/logout"
      _ = machine.receive(.provider(.discovered(.found(metadata))), at: &transition)
      _ = machine.receive(
        .browser(.listening(redirectURI: "http://127.0.0.1:40001/callback")), at: &transition)
      guard case .openURL(let step) = machine.view.step else {
        Issue.record("the flow opens no page: \(machine.view.state)")
        continue
      }
      #expect(step.url.contains("id_token_hint=id-token-1") == isSent)
    }
    await harness.http.shutdown()
  }

  @Test("a grant of another issuer is replaced by a sign-in with less scope, and not kept for it")
  func notKept() async throws {
    func signIn(_ scope: String, _ place: TokenPlace?) async throws -> AccountRecord {
      let end = harness.clock.now() + .seconds(300)
      let tokens = TokenSet.sample("access-1", expiresAt: end, scope: scope)
      return try await harness.repository.persist(.sample(tokens: tokens), place: place)
    }
    let first = try await signIn("openid profile", other.tokenPlace)
    let second = try await signIn("openid", provider.tokenPlace)
    #expect(first.id == second.id)
    #expect(second.isOf(provider) && second.details.grant.scope == "openid")
  }

  @Test("an account stored without a token place gets that of the provider it is first found with")
  func before() async throws {
    let record = try await restored(nil)
    #expect(record.isOf(provider) && !record.isOf(other))
  }

  @Test("a new sign-in replaces the account's token place; a sign-in without tokens keeps it")
  func anew() async throws {
    let repository = harness.repository
    func signIn(
      _ grant: AccountGrant, at provider: ProviderConfig
    ) async throws -> AccountRecord {
      try await repository.persist(grant, place: provider.tokenPlace)
    }
    #expect(try await signIn(.sample(), at: provider).isOf(provider))
    #expect(try await signIn(.consented(["firstname": "Ada"]), at: other).isOf(provider))
    #expect(try await signIn(.sample(), at: other).isOf(other))
  }
}

@Suite("Accounts after a change of the provider behind a name", .timeLimit(.minutes(10)))
struct AccountElsewhereTests {
  private static func other() throws -> ProviderConfig {
    let issuer = try ProviderURL(setting: "https://other.example")
    return ProviderConfig(
      name: .work, settings: OIDCSettings(issuer: issuer, clientID: "usher"))
  }

  @Test("an account gives no token while a reload has changed or removed its provider")
  func reloaded() async throws {
    let harness = try LockControllerHarness(holdsTimers: true)
    let lockController = try await harness.begun()
    let services = try lockController.services()
    let record = try await services.repository.persist()
    let caller = try Caller.program()
    /// The reason for which there is no token, or `nil` if there is one.
    func reason() -> UsherError.Reason? {
      do throws(UsherError) {
        let response = try services.tokens.get(.init(account: record.id), caller)
        return response.atOnce == nil ? .internalError : nil
      } catch {
        return error.reason
      }
    }
    func reload(_ providers: [ProviderConfig]) {
      var config = harness.dependencies.config
      config.providers = providers
      harness.dependencies.configStore.replace(
        by: config, harness.dependencies.configStore.current.policy)
    }
    #expect(reason() == nil)
    reload([try Self.other()])
    #expect(reason() == .reauthenticationRequired)
    reload([])
    #expect(reason() == .notFound)
    reload([try .sample()])
    #expect(reason() == nil)
    await lockController.end()
  }

  @Test("the token place of each configured provider is known; an unknown provider is not found")
  func places() throws {
    var config = Config()
    config.providers = [try .sample()]
    let configStore = ConfigStore.fake(config)
    for provider in config.providers + [.local] {
      #expect(try configStore.tokenPlace(of: provider.name) == provider.tokenPlace)
    }
    let unknown = ProviderName("none")
    let error = #expect(throws: UsherError.self) { try configStore.tokenPlace(of: unknown) }
    let same = #expect(throws: UsherError.self) { try configStore.provider(named: unknown) }
    #expect(error?.reason == .notFound && error?.message == same?.message)
    config.providers = [try Self.other()]
    configStore.replace(by: config, configStore.current.policy)
    #expect(try configStore.tokenPlace(of: .work) == Self.other().tokenPlace)
  }
}
