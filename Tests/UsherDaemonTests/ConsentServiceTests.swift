import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("consent.list and consent.revoke", .timeLimit(.minutes(10)))
struct ConsentServiceTests {
  private let harness: ConsentHarness
  private let end: Timestamp

  init() throws {
    harness = try ConsentHarness()
    end = harness.clock.now() + .seconds(3600)
  }

  /// An account with consents of till for first name and e-mail, and of desk for the e-mail.
  private func account() async throws -> AccountRecord {
    try await harness.persist(
      .consented(["firstname": "Ada", "email": "a@x.example"], until: end), for: "till")
    return try await harness.persist(.consented(["email": "a@x.example"], until: end), for: "desk")
  }

  private func listed(_ caller: Caller, _ call: ConsentList = .init()) throws -> [String] {
    try harness.consents.list(call, caller).consents.map { "\($0.client) \($0.grant)" }
  }

  private func revoke(_ call: ConsentRevoke, _ caller: Caller) async throws -> Int {
    try await harness.consents.revoke(call, caller).revoked
  }

  @Test(
    "consent.list shows a client with a rule its own consents, and the user's other programs all")
  func list() async throws {
    let record = try await account()
    let all = ["desk read.email", "till read.email", "till read.firstname"]
    #expect(try listed(.program()) == all)
    #expect(try listed(.program("till", isAdmin: true)) == all)
    #expect(try listed(.program("till")) == ["till read.email", "till read.firstname"])
    #expect(try listed(.program("other")) == [])
    #expect(try listed(.program(of: .bert)) == [])
    #expect(try listed(.program(of: .bert, isAdmin: true)) == [])
    let entry = try #require(
      try harness.consents.list(.init(account: record.id), .program()).consents.first)
    #expect(
      entry
        == .init(
          account: record.id, provider: ConsentHarness.provider, client: "desk",
          grant: "read.email", grantedAt: harness.clock.now(), expiresAt: end, grantedBy: 1000))
  }

  @Test("consent.list filters by account and provider and leaves out expired consents")
  func narrowed() async throws {
    let record = try await account()
    #expect(try listed(.program(), .init(provider: ConsentHarness.provider)).count == 3)
    #expect(try listed(.program(), .init(provider: .work)) == [])
    #expect(try listed(.program(), .init(account: record.id, provider: .work)) == [])
    harness.clock.time = end
    #expect(try listed(.program()) == [])
    let error = #expect(throws: UsherError.self) {
      try listed(.program(of: .bert), .init(account: record.id))
    }
    #expect(error?.reason == .notFound)
  }

  @Test("consent.revoke wipes the profile members without another consent, in memory and on disk")
  func wiping() async throws {
    let record = try await account()
    let till = try Caller.program("till")
    #expect(try await revoke(.init(account: record.id, grant: "read.firstname"), till) == 1)
    for now in [harness.repository.record(record.id), try harness.stored(record.id)] {
      #expect(now?.details.profile == ["email": "a@x.example"])
      #expect(now?.consents.entries.count == 2)
    }
    #expect(try await revoke(.init(provider: ConsentHarness.provider), till) == 1)
    #expect(try harness.profile(record, to: "till") == nil)
    #expect(try harness.profile(record, to: "desk") == ["email": "a@x.example"])
    #expect(try await revoke(.init(account: record.id), .program("desk")) == 1)
    #expect(try harness.stored(record.id)?.details.profile == nil)
    #expect(try harness.harness.store.loadConsents().isEmpty)
    #expect(try harness.harness.store.loadAccounts().count == 1)
  }

  @Test("a client with a rule cannot revoke another client's consents; the owner and admin can")
  func others() async throws {
    let record = try await account()
    let till = try Caller.program("till")
    #expect(try await revoke(.init(account: record.id, client: "desk"), till) == 0)
    #expect(try await revoke(.init(account: record.id, client: "(user)"), till) == 0)
    #expect(try await revoke(.init(account: record.id), .program("other")) == 0)
    #expect(try listed(.program()).count == 3)
    #expect(try await revoke(.init(account: record.id, client: "desk"), .program()) == 1)
    #expect(try await revoke(.init(account: record.id), .program("x", isAdmin: true)) == 2)
    #expect(try await revoke(.init(account: record.id), .program()) == 0)
  }

  @Test("consent.revoke needs an account or a provider, and another owner's account is not found")
  func strictness() async throws {
    let record = try await account()
    let bert = try Caller.program(of: .bert)
    for (call, caller, reason) in [
      (ConsentRevoke(client: "till"), try Caller.program(), UsherError.Reason.invalidParams),
      (ConsentRevoke(account: record.id), bert, .notFound),
      (ConsentRevoke(account: AccountID("acc_none")), bert, .notFound),
    ] {
      let error = await #expect(throws: UsherError.self) { try await revoke(call, caller) }
      #expect(error?.reason == reason)
      #expect(error?.detail.field == "account")
    }
    #expect(try await revoke(.init(provider: ConsentHarness.provider), bert) == 0)
    #expect(try listed(.program()).count == 3)
  }

  @Test("the sweep deletes expired consents and their profile members, in memory and on disk")
  func sweep() async throws {
    let record = try await account()
    try await harness.persist(.consented(["email": "a@x.example"], until: .latest), for: "desk")
    try await harness.consents.sweep()
    #expect(try harness.stored(record.id)?.details.profile?.count == 2)
    harness.clock.time = end
    try await harness.consents.sweep()
    for now in [harness.repository.record(record.id), try harness.stored(record.id)] {
      #expect(now?.details.profile == ["email": "a@x.example"])
      #expect(now?.consents.entries.keys.map(\.client) == ["desk"])
    }
    #expect(try harness.harness.store.loadConsents().count == 1)
  }

  @Test("consent.revoke changes nothing while the disk fails")
  func failingDisk() async throws {
    let record = try await account()
    // Loads the account into memory: the store is closed below.
    _ = try harness.profile(record, to: "till")
    try harness.harness.store.close()
    let error = await #expect(throws: UsherError.self) {
      try await revoke(.init(account: record.id), .program())
    }
    #expect(error?.reason == .storageUnavailable)
    #expect(try harness.profile(record, to: "till")?.count == 2)
    #expect(try listed(.program()).count == 3)
  }

  @Test("account.forget deletes the account's consents")
  func forgotten() async throws {
    let record = try await account()
    _ = try await harness.tokens.forget(
      AccountForget(account: record.id, revoke: false), .program())
    #expect(try harness.harness.store.loadConsents().isEmpty)
    #expect(try listed(.program()) == [])
    let again = try await harness.persist(.consented(["email": "a@x.example"]), for: "other")
    #expect(try harness.profile(again, to: "till") == nil)
    await harness.close()
  }

  @Test("a refresh planned before consent.revoke does not restore the revoked consent")
  func besideRefresh() async throws {
    let tokens = TokenSet.sample(scope: "read.email")
    let record = try await harness.persist(.consented(["email": "a@x.example"], tokens: tokens))
    #expect(try await revoke(.init(account: record.id), .program()) == 1)
    let update = try harness.renewal(of: record, .sample("access-2", scope: "read.email"))
    #expect(update.record.consents.entries.isEmpty)
    #expect(update.record.details.profile == nil)
  }
}
