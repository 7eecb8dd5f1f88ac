import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Log-in with a browser: the account has the members that the person agreed to at the provider's
/// page.
@Suite("authorize by Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerAuthorizeTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.partner() }

  @Test(
    "Freedom ID authorize by the partner API adds an account with exactly the members asked for")
  func allowed() throws {
    let end = try fixture.signedIn(["read.phone", "read.firstname"])
    #expect(end["result"]?["granted"] == ["read.firstname", "read.phone"], "\(end.text)")
    #expect(end.profile == ["firstname": "Alice", "phone": "+447700900123"])
    let account = try fixture.account(end.account)
    let id = try #require(try fixture.person("alice")["id"]?.stringValue)
    #expect(account["subject"] == .string(id))
    #expect(account["label"] == .string("Freedom ID \(id.prefix(8))"))
    #expect(account["profile"] == end.profile)
    #expect(try fixture.consents().map { $0["grant"] } == ["read.firstname", "read.phone"])
    let token = try #require(try fixture.list("tokens").first)
    #expect(
      account["attributes"]?["mode"] == "oauth2" && account["attributes"]?["tokenIdHash"] != nil,
      "\(account.text)")
    #expect(!account.text.contains(token["id"]?.stringValue ?? "?"))
    #expect(token["grants"] == ["read.firstname", "read.phone"])
    #expect(account["tokens"]?[0]?["scope"] == "read.firstname read.phone")
    #expect(try fixture.token()["scope"] == "read.firstname read.phone")
    #expect(try fixture.requests("token") == 1 && fixture.requests("user") == 1)
  }

  @Test(
    "members that Freedom ID authorize did not ask for are neither returned nor stored nor logged")
  func extraFields() throws {
    try fixture.set(["extraProfileFields": true])
    let end = try fixture.signedIn(["read.firstname"])
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    #expect(try fixture.account(end.account)["profile"] == ["firstname": "Alice"])
    let name = Data("Arthurovna".utf8)
    let kept = fixture.daemon.place.everything().filter { $0.bytes.range(of: name) != nil }
    #expect(kept.isEmpty, "\(kept.map(\.name))")
    #expect(!fixture.daemon.log.contains("901231400456"))
  }

  @Test(
    "declining at the log-in or the consent ends Freedom ID authorize as denied with code 100102")
  func denied() throws {
    for decision in [FreedomFixture.Decision.deny, .giveUp] {
      let end = try fixture.attempt(["read.firstname"], as: "alice", decision)
      #expect(end.failure == ["denied", "accessDenied", "100102"], "\(end.text)")
    }
    #expect(try fixture.accounts().isEmpty && fixture.consents().isEmpty)
    #expect(try fixture.requests("token") == 0)
  }
}

/// Several accounts and several programs.
@Suite("Accounts of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerAccountTests {
  @Test("two people have two Freedom ID accounts, and signing in again keeps the account")
  func several() throws {
    let fixture = try FreedomFixture.partner()
    let alice = try fixture.signedIn().account
    let bob = try fixture.signedIn(as: "bob").account
    #expect(alice != bob)
    #expect(try fixture.signedIn(["read.email"]).account == alice)
    #expect(try fixture.accounts().count == 2)
    let error = try fixture.tokenError()
    #expect(error["code"] == -32602 && error["data"]?["field"] == "account")
    let tokens = try [alice, bob].map { try fixture.token(["account": $0])["accessToken"] }
    #expect(tokens[0] != tokens[1])
    #expect(
      try fixture.account(alice)["profile"] == ["firstname": "Alice", "email": "alice@example.com"])
  }

  @Test(
    "Freedom ID authorize for a named account refuses another person's log-in and changes nothing")
  func named() throws {
    let fixture = try FreedomFixture.partner()
    let alice = try fixture.signedIn().account
    let before = try fixture.account(alice)
    let end = try fixture.attempt(["read.email"], as: "bob", .allow, ["account": alice])
    #expect(end.failure == ["provider_rejected", "authError", nil], "\(end.text)")
    #expect(try fixture.accounts() == [before])
    #expect(try fixture.signedIn(["read.email"], as: "alice", ["account": alice]).account == alice)
    let nobodys: JSONValue = ["grants": ["read.email"], "account": "acc_nobodys"]
    let error = try fixture.app.error(
      of: "flow.start", ["provider": "freedom", "kind": "authorize", "params": nobodys])
    #expect(error.reason == "not_found" || error.reason == "invalid_params", "\(error.text)")
  }

  @Test(
    "token.get at Freedom ID serves programs with consent and names the flow to the others")
  func programs() throws {
    let place = try TemporaryDirectory()
    let names = ["till", "desk"]
    let fixture = try FreedomFixture.partner(
      more: try names.map { try NamedProgram.rule($0, in: place) }.joined(separator: "\n"),
      at: place)
    let programs = try names.map { try NamedProgram($0, in: place, at: fixture.daemon) }
    let till = fixture.at(try programs[0].client())
    let desk = fixture.at(try programs[1].client())
    let end = try till.signedIn(["read.firstname", "read.email"])
    #expect(Set(try till.consents().map { $0["client"] }) == ["till"])
    #expect(try till.token()["scope"] == "read.firstname read.email")
    for other in [desk, fixture] {
      let error = try other.tokenError()
      #expect(error["code"] == 1103 && error.reason == "consent_required", "\(error.text)")
      #expect(error["data"]?["next"]?["method"] == "flow.start")
      #expect(error.next?["provider"] == "freedom" && error.next?["kind"] == "authorize")
      #expect(error.next?["params"]?["account"] == end.account)
      #expect(
        error.next?["params"]?["grants"] == end["result"]?["granted"],
        "next requests the grants of the existing sign-in")
      #expect((try other.account(end.account)["profile"] ?? .null) == .null)
    }
    // The desk's own consent brings a token with the scope of that consent.
    let part = try desk.signedIn(["read.firstname"])
    #expect(part.account == end.account)
    #expect(try desk.account(end.account)["profile"] == ["firstname": "Alice"])
    #expect(try desk.token()["scope"] == "read.firstname")
    // The account's newest token is the desk's; the till has consent for all of its scope.
    #expect(try till.token()["scope"] == "read.firstname")
    #expect(try till.app.call("consent.revoke", ["provider": "freedom"])["revoked"] == 2)
    #expect(try till.tokenError()["code"] == 1103)
    #expect(try desk.token()["accessToken"] != nil)
  }

  @Test("only the program that started authorize sees its page's URL and may submit the redirect")
  func othersFlow() throws {
    let place = try TemporaryDirectory()
    let fixture = try FreedomFixture.partner(
      more: try NamedProgram.rule("till", in: place), at: place)
    let program = try NamedProgram("till", in: place, at: fixture.daemon)
    let till = fixture.at(try program.client())
    let flow = try till.authorize(["read.firstname"])
    #expect((try fixture.flow(flow)["step"] ?? .null) == .null)
    let back = try fixture.decide(at: flow.url)
    let pasted = try fixture.refusal(["type": "openURL", "redirectURL": .string(back)], to: flow)
    #expect(pasted.0 == "permission_denied")
    #expect(try Web.get(back).status == 200)
    #expect(try till.app.finished(flow)["status"] == "succeeded")
    #expect((try fixture.flow(flow)["result"] ?? .null) == .null)
  }
}
