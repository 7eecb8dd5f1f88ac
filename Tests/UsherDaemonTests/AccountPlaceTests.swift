import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Where an account's tokens are from")
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

  /// The account as a start finds it.
  private func restored(_ place: TokenPlace?) async throws -> AccountRecord {
    let update = try harness.repository.update(
      .sample(), owner: .anna, provider: .work, place: place, at: harness.clock.now())
    try await harness.store.commit(update.changes)
    let repository = AccountRepository(
      dependencies: harness.dependencies, events: harness.events, store: harness.store)
    return try #require(try repository.find(update.record.id))
  }

  @Test("it is kept, whatever the provider is at the next start")
  func kept() async throws {
    let record = try await restored(other.tokenPlace)
    #expect(record.isOf(other) && !record.isOf(provider))
  }

  @Test("an account of before it was kept is of the provider it is first found with")
  func before() async throws {
    let record = try await restored(nil)
    #expect(record.isOf(provider) && !record.isOf(other))
  }

  @Test("a new sign-in brings another; one that brings no tokens does not")
  func anew() async throws {
    let repository = harness.repository
    func signIn(
      _ grant: AccountGrant, at provider: ProviderConfig
    ) async throws -> AccountRecord {
      try await repository.keep(grant, place: provider.tokenPlace)
    }
    #expect(try await signIn(.sample(), at: provider).isOf(provider))
    #expect(try await signIn(.consented(["firstname": "Ada"]), at: other).isOf(provider))
    #expect(try await signIn(.sample(), at: other).isOf(other))
  }
}

@Suite("An account whose provider's name means another provider")
struct AccountElsewhereTests {
  private static func other() throws -> ProviderConfig {
    let issuer = try ProviderURL(setting: "https://other.example")
    return ProviderConfig(
      name: .work, settings: OIDCSettings(issuer: issuer, clientID: "usher"))
  }

  @Test("gives no token from the next call on, and gives it again when its own is back")
  func reloaded() async throws {
    let harness = try LockControllerHarness(holdsTimers: true)
    let lockController = try await harness.begun()
    let services = try lockController.services()
    let record = try await services.repository.keep()
    let caller = try Caller.program()
    /// Why there is no token; nil: there is.
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

  @Test("of each provider that is in force the place is known, and of no other")
  func places() throws {
    var config = Config()
    config.providers = [try .sample()]
    let configStore = ConfigStore.fake(config)
    let providers = Providers(configStore)
    for provider in providers.offered {
      #expect(try providers.tokenPlace(of: provider.name) == provider.tokenPlace)
    }
    let unknown = ProviderName("none")
    let error = #expect(throws: UsherError.self) { try providers.tokenPlace(of: unknown) }
    let same = #expect(throws: UsherError.self) { try providers.named(unknown) }
    #expect(error?.reason == .notFound && error?.message == same?.message)
    config.providers = [try Self.other()]
    configStore.replace(by: config, configStore.current.policy)
    #expect(try providers.tokenPlace(of: .work) == Self.other().tokenPlace)
  }
}
