import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The expected end of a failing verification: the SDK's code, its title, whether it is retryable,
/// our reason and the server's own code.
struct GoPayEnd: Sendable {
  let code: String
  let title: String
  let isRetryable: Bool
  let reason: String
  var error: String?

  func check(_ flow: JSONValue) {
    #expect(flow["status"] == "failed", "\(flow.text)")
    #expect(flow.failure == [reason, "GPE-\(code)", error], "\(flow.text)")
    #expect(flow["failure"]?["retryable"] == .bool(isRetryable))
    #expect(flow["failure"]?["title"] == .string(title))
    #expect(flow["failure"]?["provider"]?["title"] == .string(title))
    #expect(flow["failure"]?["provider"]?["name"] == "gopay")
    #expect(flow["failure"]?["message"]?.stringValue?.isEmpty == false)
    #expect(flow["result"] == .null && flow["step"] == .null)
  }

  static func configuration(_ error: String? = nil) -> GoPayEnd {
    .init(
      code: "2201", title: "Configuration invalid", isRetryable: false,
      reason: "provider_rejected", error: error)
  }

  static let unauthorized = GoPayEnd(
    code: "2202", title: "Token expired or unauthorised", isRetryable: true,
    reason: "provider_rejected", error: "1401")

  static let unreachable = GoPayEnd(
    code: "2203", title: "Connection error", isRetryable: true, reason: "provider_unreachable")

  static let denied = GoPayEnd(
    code: "2207", title: "User cancelled", isRetryable: true, reason: "denied",
    error: "access_denied")

  static func api(_ reason: String) -> GoPayEnd {
    .init(code: "2215", title: "API error", isRetryable: true, reason: reason)
  }
}

/// One error of each origin. `UsherFlowsTests/GoPay` covers every code of every call.
@Suite("GoPay's error codes", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayErrorTests {
  @Test("a revoked token of an account ends GoPay verify with GPE-2202; a given token replaces it")
  func accountToken() throws {
    let fixture = try GoPayFixture()
    let end = try fixture.verified()
    try fixture.sandbox.control("POST", "gopay/revokeAll")
    let account: JSONValue = ["account": end["result"]?["account"] ?? .null]
    GoPayEnd.unauthorized.check(try fixture.verify("none", more: account))
    let fresh = try fixture.sandbox.control("POST", "gopay/tokens", ["username": "alice"])["token"]
    let again = try fixture.verify("none", token: fresh?.stringValue, more: account)
    #expect(again["state"] == "kyc", "\(again.text)")
  }

  @Test("a denial at GoPay's log-in page ends verify with GPE-2207")
  func logIn() throws {
    let fixture = try GoPayFixture()
    let flow = try fixture.verify()
    let back = try GoPayPerson.giveUp(at: flow.url, "deny", fixture.sandbox)
    #expect(try Web.get(back).status < 500)
    GoPayEnd.denied.check(try fixture.app.finished(flow))
    #expect(try fixture.allRequests() == 2)
  }

  @Test("an unreadable answer with HTTP 200 ends GoPay verify with GPE-2215, and adds no account")
  func garbage() throws {
    let fixture = try GoPayFixture()
    try fixture.spoil("temporaryToken", ["brokenJSON": true], times: 1)
    GoPayEnd.api("provider_protocol_error")
      .check(try fixture.verify("none", token: "alice-long-term"))
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  @Test(
    "after six tries, GoPay verify ends with GPE-2203 without an answer, GPE-2215 with HTTP 503")
  func away() throws {
    let clock = MovableClock()
    let fixture = try GoPayFixture(clock: clock)
    try fixture.spoil("authCode", ["reset": true])
    try fixture.spoil("temporaryToken", ["status": 503])
    let silent = try fixture.verify(token: "alice-short-term", waitMs: 0)
    let failing = try fixture.verify("none", token: "alice-long-term", waitMs: 0)
    GoPayEnd.unreachable.check(try fixture.app.finished(silent, moving: clock))
    GoPayEnd.api("provider_unreachable").check(try fixture.app.finished(failing, moving: clock))
    // The first try, and retries after 1, 2, 4, 8 and 16 seconds.
    #expect(try fixture.requests("authCode") == 6)
    #expect(try fixture.requests("temporaryToken") == 6)
  }
}
