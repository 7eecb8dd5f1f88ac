import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A site asks, the person proves to be there, the site's token is the account's.
@Suite("BSA: sign-in by push", .mayBlock, .timeLimit(.minutes(10)))
struct SignPushTests {
  @Test("a site begins, the person proves to be there, and the token is the site's")
  func wholeWay() throws {
    let scene = try BSAScene()
    let account = try scene.registered().account
    let before = try scene.account(account)
    let flow = try scene.standing(scene.authenticate(), at: "pending")
    #expect(flow.stepType == "wait", "\(flow.text)")
    let visit = try scene.visit()
    let asked = try scene.asked(flow)
    #expect(asked.state == "localAuth" && asked["step"]?["methods"] == ["passcode"])
    let reason = asked["step"]?["reason"]?.stringValue ?? ""
    #expect(reason.hasPrefix("sign in to http") && reason.hasSuffix("/bsa/site by bsa as alice.01"))
    #expect(try scene.atSite(visit)["state"] == "waiting", "before the person has proved anything")
    let end = try scene.app.finished(scene.prove(asked))
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    #expect(try scene.states(of: end) == ["pending", "localAuth", "starting", "completing"])

    let seen = try scene.atSite(visit)
    #expect(seen["state"] == "completed" && seen["localAuth"] == true, "\(seen.text)")
    #expect(seen["collected"] == true)
    let token = try scene.token(of: account)
    #expect(token["tokenType"] == "raw" && (token["expiresAt"] ?? .null) == .null)
    let secret = token["accessToken"]?.stringValue ?? ""
    #expect(try scene.owner(of: secret) == "alice.01")
    #expect(try scene.owner(of: "Bearer \(secret)") == "2003", "it has no scheme")
    #expect(!end.text.contains(secret))
    // What the load functions give stays as it was.
    #expect(try scene.account(account)["attributes"] == before["attributes"])
  }

  @Test("nobody is asked who was registered without local authentication, and the site is told so")
  func withoutLocalAuth() throws {
    let scene = try BSAScene(["allow_no_local_auth": "true"])
    let account = try scene.registered(authType: "none").account
    let flow = try scene.standing(scene.authenticate("push"), at: "pending")
    let visit = try scene.visit()
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    #expect(try scene.states(of: end) == ["pending", "starting", "completing"])
    #expect(try scene.atSite(visit)["localAuth"] == false)
  }

  @Test("where no site begins it expires, with the word 5001")
  func nobodyBegins() throws {
    let clock = MovableClock()
    let scene = try BSAScene(more: "[flow]\ndeadline_seconds = 60\n", clock: clock)
    try scene.registered()
    let flow = try scene.authenticate("push")
    for count in 1...3 {
      try eventually("it is asked again and again") { try scene.requests("authExist") >= count }
      try clock.advance(by: 1)
    }
    let end = try scene.app.finished(flow, moving: clock)
    #expect(end["status"] == "expired" && end.failure == ["expired", "5001", nil], "\(end.text)")
    #expect(try scene.requests("authCancel") == 0)
  }

  @Test("who gives up at the site is denied, with 5011")
  func cancelledAtSite() throws {
    let scene = try BSAScene()
    try scene.registered()
    let (flow, visit) = try scene.pushed()
    try scene.leave(visit)
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end.failure == ["denied", "5011", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == true)
    #expect(try scene.requests("authCancel") == 0, "there is nothing to cancel")
  }

