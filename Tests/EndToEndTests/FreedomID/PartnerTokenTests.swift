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

  /// Signs in with tokens that are over by their own times when they come; later ones are sound.
  ///
  /// Whether the refresh token is over, the provider decides.
  @discardableResult
  private func signedInWithExpiredToken() throws -> JSONValue {
    try scene.set([
      "tokenReply": [
        "access_expire_at": .string(Self.past), "refresh_expire_at": .string(Self.past),
      ]
    ])
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

  @Test("a refusal ends the grant: the caller is told to sign in anew, and nobody is asked again")
  func refused() throws {
    let end = try signedInWithExpiredToken()
    let listener = try PartnerListener(scene.daemon.client())
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
