import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Where an account's tokens are from")
struct AccountPlaceTests {
  private let stage: FlowStage
  private let provider: ProviderConfig
  private let other: ProviderConfig

  init() throws {
    provider = try .sample()
    let issuer = try ProviderURL(setting: "https://other.example")
    other = ProviderConfig(
      name: .work, settings: .oidc(OIDCSettings(issuer: issuer, clientID: "usher")))
    var config = Config()
    config.providers = [provider]
    stage = try FlowStage(config: config)
  }

  /// The account as a start finds it.
  private func restored(_ place: TokenPlace?) async throws -> AccountRecord {
    let update = try stage.book.update(
      .sample(), owner: .anna, provider: .work, place: place, at: stage.clock.now())
    try await stage.store.commit(update.changes)
    let book = AccountBook(world: stage.world, events: stage.events, store: stage.store)
    return try #require(try book.find(update.record.id))
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
    let book = stage.book
    func signIn(
      _ grant: AccountGrant, at provider: ProviderConfig
    ) async throws -> AccountRecord {
      let update = try book.update(
        grant, owner: .anna, provider: .work, place: provider.tokenPlace, at: stage.clock.now())
      try await stage.store.commit(update.changes)
      book.install(update)
      return update.record
    }
    #expect(try await signIn(.sample(), at: provider).isOf(provider))
    #expect(try await signIn(.consented(["firstname": "Ada"]), at: other).isOf(provider))
    #expect(try await signIn(.sample(), at: other).isOf(other))
  }
}