  @Test("an account that is forgotten on the way does not come back: denied")
  func forgotten() throws {
    let scene = try BSAScene()
    let account = try scene.registered().account
    let (flow, _) = try scene.pushed()
    _ = try scene.app.call("account.forget", ["account": account ?? .null])
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end.failure == ["denied", nil, nil], "\(end.text)")
    #expect(try scene.accounts() == [])
  }

  @Test("without an account, or with another's, nothing begins")
  func accounts() throws {
    let scene = try BSAScene()
    let params: JSONValue = ["provider": "bsa", "kind": "authenticate", "params": [:]]
    #expect(try scene.app.reason(of: "flow.start", params) != "none")
    #expect(try scene.requestsInOrder() == [])
    try scene.registered()
    let other = params + ["params": ["account": "acc_0000000000000000"]]
    #expect(try scene.app.reason(of: "flow.start", other) == "not_found")
    let stray = params + ["params": ["qrId": "qr_1"]]
    #expect(try scene.app.reason(of: "flow.start", stray) == "invalid_params")
    let app = try scene.app.finished(scene.authenticate("push", ["clientKey": "another"]))
    #expect(app.failure == ["invalid_request", "2000", nil], "\(app.text)")
  }
}

/// Whoever ends a flow ends the sign-in that it has in hand.
@Suite("BSA: a sign-in that is given up", .mayBlock, .timeLimit(.minutes(10)))
struct SignAbandonedTests {
  @Test(
    "in front of the passcode it is cancelled at the provider, by whichever way it ends",
    arguments: ["flow.cancel", "cancel"])
  func localAuth(way: String) throws {
    let scene = try BSAScene()
    try scene.registered()
    let (flow, visit) = try scene.pushed()
    let end =
      way == "flow.cancel"
      ? try scene.cancel(flow)
      : try scene.submit(["type": "localAuth", way: true], to: flow)
    let code = way == "flow.cancel" ? "5011" : "USER_CANCEL"
    #expect(end.failure == ["cancelled", code, nil], "\(end.text)")
    try eventually("it is cancelled: \(scene.requestsInOrder())") {
      try scene.atSite(visit)["state"] == "cancelled"
    }
    #expect(try scene.requests("authCancel") == 1)
  }

  @Test(
    "under way it is cancelled at the provider, done there already or not",
    arguments: [("auth", false), ("authComplete", true)])
  func underWay(endpoint: String, processed: Bool) throws {
    let scene = try BSAScene()
    try scene.registered()
    let (asked, visit) = try scene.pushed()
    let flow = try scene.holding(endpoint, processed: processed) {
      try scene.prove(asked, waitMs: 0)
    }
    let end = try scene.cancel(flow)
    #expect(end.failure == ["cancelled", "5011", nil], "\(end.text)")
    try eventually("it is cancelled: \(scene.requestsInOrder())") {
      try scene.requests("authCancel") >= 1
    }
    let state = try scene.atSite(visit)["state"]
    #expect(state == (endpoint == "authComplete" && processed ? "completed" : "cancelled"))
    #expect(end["failure"]?["retryable"] == .bool(endpoint == "auth"), "nobody knows")
    #expect(try scene.app.reason(of: "token.get", ["provider": "bsa"]) != "none")
  }

  @Test("a cancellation that the provider does not answer ends the flow all the same")
  func unheard() throws {
    let scene = try BSAScene()
    try scene.registered()
    let (flow, visit) = try scene.pushed()
    try scene.spoil("authCancel", ["delayMs": 60_000])
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(end?["status"] == "cancelled")
    try eventually("it is told") { try scene.requests("authCancel") >= 1 }
    #expect(try scene.atSite(visit)["state"] == "waiting")
    try scene.mend()
    try scene.leave(visit)
    try scene.signedIn()
  }

  @Test("a number that nobody will type is taken back, and the site takes it no more")
  func number() throws {
    let scene = try BSAScene()
    try scene.registered()
    let asked = try scene.asked(scene.authenticate("otp"))
    let flow = try scene.asked(scene.prove(asked), for: "displayCode")
    let end = try scene.cancel(flow)
    #expect(end.failure == ["cancelled", "5011", nil], "\(end.text)")
    try eventually("it is taken back") { try scene.requests("otp") == 1 }
    #expect(try scene.refusalAtSite("otp", number: flow.shown) == "3006")
  }
}
