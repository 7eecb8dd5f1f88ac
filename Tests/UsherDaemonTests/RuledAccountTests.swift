import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Rules with accounts, scopes and fields, and clients that own and share accounts.
@Suite("Accounts under rules", .timeLimit(.minutes(10)))
struct RuledAccountTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  /// A caller that is matched by the rule of its unit.
  private func caller(
    _ rules: ClientRule..., unit: String = "till.service", uid: UInt32 = 1000
  ) throws -> Caller {
    Caller(
      PeerIdentity(
        identity: CallerIdentity(uid: uid, gid: uid, groups: [50], unit: unit), isAdmin: false,
        realm: "host"),
      policy: try Policy.of(rules))
  }

  private func rule(
    _ name: String = "till", allow: String = "*", _ edit: (inout ClientRule) throws -> Void
  ) throws -> ClientRule {
    var rule = ClientRule(
      name: name, match: ClientMatch(unit: "\(name).service"),
      allow: [try AccessPattern(setting: allow)])
    try edit(&rule)
    return rule
  }

  /// A rule whose client owns its accounts and shares them with the client `kiosk`.
  private func lender() throws -> ClientRule {
    try rule {
      $0.owner = .client
      $0.share = ["kiosk"]
    }
  }

  private func persist(
    _ subject: String, owner: Owner = .anna, scope: String = "openid email"
  ) async throws -> AccountRecord {
    var grant = AccountGrant.sample(subject, tokens: .sample(scope: scope))
    grant.profile = ["firstname": "Anna", "email": "anna@example.com"]
    return try await harness.persist(grant, owner: owner)
  }

  private func reason(_ body: () throws -> Void) -> UsherError? {
    do {
      try body()
      return nil
    } catch {
      return error as? UsherError
    }
  }

  @Test("an account outside of a rule's accounts is reported like one that does not exist")
  func otherAccounts() async throws {
    let (mine, other) = (try await persist("one"), try await persist("two"))
    for selector in [mine.id.rawValue, "subject:one"] {
      let till = try caller(
        rule { $0.accounts = [try AccountSelector(setting: selector)] })
      #expect(try harness.accounts.list(nil, till).accounts.map(\.id) == [mine.id])
      #expect(try harness.accounts.get(mine.id, till).account.subject == "one")
      #expect(try harness.accounts.tokens(TokenList(), till).tokens.map(\.account) == [mine.id])
      let nobodys = AccountID("acc_none")
      for id in [other.id, nobodys] {
        let error = reason { _ = try harness.accounts.get(id, till) }
        #expect(error?.reason == .notFound)
        #expect(error?.message == "account \(id) does not exist")
        let token = reason { _ = try harness.tokens.get(TokenGet(account: id), till) }
        #expect(token?.message == error?.message)
      }
      // The implied account is the only one within the rule.
      guard
        let reply = try harness.tokens.get(TokenGet(provider: ConsentHarness.provider), till).atOnce
      else { throw TestError("token.get would call the provider") }
      #expect(try JSONValue(parsing: reply)["account"]?.stringValue == mine.id.rawValue)
    }
  }

  @Test("an account outside of a rule cannot be changed or used, and its events are not delivered")
  func otherAccountsStay() async throws {
    let other = try await persist("two")
    let till = try caller(rule { $0.accounts = [try AccountSelector(setting: "subject:one")] })
    for call in [
      { _ = try await harness.tokens.forget(AccountForget(account: other.id), till) },
      { _ = try await harness.tokens.revoke(TokenRevoke(account: other.id), till) },
      { _ = try await harness.consents.revoke(ConsentRevoke(account: other.id), till) },
      {
        let start = FlowStart(
          provider: ConsentHarness.provider, kind: "sca",
          params: ["account": .string(other.id.rawValue)])
        _ = try await harness.flows.start(start, till)
      },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: UsherError.self) { try await call() }
      #expect(error?.reason == .notFound)
    }
    #expect(harness.repository.record(other.id) != nil)
    let event = Event(
      topic: .account, what: "updated", at: harness.clock.now(), provider: other.provider,
      account: other.id)
    let entry = EventBus.Entry(
      cursor: 1, event: event, owner: .anna, account: PolicyRequest.Account(other))
    #expect(!till.mayReceive(entry))
    #expect(try caller(rule { _ in }).mayReceive(entry))
  }

  @Test("profile members outside of a rule's fields are left out, and consents still apply")
  func fields() async throws {
    let record = try await persist("one")
    let till = try caller(rule { $0.fields = ["firstname"] })
    #expect(try harness.accounts.get(record.id, till).account.profile == ["firstname": "Anna"])
    #expect(try harness.accounts.list(nil, till).accounts.map(\.profile) == [["firstname": "Anna"]])
    #expect(try harness.accounts.get(record.id, till).account.label == "one", "a visible member")
    #expect(harness.accounts.shown(of: record.id, to: till).map(\.fields) == [["firstname"]])
    let none = try caller(rule { $0.fields = [] })
    #expect(try harness.accounts.get(record.id, none).account.profile == nil)
    #expect(harness.accounts.shown(at: nil, to: none).isEmpty)
    let consented = try await harness.persist(
      .consented(["firstname": "Anna", "email": "a@example.com"], granted: ["email"]))
    #expect(try harness.accounts.get(consented.id, till).account.profile == nil)
  }

  @Test("a token is refused if its requested or granted scope exceeds the rule's scopes")
  func scopes() async throws {
    let record = try await persist("one", scope: "openid email")
    let till = try caller(rule { _ in })
    func refusal(_ scope: String?, _ most: [String]) -> UsherError? {
      reason {
        _ = try harness.tokens.get(TokenGet(account: record.id, scope: scope), till, within: most)
      }
    }
    #expect(refusal(nil, ["openid", "email"]) == nil)
    #expect(refusal("openid", ["openid"]) == nil)
    for (scope, most) in [(nil, ["openid"]), ("email", ["openid"]), (nil, []), ("openid", [])] {
      let error = refusal(scope, most)
      #expect(error?.reason == .permissionDenied)
      #expect(error?.detail.field == "scope")
    }
    let narrow = TokenKey(audience: "", scope: "openid")
    harness.repository.install(
      try harness.renewal(of: record, key: narrow, .sample(scope: "openid email")))
    #expect(refusal("openid", ["openid"])?.detail.field == "scope", "the grant exceeds the rule")
  }

  @Test("a scope is compared with a rule's scopes byte by byte")
  func scopeBytes() throws {
    let till = try caller(rule(allow: "token.get") { $0.scopes = ["K"] })
    var request = PolicyRequest.token
    for (scope, isAllowed) in [("K", true), ("\u{212A}", false)] {
      request.scopes = [scope]
      #expect(till.decide(request).isAllowed == isAllowed)
    }
  }

  @Test("a token with an unknown scope is refused under any list of scopes")
  func noScope() async throws {
    let record = try await persist("one", scope: "")
    let till = try caller(rule { _ in })
    let error = reason {
      _ = try harness.tokens.get(TokenGet(account: record.id), till, within: ["openid"])
    }
    #expect(error?.reason == .permissionDenied)
  }

  @Test("an account owned by a client belongs to it under any user, and to no other program")
  func ownership() async throws {
    let till = try rule { $0.owner = .client }
    let (anna, bert) = (try caller(till), try caller(till, uid: 1001))
    #expect(anna.owner == bert.owner)
    #expect(anna.owner.client == "till")
    #expect([anna.uid, bert.uid] == [1000, 1001])
    #expect(anna.person == .anna)
    let record = try await persist("one", owner: anna.owner)
    let account = try harness.accounts.get(record.id, bert).account
    #expect(account.client == "till")
    #expect(account.owner == nil)
    for other in [try caller(till, unit: "other.service"), try Caller.program(of: .bert)] {
      #expect(reason { _ = try harness.accounts.get(record.id, other) }?.reason == .notFound)
      #expect(try harness.accounts.list(nil, other).accounts.isEmpty)
    }
  }

  @Test("a client reads shared accounts and gets their tokens, but cannot forget or revoke them")
  func share() async throws {
    let till = try lender()
    let kioskRule = try rule("kiosk") { _ in }
    let owner = try caller(till)
    let kiosk = try caller(till, kioskRule, unit: "kiosk.service")
    let record = try await persist("one", owner: owner.owner)
    #expect(try harness.accounts.get(record.id, kiosk).account.id == record.id)
    #expect(try harness.accounts.list(nil, kiosk).accounts.count == 1)
    #expect(try harness.accounts.tokens(TokenList(account: record.id), kiosk).tokens.count == 1)
    #expect(
      try harness.tokens.get(TokenGet(provider: ConsentHarness.provider), kiosk).atOnce != nil)
    for call in [
      { _ = try await harness.tokens.forget(AccountForget(account: record.id), kiosk) },
      { _ = try await harness.tokens.revoke(TokenRevoke(account: record.id), kiosk) },
      { _ = try await harness.consents.revoke(ConsentRevoke(account: record.id), kiosk) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: UsherError.self) { try await call() }
      #expect(error?.reason == .notFound)
    }
    let stranger = try caller(till, try rule("desk") { _ in }, unit: "desk.service")
    #expect(reason { _ = try harness.accounts.get(record.id, stranger) }?.reason == .notFound)
  }

  @Test("accounts shared with a client are still limited by that client's own rule")
  func sharedByRule() async throws {
    let till = try lender()
    let kioskRule = try rule("kiosk") {
      $0.accounts = [try AccountSelector(setting: "subject:two")]
    }
    let owner = try caller(till).owner
    let (one, two) = (
      try await persist("one", owner: owner), try await persist("two", owner: owner)
    )
    let kiosk = try caller(till, kioskRule, unit: "kiosk.service")
    #expect(try harness.accounts.list(nil, kiosk).accounts.map(\.id) == [two.id])
    #expect(reason { _ = try harness.accounts.get(one.id, kiosk) }?.reason == .notFound)
  }

  @Test("account.list shows no profile of an account at a provider outside of the client's rule")
  func unlisted() async throws {
    _ = try await persist("one")
    let till = try caller(rule(allow: "account.list work") { _ in })
    #expect(try harness.accounts.list(nil, till).accounts.map(\.profile) == [nil])
  }

  @Test("a shared account at a provider outside of the client's rule is not found")
  func lentElsewhere() async throws {
    let till = try lender()
    let kioskRule = try rule("kiosk", allow: "account.get work") { _ in }
    let record = try await persist("one", owner: try caller(till).owner)
    let kiosk = try caller(till, kioskRule, unit: "kiosk.service")
    #expect(reason { _ = try harness.accounts.get(record.id, kiosk) }?.reason == .notFound)
  }

  @Test("a flow has an account's ID token as a hint only if the rule gives that token at once")
  func idTokenHint() async throws {
    let record = try await persist("one")
    func mayHave(
      _ allow: String = "*", _ edit: (inout ClientRule) throws -> Void = { _ in }
    ) throws -> Bool {
      try caller(rule(allow: allow, edit)).mayHaveIDToken(of: record, .fake())
    }
    #expect(try mayHave())
    #expect(try mayHave("token.get") == false)
    #expect(try mayHave("*", { $0.confirm = true }) == false)
    #expect(try mayHave("*", { $0.requireLocalAuthSeconds = 60 }) == false)
    let others = [try AccountSelector(setting: "subject:two")]
    #expect(try mayHave("*", { $0.accounts = others }) == false)
  }

  @Test("account.list shows no profile to a client whose rule needs confirmation")
  func confirmedList() async throws {
    let record = try await persist("one")
    let till = try caller(rule { $0.confirm = true })
    let listed = try #require(try harness.accounts.list(nil, till).accounts.first)
    #expect(listed.id == record.id)
    #expect(listed.profile == nil)
    #expect(listed.label == "one")
    #expect(harness.accounts.shown(at: nil, to: till).isEmpty)
  }
}
