import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Rules about the flow `identityAssertion`, whose caller chooses a person's account at another
/// provider.
@Suite("Rules about tokens by an assertion of another provider", .timeLimit(.minutes(10)))
struct IdentityRuleTests {
  private static let corp = ProviderName("corp")

  private let harness: LockControllerHarness
  private let lockController: LockController
  private let service: RPCService

  init() async throws {
    harness = try LockControllerHarness(holdsTimers: true) { config in
      // No server listens at port 9 of the loopback interface.
      let issuer = try ProviderURL(setting: "http://127.0.0.1:9")
      var settings = OIDCSettings(issuer: issuer, clientID: "usher")
      settings.identityAssertion.provider = Self.corp
      config.providers = [
        ProviderConfig(name: .work, settings: settings),
        ProviderConfig(name: Self.corp, settings: OIDCSettings(issuer: issuer, clientID: "usher")),
      ]
    }
    lockController = try await harness.begun()
    service = RPCService(lockController)
  }

  private func account(_ subject: String) async throws -> JSONValue {
    let record = try await lockController.services().repository.persist(
      .sample(subject), at: Self.corp)
    return .string(record.id.rawValue)
  }

  /// Returns a caller with two rules: one for the flow, and one for the ID token without a
  /// condition.
  private func caller(_ edit: (inout ClientRule) throws -> Void) throws -> Caller {
    let user = ClientMatch(user: .id(1000))
    var rule = ClientRule(
      name: "till", match: user, allow: [try AccessPattern(setting: "flow.start work")])
    try edit(&rule)
    let identity = ClientRule(
      name: "identity", match: user, allow: [try AccessPattern(setting: "token.get corp/idToken")])
    return Caller(
      owner: .anna,
      policy: try Policy.of([rule, identity]).caller(CallerIdentity(uid: 1000, gid: 1000)),
      isAdmin: false, label: "till")
  }

  private func refusal(_ identity: JSONValue?, as caller: Caller) async -> UsherError? {
    var params: [String: JSONValue] = [:]
    params["identity"] = identity
    let call: JSONValue = [
      "provider": "work", "kind": "identityAssertion", "params": .object(params),
    ]
    return await thrown { try await service.respond(to: "flow.start", call, as: caller).reply() }
  }

  @Test("an approval of identityAssertion is for one person, whom the approver is shown")
  func confirmed() async throws {
    let (ada, bob) = (try await account("ada"), try await account("bob"))
    let till = try caller { $0.confirm = true }
    let admin = try Caller.program(of: Owner(realm: "host", uid: 0), isAdmin: true)
    let asked = try #require(await refusal(ada, as: till)?.detail.confirmation)
    let other = try #require(await refusal(bob, as: till)?.detail.confirmation)
    #expect(other != asked)
    let list = try await service.respond(to: "confirm.list", [:], as: admin).reply()
    let text = String(decoding: list, as: UTF8.self)
    for subject in ["ada", "bob"] { #expect(text.contains("tokens for \(subject)"), "\(text)") }
    _ = try await service.respond(
      to: "confirm.answer", ["confirmation": .string(asked.rawValue), "allow": true], as: admin
    ).reply()
    #expect(await refusal(bob, as: till)?.reason == .interactionRequired)
    #expect(await refusal(ada, as: till) == nil)
    await lockController.end()
  }

  @Test("a rule that is limited to accounts allows identityAssertion for their persons only")
  func limited() async throws {
    let till = try caller { $0.accounts = [try AccountSelector(setting: "subject:ada")] }
    let bob = try await account("bob")
    #expect(await refusal(nil, as: till)?.reason == .interactionRequired)
    #expect(await refusal(bob, as: till)?.reason == .notFound)
    _ = try await account("ada")
    #expect(await refusal(nil, as: till) == nil)
    await lockController.end()
  }

  @Test("a rule that demands a proof of presence demands it for identityAssertion")
  func presence() async throws {
    let ada = try await account("ada")
    let till = try caller { $0.requireLocalAuthSeconds = 60 }
    let error = try #require(await refusal(ada, as: till))
    #expect(error.reason == .interactionRequired && error.detail.next?.kind == "authenticate")
    #expect(await refusal(ada, as: try caller { _ in }) == nil)
    await lockController.end()
  }
}
