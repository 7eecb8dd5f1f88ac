import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens of the partner API: renewed by PATCH, dead when the provider refuses the renewal.
@Suite("Tokens of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerTokenTests {
  private static let past = "2020-01-01T00:00:00.000000Z"

  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.partner() }

  /// Signs in with tokens whose expiry is in the past; later tokens are valid.
  ///
  /// The provider decides whether it accepts the refresh token.
  @discardableResult
  private func signedInWithExpiredToken() throws -> JSONValue {
    try fixture.set([
      "tokenReply": [
        "access_expire_at": .string(Self.past), "refresh_expire_at": .string(Self.past),
      ]
    ])
    let end = try fixture.signedIn()
    try fixture.set(["tokenReply": [:]])
    return end
  }

  @Test("an expired Freedom ID token is renewed once for three token.get calls; the account stays")
  func renewed() throws {
    let end = try signedInWithExpiredToken()
    let before = try fixture.account(end.account)
    let tokens = try (0..<3).map { _ in try fixture.token() }
    #expect(Set(tokens.map { $0["accessToken"] }).count == 1)
    #expect(try fixture.requests("refresh") == 1)
    #expect(tokens[0]["scope"] == "read.firstname" && tokens[0]["account"] == end.account)
    let after = try fixture.account(end.account)
    #expect(after["profile"] == before["profile"] && after["attributes"] == before["attributes"])
    // The provider accepts the renewed token.
    let user = try Web.send(
      "GET", "\(fixture.sandbox.freedom)/api/v1/oauth/user",
      headers: ["Authorization": "Bearer \(tokens[0]["accessToken"]?.stringValue ?? "")"])
    #expect(user.status == 200)
  }

  @Test("after a refused renewal, token.get asks for a new log-in and Freedom is not asked again")
  func refused() throws {
    let end = try signedInWithExpiredToken()
    let listener = try PartnerListener(fixture.daemon.client())
    try fixture.sandbox.control("POST", "freedomid/revokeAll")
    for _ in 0..<3 {
      let error = try fixture.tokenError()
      #expect(error["code"] == 1102 && error.reason == "reauthentication_required")
      #expect(error.next?["kind"] == "authorize", "\(error.text)")
      #expect(error.next?["params"]?["account"] == end.account)
      #expect(error["data"]?["provider"]?["code"] == "transmissionError.autheticationError")
      #expect(error["data"]?["provider"]?["error"] == "100004")
    }
    #expect(try fixture.requests("refresh") == 1)
    let next = try fixture.authorize(["read.firstname"], ["account": end.account])
    #expect(try listener.deaths(before: next).map { $0["account"] } == [end.account])
    try fixture.visit(next)
    #expect(try fixture.app.finished(next).account == end.account)
    #expect(try fixture.token()["account"] == end.account)
  }

  @Test(
    "Freedom ID requestProfile renews an expired token once; a second refusal ends the flow")
  func renewedInFlow() throws {
    try fixture.signedIn(["read.profile"])
    try fixture.set(["profileAnswer": "accept"])
    try fixture.sandbox.control("POST", "freedomid/expireTokens")
    let params: JSONValue = ["phone": "+447700900456", "grants": ["read.firstname"]]
    let end = try fixture.perform("requestProfile", params)
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(try fixture.requests("refresh") == 1)
    try fixture.sandbox.control("POST", "freedomid/revokeAll")
    let dead = try fixture.perform("requestProfile", params)
    #expect(
      dead.failure[0] == "reauthentication_required"
        && dead.failure[1] == "transmissionError.autheticationError", "\(dead.text)")
  }

  @Test("account.forget removes a partner API account and sends Freedom no request")
  func forgotten() throws {
    try fixture.signedIn()
    let before = try fixture.sandbox.control("GET", "requests")["count"]
    _ = try fixture.app.call("account.forget", ["provider": "freedom"])
    #expect(try fixture.accounts().isEmpty && fixture.consents().isEmpty)
    #expect(try fixture.sandbox.control("GET", "requests")["count"] == before)
    #expect(try fixture.tokenError()["code"] == 1101)
  }

  @Test("token.get refuses the parameter scope for an account of Freedom ID's partner API")
  func scope() throws {
    try fixture.signedIn(["read.firstname", "read.email"])
    let error = try fixture.tokenError(["provider": "freedom", "scope": "read.email"])
    #expect(error["code"] == -32602 && error["data"]?["field"] == "scope", "\(error.text)")
  }
}
