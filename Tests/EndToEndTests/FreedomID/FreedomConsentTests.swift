import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Stored consents, and their revocation.
@Suite("Freedom ID's consents", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomConsentTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture(provider: "consent_days = 30") }

  @Test("an earlier Freedom ID grant skips the consent step, and the profile is read anew")
  func passedOver() throws {
    try fixture.authorized(["read.firstname", "read.email"])
    try fixture.set(["consentReply": ["profile": ["firstname": "Alicia", "email": .null]]])
    try fixture.daemon.restart()
    let after = try fixture.again()
    let proving = try after.standing(at: "localAuth", ["read.email", "read.firstname"])
    let end = try after.prove(at: proving)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end.profile == ["firstname": "Alicia", "email": .null])
    #expect(end["result"]?["granted"] == ["read.firstname", "read.email"])
    #expect(try after.account(end["result"]?["account"])["profile"] == end.profile)
    #expect(try fixture.requests("consent") == 2)
  }

  @Test("consent.list returns account, client, grant, user and expiry of each Freedom ID consent")
  func listed() throws {
    let end = try fixture.authorized(["read.firstname", "read.phone"])
    let consents = try fixture.consents()
    #expect(consents.map { $0["grant"] } == ["read.firstname", "read.phone"])
    for consent in consents {
      #expect(consent["account"] == end["result"]?["account"])
      #expect(consent["provider"] == "freedom" && consent["client"] == "(user)")
      #expect(consent["grantedBy"] == .integer(Int64(getuid())))
      let span = try consent.time("expiresAt").timeIntervalSince(consent.time("grantedAt"))
      #expect((span / 86_400).rounded() == 30)
    }
    #expect(
      try fixture.app.call("consent.list", ["provider": "other"])["consents"] == [])
  }

  @Test("consent.revoke at Freedom ID removes the member at once; the next flow asks for it again")
  func revoked() throws {
    let account = try fixture.authorized(["read.firstname", "read.phone"])["result"]?["account"]
    let reply = try fixture.app.call(
      "consent.revoke", ["account": account ?? .null, "grant": "read.phone"])
    #expect(reply == ["revoked": 1])
    #expect(try fixture.account(account)["profile"] == ["firstname": "Alice"])
    #expect(try fixture.consents().map { $0["grant"] } == ["read.firstname"])
    let asked = try fixture.standing(at: "consent", ["read.firstname", "read.phone"])
    #expect(asked.asked == ["read.firstname": true, "read.phone": false])
    #expect(
      try fixture.app.call("consent.revoke", ["provider": "freedom", "grant": "read.phone"])
        == ["revoked": 0])
    #expect(try fixture.app.call("consent.revoke", ["provider": "freedom"]) == ["revoked": 1])
    #expect(try fixture.account(account)["profile"] ?? .null == .null)
    try fixture.daemon.restart()
    #expect(try fixture.again().account(account)["profile"] ?? .null == .null)
  }

  @Test("consent.revoke takes both spellings of a Freedom ID grant and refuses an unknown provider")
  func revokedByEitherName() throws {
    try fixture.authorized(["read.data_of_birth"])
    #expect(
      try fixture.app.call(
        "consent.revoke", ["provider": "freedom", "grant": "read.date_of_birth"])
        == ["revoked": 1])
    let error = try fixture.app.reply(to: "consent.revoke", ["provider": "freedm"])["error"]
    #expect(
      error?["code"] == 1001 && error?["data"]?["field"] == "provider",
      "\(String(describing: error))")
  }

  @Test("a Freedom ID consent that is revoked during a flow is not restored by that flow")
  func revokedMeanwhile() throws {
    try fixture.authorized(["read.firstname"])
    let asked = try fixture.standing(at: "consent", ["read.firstname", "read.phone"])
    _ = try fixture.app.call("consent.revoke", ["provider": "freedom"])
    let end = try fixture.grant(["read.phone"], at: asked)
    let account = try fixture.account(try fixture.accounts().first?["id"])
    #expect(account["profile"]?["firstname"] == nil, "\(end.text) \(account.text)")
    #expect(try fixture.consents().allSatisfy { $0["grant"] == "read.phone" })
  }

  @Test("a Freedom ID consent ends after consent_days: its member is gone and is asked for again")
  func expired() throws {
    let fixture = try FreedomFixture(provider: "consent_days = 1")
    let account = try fixture.authorized(["read.firstname"])["result"]?["account"]
    try fixture.restart(ahead: 86_400 - 600)
    #expect(try fixture.again().consents().count == 1)
    #expect(try fixture.again().account(account)["profile"] == ["firstname": "Alice"])
    try fixture.restart(ahead: 86_400 + 5)
    let after = try fixture.again()
    #expect(try after.consents().isEmpty)
    let known = try after.account(account)
    #expect((known["profile"] ?? .null) == .null, "\(known.text)")
    let asked = try after.standing(at: "consent", ["read.firstname"])
    #expect(asked.asked == ["read.firstname": false])
    #expect(try after.walk(asked).profile == ["firstname": "Alice"])
  }

  @Test("client.clear cancels flows, removes consents and accounts, and unties them at Freedom ID")
  func cleared() throws {
    try fixture.authorized(["read.firstname"])
    let waiting = try fixture.standing(at: "consent", ["read.phone"])
    let reply = try fixture.app.call("client.clear", ["provider": "freedom"])
    #expect(reply == ["cancelled": 1, "forgotten": 1, "kept": 0])
    let ended = try fixture.flow(waiting)
    #expect(ended["status"] == "cancelled", "\(ended.text)")
    #expect(try fixture.accounts().isEmpty && fixture.consents().isEmpty)
    try eventually("the account's tokens are revoked at the provider") {
      try fixture.list("tokens").allSatisfy { $0["state"] != "live" }
    }
    #expect(try fixture.authorize(["read.firstname"]).state == "authentication")
    #expect(
      try fixture.app.call("client.clear", ["provider": "freedom"])
        == ["cancelled": 1, "forgotten": 0, "kept": 0])
    #expect(
      try fixture.app.call("client.clear", ["provider": "freedom"])
        == ["cancelled": 0, "forgotten": 0, "kept": 0])
  }

  @Test("Freedom ID's device tokens are neither listed by token.list nor returned by token.get")
  func tokens() throws {
    let account = try fixture.authorized(["read.firstname"])["result"]?["account"]
    #expect(try fixture.app.call("token.list")["tokens"] == [])
    for params: JSONValue in [["account": account ?? .null], ["provider": "freedom"]] {
      #expect(try fixture.app.reason(of: "token.get", params) == "permission_denied")
    }
    #expect(try fixture.account(account)["tokens"] == [])
  }
}
