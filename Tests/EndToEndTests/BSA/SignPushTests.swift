import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Sign-in that a site starts: the person authenticates, and the account gets the token.
@Suite("BSA sign-in by push", .mayBlock, .timeLimit(.minutes(10)))
struct SignPushTests {
  @Test("a push sign-in succeeds after localAuth, and the account gets a token that BSA accepts")
  func wholeWay() throws {
    let fixture = try BSAFixture()
    let account = try fixture.registered().account
    let before = try fixture.account(account)
    let flow = try fixture.standing(fixture.authenticate(), at: "pending")
    #expect(flow.stepType == "wait", "\(flow.text)")
    let visit = try fixture.visit()
    let asked = try fixture.asked(flow)
    #expect(asked.state == "localAuth" && asked["step"]?["methods"] == ["passcode"])
    let reason = asked["step"]?["reason"]?.stringValue ?? ""
    #expect(reason.hasPrefix("sign in to http") && reason.hasSuffix("/bsa/site by bsa as alice.01"))
    #expect(
      try fixture.atSite(visit)["state"] == "waiting", "before the local authentication")
    let end = try fixture.app.finished(fixture.prove(asked))
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    #expect(try fixture.states(of: end) == ["pending", "localAuth", "starting", "completing"])

    let seen = try fixture.atSite(visit)
    #expect(seen["state"] == "completed" && seen["localAuth"] == true, "\(seen.text)")
    #expect(seen["collected"] == true)
    let token = try fixture.token(of: account)
    #expect(token["tokenType"] == "raw" && (token["expiresAt"] ?? .null) == .null)
    let secret = token["accessToken"]?.stringValue ?? ""
    #expect(try fixture.owner(of: secret) == "alice.01")
    #expect(
      try fixture.owner(of: "Bearer \(secret)") == "2003", "BSA's token is sent without a scheme")
    #expect(!end.text.contains(secret))
    // The attributes that the SDK's load functions return are unchanged.
    #expect(try fixture.account(account)["attributes"] == before["attributes"])
  }

  @Test("a BSA account with authType none signs in without localAuth, and the site is told so")
  func withoutLocalAuth() throws {
    let fixture = try BSAFixture(["allow_no_local_auth": "true"])
    let account = try fixture.registered(authType: "none").account
    let flow = try fixture.standing(fixture.authenticate("push"), at: "pending")
    let visit = try fixture.visit()
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    #expect(try fixture.states(of: end) == ["pending", "starting", "completing"])
    #expect(try fixture.atSite(visit)["localAuth"] == false)
  }

  @Test("a BSA push sign-in that no site starts expires with code 5001")
  func nobodyBegins() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(more: "[flow]\ndeadline_seconds = 60\n", clock: clock)
    try fixture.registered()
    let flow = try fixture.authenticate("push")
    for count in 1...3 {
      try eventually("the daemon polls authExist") { try fixture.requests("authExist") >= count }
      try clock.advance(by: 1)
    }
    let end = try fixture.app.finished(flow, moving: clock)
    #expect(end["status"] == "expired" && end.failure == ["expired", "5001", nil], "\(end.text)")
    #expect(try fixture.requests("authCancel") == 0)
  }

  @Test("a BSA sign-in that is cancelled at the site ends as denied with code 5011")
  func cancelledAtSite() throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    try fixture.leave(visit)
    let end = try fixture.app.finished(fixture.prove(flow))
    #expect(end.failure == ["denied", "5011", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == true)
    #expect(try fixture.requests("authCancel") == 0, "the site has cancelled the sign-in already")
  }

  @Test("a BSA sign-in whose account is forgotten meanwhile ends as denied and adds no account")
  func forgotten() throws {
    let fixture = try BSAFixture()
    let account = try fixture.registered().account
    let (flow, _) = try fixture.pushed()
    _ = try fixture.app.call("account.forget", ["account": account ?? .null])
    let end = try fixture.app.finished(fixture.prove(flow))
    #expect(end.failure == ["denied", nil, nil], "\(end.text)")
    #expect(try fixture.accounts() == [])
  }

  @Test("a BSA sign-in without an account, with an unknown one or a wrong clientKey is refused")
  func accounts() throws {
    let fixture = try BSAFixture()
    let params: JSONValue = ["provider": "bsa", "kind": "authenticate", "params": [:]]
    #expect(try fixture.app.reason(of: "flow.start", params) != "none")
    #expect(try fixture.requestsInOrder() == [])
    try fixture.registered()
    let other = params + ["params": ["account": "acc_0000000000000000"]]
    #expect(try fixture.app.reason(of: "flow.start", other) == "not_found")
    let stray = params + ["params": ["qrId": "qr_1"]]
    #expect(try fixture.app.reason(of: "flow.start", stray) == "invalid_params")
    let app = try fixture.app.finished(fixture.authenticate("push", ["clientKey": "another"]))
    #expect(app.failure == ["invalid_request", "2000", nil], "\(app.text)")
  }
}

