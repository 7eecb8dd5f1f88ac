import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Flows whose caller names the person for whom tokens are got: `jwtBearer` and `backchannel`.
@Suite("Rules about flows whose caller names the person", .timeLimit(.minutes(10)))
struct AssertionRuleTests {
  private let harness: LockControllerHarness
  private let lockController: LockController
  private let service: RPCService

  init() async throws {
    harness = try LockControllerHarness(holdsTimers: true) { config in
      // No server listens at port 9 of the loopback interface.
      var settings = OIDCSettings(
        issuer: try ProviderURL(setting: "http://127.0.0.1:9"), clientID: "usher")
      settings.jwtBearer.keyCredential = "robot-key"
      settings.jwtBearer.subjects = ["ada", "bob"]
      config.providers = [ProviderConfig(name: .work, settings: settings)]
    }
    lockController = try await harness.begun()
    service = RPCService(lockController)
  }

  private func caller(_ edit: (inout ClientRule) throws -> Void) throws -> Caller {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: [try AccessPattern(setting: "flow.start work")])
    try edit(&rule)
    return Caller(
      owner: .anna, policy: try Policy.of([rule]).caller(CallerIdentity(uid: 1000, gid: 1000)),
      isAdmin: false, label: "till")
  }

  private func refusal(
    _ kind: String, _ params: JSONValue, as caller: Caller
  ) async -> UsherError? {
    let call: JSONValue = ["provider": "work", "kind": .string(kind), "params": params]
    return await thrown { try await service.respond(to: "flow.start", call, as: caller).reply() }
  }

  @Test("an approval of jwtBearer is for one subject, which the person is shown")
  func confirmedSubject() async throws {
    let till = try caller { $0.confirm = true }
    let admin = try Caller.program(of: Owner(realm: "host", uid: 0), isAdmin: true)
    let asked = try #require(await refusal("jwtBearer", ["subject": "ada"], as: till))
    let id = try #require(asked.detail.confirmation)
    let others: [JSONValue] = [["subject": "bob"], [:]]
    for other in others {
      #expect(await refusal("jwtBearer", other, as: till)?.detail.confirmation != id, "\(other)")
    }
    let list = try await service.respond(to: "confirm.list", [:], as: admin).reply()
    let text = String(decoding: list, as: UTF8.self)
    for subject in ["ada", "bob", "usher"] {
      #expect(text.contains("tokens for \(subject)"), "\(text)")
    }
    _ = try await service.respond(
      to: "confirm.answer", ["confirmation": .string(id.rawValue), "allow": true], as: admin
    ).reply()
    for other in others {
      let error = await refusal("jwtBearer", other, as: till)
      #expect(error?.reason == .interactionRequired, "\(other)")
    }
    #expect(await refusal("jwtBearer", ["subject": "ada"], as: till) == nil)
    await lockController.end()
  }

  @Test("an approval of backchannel is for one login hint")
  func confirmedPerson() async throws {
    let till = try caller { $0.confirm = true }
    let asked = try #require(await refusal("backchannel", ["loginHint": "ada"], as: till))
    let id = try #require(asked.detail.confirmation)
    #expect(
      await refusal("backchannel", ["loginHint": "ada"], as: till)?.detail.confirmation == id)
    #expect(
      await refusal("backchannel", ["loginHint": "bob"], as: till)?.detail.confirmation != id)
    await lockController.end()
  }

  @Test("a rule that is limited to accounts allows jwtBearer for their subjects only")
  func limitedAccounts() async throws {
    let till = try caller { $0.accounts = [try AccountSelector(setting: "subject:ada")] }
    let others: [JSONValue] = [["subject": "bob"], ["subject": "adam"], [:]]
    for other in others {
      #expect(
        await refusal("jwtBearer", other, as: till)?.reason == .permissionDenied, "\(other)")
    }
    #expect(await refusal("jwtBearer", ["subject": "ada"], as: till) == nil)
    let robot = try caller { $0.accounts = [try AccountSelector(setting: "subject:usher")] }
    #expect(await refusal("jwtBearer", [:], as: robot) == nil)
    // The subject of a person is not known before the sign-in.
    #expect(await refusal("authorize", [:], as: till) == nil)
    await lockController.end()
  }
}
