import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What is remembered of consents, and how it is taken back.
@Suite("Freedom ID's consents", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomConsentTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene(provider: "consent_days = 30") }

  @Test("what was granted is not asked again: the step is passed over, the profile read anew")
  func passedOver() throws {
    try scene.authorized(["read.firstname", "read.email"])
    try scene.set(["consentReply": ["profile": ["firstname": "Alicia", "email": .null]]])
    try scene.daemon.restart()
    let after = try scene.again()
    let proving = try after.standing(at: "localAuth", ["read.email", "read.firstname"])
    let end = try after.prove(at: proving)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end.profile == ["firstname": "Alicia", "email": .null])
    #expect(end["result"]?["granted"] == ["read.firstname", "read.email"])
    #expect(try after.account(end["result"]?["account"])["profile"] == end.profile)
    #expect(try scene.requests("consent") == 2)
  }

  @Test("consent.list: account, client, grant, who was there, and until when")
  func listed() throws {
    let end = try scene.authorized(["read.firstname", "read.phone"])
    let consents = try scene.consents()
    #expect(consents.map { $0["grant"] } == ["read.firstname", "read.phone"])
    for consent in consents {
      #expect(consent["account"] == end["result"]?["account"])
      #expect(consent["provider"] == "freedom" && consent["client"] == "(user)")
      #expect(consent["grantedBy"] == .integer(Int64(getuid())))
      let span = try consent.time("expiresAt").timeIntervalSince(consent.time("grantedAt"))
      #expect((span / 86_400).rounded() == 30)
    }
    #expect(
      try scene.app.call("consent.list", ["provider": "other"])["consents"] == [])
  }

  @Test("consent.revoke holds from the next call on: the member is gone, and is asked for again")
  func revoked() throws {
    let account = try scene.authorized(["read.firstname", "read.phone"])["result"]?["account"]
    let reply = try scene.app.call(
      "consent.revoke", ["account": account ?? .null, "grant": "read.phone"])
    #expect(reply == ["revoked": 1])
    #expect(try scene.account(account)["profile"] == ["firstname": "Alice"])
    #expect(try scene.consents().map { $0["grant"] } == ["read.firstname"])
    let asked = try scene.standing(at: "consent", ["read.firstname", "read.phone"])
    #expect(asked.asked == ["read.firstname": true, "read.phone": false])
    #expect(
      try scene.app.call("consent.revoke", ["provider": "freedom", "grant": "read.phone"])
        == ["revoked": 0])
    #expect(try scene.app.call("consent.revoke", ["provider": "freedom"]) == ["revoked": 1])
    #expect(try scene.account(account)["profile"] ?? .null == .null)
    try scene.daemon.restart()
    #expect(try scene.again().account(account)["profile"] ?? .null == .null)
  }

  @Test("consent.revoke knows a grant by both spellings, and says where there is no such provider")
  func revokedByEitherName() throws {
    try scene.authorized(["read.data_of_birth"])
    #expect(
      try scene.app.call("consent.revoke", ["provider": "freedom", "grant": "read.date_of_birth"])
        == ["revoked": 1])
    let error = try scene.app.reply(to: "consent.revoke", ["provider": "freedm"])["error"]
    #expect(
      error?["code"] == 1001 && error?["data"]?["field"] == "provider",
      "\(String(describing: error))")
  }

  @Test("a consent that is revoked while the same is asked for is not remembered by that flow")
  func revokedMeanwhile() throws {
    try scene.authorized(["read.firstname"])
    let asked = try scene.standing(at: "consent", ["read.firstname", "read.phone"])
    _ = try scene.app.call("consent.revoke", ["provider": "freedom"])
    let end = try scene.grant(["read.phone"], at: asked)
    let account = try scene.account(try scene.accounts().first?["id"])
    #expect(account["profile"]?["firstname"] == nil, "\(end.text) \(account.text)")
    #expect(try scene.consents().allSatisfy { $0["grant"] == "read.phone" })
  }

  @Test("a consent is over when its days are: the member is gone, and is asked for again")
  func expired() throws {
    let scene = try FreedomScene(provider: "consent_days = 1")
    let account = try scene.authorized(["read.firstname"])["result"]?["account"]
    try scene.restart(ahead: 86_400 - 600)
    #expect(try scene.again().consents().count == 1)
    #expect(try scene.again().account(account)["profile"] == ["firstname": "Alice"])
    try scene.restart(ahead: 86_400 + 5)
    let after = try scene.again()
    #expect(try after.consents().isEmpty)
    let known = try after.account(account)
    #expect((known["profile"] ?? .null) == .null, "\(known.text)")
    let asked = try after.standing(at: "consent", ["read.firstname"])
    #expect(asked.asked == ["read.firstname": false])
    #expect(try after.walk(asked).profile == ["firstname": "Alice"])
  }

  @Test("client.clear: flows cancelled, consents gone, the account untied; again is nothing")
  func cleared() throws {
    try scene.authorized(["read.firstname"])
    let waiting = try scene.standing(at: "consent", ["read.phone"])
    let reply = try scene.app.call("client.clear", ["provider": "freedom"])
    #expect(reply == ["cancelled": 1, "forgotten": 1, "kept": 0])
    let ended = try scene.flow(waiting)
    #expect(ended["status"] == "cancelled", "\(ended.text)")
    #expect(try scene.accounts().isEmpty && scene.consents().isEmpty)
    try eventually("the account is untied") {
      try scene.list("tokens").allSatisfy { $0["state"] != "live" }
    }
    #expect(try scene.authorize(["read.firstname"]).state == "authentication")
    #expect(
      try scene.app.call("client.clear", ["provider": "freedom"])
        == ["cancelled": 1, "forgotten": 0, "kept": 0])
    #expect(
      try scene.app.call("client.clear", ["provider": "freedom"])
        == ["cancelled": 0, "forgotten": 0, "kept": 0])
  }

  @Test("the tokens open everything: nobody is told of them, or given one")
  func tokens() throws {
    let account = try scene.authorized(["read.firstname"])["result"]?["account"]
    #expect(try scene.app.call("token.list")["tokens"] == [])
    for params: JSONValue in [["account": account ?? .null], ["provider": "freedom"]] {
      #expect(try scene.app.reason(of: "token.get", params) == "permission_denied")
    }
    #expect(try scene.account(account)["tokens"] == [])
  }
}

extension JSONValue {
  /// A moment among its members.
  func time(_ name: String) throws -> Date {
    guard let text = self[name]?.stringValue,
      let time = (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        ?? (try? Date.ISO8601FormatStyle().parse(text))
    else { throw TestError("no time \(name) in \(self.text)") }
    return time
  }
}