/// A flow that is cancelled cancels its sign-in at the provider.
@Suite("Cancelled BSA sign-ins", .mayBlock, .timeLimit(.minutes(10)))
struct SignAbandonedTests {
  @Test(
    "a BSA sign-in that is cancelled at localAuth is cancelled at the provider",
    arguments: ["flow.cancel", "cancel"])
  func localAuth(way: String) throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    let end =
      way == "flow.cancel"
      ? try fixture.cancel(flow)
      : try fixture.submit(["type": "localAuth", way: true], to: flow)
    let code = way == "flow.cancel" ? "5011" : "USER_CANCEL"
    #expect(end.failure == ["cancelled", code, nil], "\(end.text)")
    try eventually("the site shows the sign-in as cancelled: \(fixture.requestsInOrder())") {
      try fixture.atSite(visit)["state"] == "cancelled"
    }
    #expect(try fixture.requests("authCancel") == 1)
  }

  @Test(
    "flow.cancel during a request sends authCancel, whether BSA has processed the request or not",
    arguments: [("auth", false), ("authComplete", true)])
  func underWay(endpoint: String, processed: Bool) throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let (asked, visit) = try fixture.pushed()
    let flow = try fixture.holding(endpoint, processed: processed) {
      try fixture.prove(asked, waitMs: 0)
    }
    let end = try fixture.cancel(flow)
    #expect(end.failure == ["cancelled", "5011", nil], "\(end.text)")
    try eventually("BSA answers authCancel: \(fixture.requestsInOrder())") {
      try fixture.answered("authCancel") >= 1
    }
    let state = try fixture.atSite(visit)["state"]
    #expect(state == (endpoint == "authComplete" && processed ? "completed" : "cancelled"))
    #expect(
      end["failure"]?["retryable"] == .bool(endpoint == "auth"),
      "only after a cancelled auth call a retry is safe")
    #expect(try fixture.app.reason(of: "token.get", ["provider": "bsa"]) != "none")
  }

  @Test("flow.cancel ends a BSA sign-in although the provider does not answer authCancel")
  func unheard() throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    try fixture.spoil("authCancel", ["delayMs": 60_000])
    let end = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(end?["status"] == "cancelled")
    try eventually("the daemon calls authCancel") { try fixture.requests("authCancel") >= 1 }
    #expect(try fixture.atSite(visit)["state"] == "waiting")
    try fixture.mend()
    try fixture.leave(visit)
    try fixture.signedIn()
  }

  @Test("flow.cancel withdraws a displayed BSA sign-in number, and the site then refuses it")
  func number() throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let asked = try fixture.asked(fixture.authenticate("otp"))
    let flow = try fixture.asked(fixture.prove(asked), for: "displayCode")
    let end = try fixture.cancel(flow)
    #expect(end.failure == ["cancelled", "5011", nil], "\(end.text)")
    try eventually("BSA withdraws the number") { try fixture.answered("otp") == 1 }
    #expect(try fixture.refusalAtSite("otp", number: flow.shown) == "3006")
  }
}
