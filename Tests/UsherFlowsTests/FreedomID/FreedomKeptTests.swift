import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Freedom ID tokens that are kept if the user request fails")
struct FreedomKeptTests {
  private static let known = KnownAccount(id: Freedom.account, subject: Freedom.person)

  /// Returns what a sign-in keeps if the provider's user reply has no id.
  private func kept(account: KnownAccount? = nil) throws -> HandoffSecret {
    var driven = try PartnerAuthorize(account: account)
    driven.toPerson()
    driven.answered(Freedom.said(["firstname": "Aigerim"]))
    #expect(driven.failure != nil)
    return try #require(driven.flow.grantIfAbandoned?.handoffSecret)
  }

  @Test("Freedom ID tokens are kept as soon as the exchange brings them, also over a restart")
  func window() throws {
    var driven = try PartnerAuthorize()
    #expect(driven.flow.grantIfAbandoned == nil)
    driven.toExchange()
    #expect(driven.flow.grantIfAbandoned == nil)
    driven.answered(Freedom.said(Freedom.tokens()))
    let kept = try #require(driven.flow.grantIfAbandoned?.handoffSecret)
    #expect(kept.tokens?.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(kept.expiresAt == now + FreedomPartnerAuthorize.handoffLifetime)
    try driven.restart()
    #expect(driven.flow.grantIfAbandoned?.handoffSecret == kept)
  }

  @Test("Freedom ID tokens are kept unless the tokens, the person or the consent is refused")
  func kinds() throws {
    for (outcome, isKept) in [
      (Freedom.refusal(403), true), (Freedom.refusal(401, 100001), true),
      (.unreadable(message: "too large"), true), (.reply(reply(text: "[]")), true),
      (Freedom.refusal(401), false), (Freedom.refusal(401, 100004), false),
      (Freedom.refusal(403, 100102), false),
      (Freedom.said(Freedom.user(["id": "5f0c1d2e-0000-4000-8000-000000000002"])), false),
      (Freedom.said(["id": .string(Freedom.person)]), false),
    ] as [(CallOutcome, Bool)] {
      var driven = try PartnerAuthorize(grants: ["read.firstname"], account: Self.known)
      driven.toPerson()
      driven.answered(outcome)
      #expect(driven.failure != nil)
      #expect((driven.flow.grantIfAbandoned != nil) == isKept, "\(outcome)")
      let says = driven.failure?.message.contains("the tokens are kept for a day")
      #expect(says == isKept, "\(outcome)")
    }
  }

  @Test("kept Freedom ID tokens make the account in the next sign-in without a browser")
  func goesOn() throws {
    let kept = try kept()
    var driven = try PartnerAuthorize(handoffSecrets: [kept])
    #expect(driven.calls == [.user(token: Secret("access-secret"))])
    #expect(driven.flow.consumedHandoffSecret == kept.handle)
    driven.answered(Freedom.said(Freedom.user()))
    let grant = try #require(driven.completion?.grant)
    #expect(grant.subject == Freedom.person)
    #expect(grant.tokens?.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(grant.attributes["tokenIdHash"] != nil)
  }

  @Test("kept Freedom ID tokens stay if the provider is unreachable, and are dropped otherwise")
  func again() throws {
    let kept = try kept()
    var away = try PartnerAuthorize(handoffSecrets: [kept])
    for _ in 0..<6 {
      away.answered(Freedom.lost)
      away.receive(.woken)
    }
    #expect(away.flow.grantIfAbandoned?.handoffSecret == kept)
    for outcome in [Freedom.refusal(401), Freedom.refusal(403), Freedom.said([:])] {
      var driven = try PartnerAuthorize(handoffSecrets: [kept])
      driven.answered(outcome)
      #expect(driven.expectation != nil && driven.flow.grantIfAbandoned == nil)
      driven.toPerson()
      #expect(driven.flow.grantIfAbandoned?.handoffSecret != nil)
    }
  }

  @Test("kept Freedom ID tokens are used only for the same grants, account and provider")
  func same() throws {
    let kept = try kept()
    for driven in [
      try PartnerAuthorize(grants: ["read.firstname"], handoffSecrets: [kept]),
      try PartnerAuthorize(account: Self.known, handoffSecrets: [kept]),
      try PartnerAuthorize(handoffSecrets: [kept]) {
        $0.baseURL = try ProviderURL(setting: "https://other.example")
      },
      try PartnerAuthorize(handoffSecrets: [kept]) { $0.clientID = "another" },
    ] {
      #expect(driven.expectation != nil && driven.flow.consumedHandoffSecret == nil)
    }
    let named = try PartnerAuthorize(
      account: Self.known, handoffSecrets: [try self.kept(account: Self.known)])
    #expect(named.calls == [.user(token: Secret("access-secret"))])
  }
}
