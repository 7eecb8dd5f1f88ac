import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens of the partner API: renewed by PATCH, over when the provider says so.
@Suite("Freedom ID's partner API: tokens", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerTokenTests {
  private static let past = "2020-01-01T00:00:00.000000Z"

  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.partner() }

  /// Signs in with an access token that is over when it comes; later ones are sound.
  @discardableResult
  private func signedInWithExpiredToken() throws -> JSONValue {
    try scene.set(["tokenReply": ["access_expire_at": .string(Self.past)]])
    let end = try scene.signedIn()
    try scene.set(["tokenReply": [:]])
    return end
  }

  @Test("one that is over is renewed by PATCH, once for all who ask, and the account stays")
  func renewed() throws {
    let end = try signedInWithExpiredToken()
    let before = try scene.account(end.account)
    let tokens = try (0..<3).map { _ in try scene.token() }
    #expect(Set(tokens.map { $0["accessToken"] }).count == 1)
    #expect(try scene.requests("refresh") == 1)
    #expect(tokens[0]["scope"] == "read.firstname" && tokens[0]["account"] == end.account)
    let after = try scene.account(end.account)
    #expect(after["profile"] == before["profile"] && after["attributes"] == before["attributes"])
    // What was renewed is good at the provider.
    let user = try Web.send(
      "GET", "\(scene.sandbox.freedom)/api/v1/oauth/user",
      headers: ["Authorization": "Bearer \(tokens[0]["accessToken"]?.stringValue ?? "")"])
    #expect(user.status == 200)
  }

  @Test("by force there is another one though the first is good")
  func forced() throws {
    try scene.signedIn()
    let first = try scene.token()["accessToken"]
    let second = try scene.token(["provider": "freedom", "forceRefresh": true])["accessToken"]
    #expect(first != second)
    #expect(try scene.token()["accessToken"] == second)
  }

  @Test(
    "a refusal is the end of the grant: who asks is told to sign in anew, and nobody is asked again",
    arguments: [false, true])
  func refused(inside200: Bool) throws {
    let end = try signedInWithExpiredToken()
    let listener = try PartnerListener(scene.daemon.client())
    try scene.set(["errorsInside200": .bool(inside200)])
    try scene.sandbox.control("POST", "freedomid/revokeAll")
    for _ in 0..<3 {
      let error = try scene.tokenError()
      #expect(error["code"] == 1102 && error.reason == "reauthentication_required")
      #expect(error.next?["kind"] == "authorize", "\(error.text)")
      #expect(error.next?["params"]?["account"] == end.account)
      #expect(error["data"]?["provider"]?["code"] == "transmissionError.autheticationError")
      #expect(error["data"]?["provider"]?["error"] == "100004")
    }
    #expect(try scene.requests("refresh") == 1)
    let next = try scene.authorize(["read.firstname"], ["account": end.account])
    #expect(try listener.deaths(before: next).map { $0["account"] } == [end.account])
    try scene.visit(next)
    #expect(try scene.app.finished(next).account == end.account)
    #expect(try scene.token()["account"] == end.account)
  }

  @Test("a provider that is away is not the end: the same grant is renewed when it is back")
  func away() throws {
    try signedInWithExpiredToken()
    try scene.spoil("refresh", ["status": 503], times: 1)
    let error = try scene.tokenError()
    #expect(error["code"] == 1302 && error["data"]?["retryable"] == true, "\(error.text)")
    try eventually("there is a token again") { (try? scene.token()) != nil }
  }

  @Test(
    "an answer that is none does not end the grant either",
    arguments: [
      ["access_token": .null], ["access_expire_at": "tomorrow"], ["access_expire_at": 604_800],
    ] as [JSONValue])
  func unusable(reply: JSONValue) throws {
    try signedInWithExpiredToken()
    try scene.set(["tokenReply": reply])
    let error = try scene.tokenError()
    #expect(error["code"] == 1303, "\(error.text)")
    #expect(!error.text.contains("604800") && !error.text.contains("tomorrow"))
  }

  @Test("another id with a renewal is the tokens' id from then on")
  func otherID() throws {
    let account = try signedInWithExpiredToken().account
    let first = try scene.account(account)["attributes"]?["tokenIdHash"]
    try scene.set(["newIdOnRefresh": true])
    _ = try scene.token()
    let second = try scene.account(account)["attributes"]?["tokenIdHash"]
    #expect(first != second)
    #expect(second != nil)
  }

  @Test("a refused call is renewed once and made again; the second refusal is the last")
  func renewedInFlow() throws {
    try scene.signedIn(["read.profile"])
    try scene.set(["profileAnswer": "accept"])
    try scene.sandbox.control("POST", "freedomid/expireTokens")
    let params: JSONValue = ["phone": "+447700900456", "grants": ["read.firstname"]]
    let end = try scene.perform("requestProfile", params)
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(try scene.requests("refresh") == 1)
    try scene.sandbox.control("POST", "freedomid/revokeAll")
    let dead = try scene.perform("requestProfile", params)
    #expect(
      dead.failure[0] == "provider_rejected"
        && dead.failure[1] == "transmissionError.autheticationError", "\(dead.text)")
  }

  @Test("the account is forgotten here; the partner API has no revocation to call")
  func forgotten() throws {
    try scene.signedIn()
    let before = try scene.sandbox.control("GET", "requests")["count"]
    _ = try scene.app.call("account.forget", ["provider": "freedom"])
    #expect(try scene.accounts().isEmpty && scene.consents().isEmpty)
    #expect(try scene.sandbox.control("GET", "requests")["count"] == before)
    #expect(try scene.tokenError()["code"] == 1101)
  }

  @Test("a part of the scope cannot be asked for: the grants of one consent are all of it")
  func scope() throws {
    try scene.signedIn(["read.firstname", "read.email"])
    let error = try scene.tokenError(["provider": "freedom", "scope": "read.email"])
    #expect(error["code"] == -32602 && error["data"]?["field"] == "scope", "\(error.text)")
  }
}
