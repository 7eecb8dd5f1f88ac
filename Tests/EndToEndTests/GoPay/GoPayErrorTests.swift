import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// How a verification ends that does not succeed: the SDK's code, its title, whether to try again,
/// our reason and the server's own code.
struct GoPayEnd: Sendable, CustomTestStringConvertible {
  let code: String
  let title: String
  let isRetryable: Bool
  let reason: String
  var error: String?

  var testDescription: String { "GPE-\(code) \(error ?? "")" }

  func check(_ flow: JSONValue, status: String = "failed") {
    #expect(flow["status"] == .string(status), "\(flow.text)")
    #expect(flow.failure == [reason, "GPE-\(code)", error], "\(flow.text)")
    #expect(flow["failure"]?["retryable"] == .bool(isRetryable))
    // What the engine itself ends has its own headline.
    if status == "failed" { #expect(flow["failure"]?["title"] == .string(title)) }
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

  static func unauthorized(_ error: String? = "1401") -> GoPayEnd {
    .init(
      code: "2202", title: "Token expired or unauthorised", isRetryable: true,
      reason: "provider_rejected", error: error)
  }

  static func connection(_ reason: String, _ error: String? = nil) -> GoPayEnd {
    .init(code: "2203", title: "Connection error", isRetryable: true, reason: reason, error: error)
  }

  static let notWhitelisted = GoPayEnd(
    code: "2204", title: "Feature not whitelisted", isRetryable: false,
    reason: "provider_rejected", error: "1403")

  static func unknown(_ error: String?) -> GoPayEnd {
    .init(
      code: "2205", title: "Unknown", isRetryable: false, reason: "provider_rejected",
      error: error)
  }

  static func missing(_ error: String) -> GoPayEnd {
    .init(
      code: "2206", title: "Required field missing", isRetryable: false,
      reason: "invalid_request", error: error)
  }

  static func cancelled(_ reason: String, _ error: String? = nil) -> GoPayEnd {
    .init(code: "2207", title: "User cancelled", isRetryable: true, reason: reason, error: error)
  }

  static func exchangeFailed(_ error: String?) -> GoPayEnd {
    .init(
      code: "2208", title: "Exchange failed", isRetryable: false, reason: "exchange_failed",
      error: error)
  }

  static func api(_ reason: String, _ error: String? = nil) -> GoPayEnd {
    .init(code: "2215", title: "API error", isRetryable: true, reason: reason, error: error)
  }
}

@Suite(
  "GoPay's error codes: tokens, log-in and capture", .mayBlock,
  .timeLimit(.minutes(10)))
struct GoPayErrorTests {
  private let scene: GoPayScene

  init() throws { scene = try GoPayScene() }

  @Test("a linking token that is expired or unknown is 2202, whatever it is wanted for")
  func tokens() throws {
    for token in ["expired-token", "never-heard-of-it"] {
      for receiver in ["exchange", "none"] {
        GoPayEnd.unauthorized().check(try scene.verify(receiver, token: token))
      }
    }
    #expect(try scene.allRequests() == 4)
  }

  @Test("an account whose token GoPay does not honour any more is 2202")
  func accountToken() throws {
    let end = try scene.verified()
    try scene.sandbox.control("POST", "gopay/revokeAll")
    let account: JSONValue = ["account": end["result"]?["account"] ?? .null]
    let refused = try scene.verify("none", more: account)
    GoPayEnd.unauthorized().check(refused)
    // One that is given stands in for it.
    let fresh = try scene.sandbox.control("POST", "gopay/tokens", ["username": "alice"])["token"]
    let again = try scene.verify("none", token: fresh?.stringValue, more: account)
    #expect(again["state"] == "kyc", "\(again.text)")
  }

  @Test("a merchant that is not whitelisted is 2204", arguments: ["exchange", "none"])
  func whitelist(receiver: String) throws {
    GoPayEnd.notWhitelisted.check(try scene.verify(receiver, token: "not-whitelisted-token"))
  }

  @Test("a field that GoPay misses is 2206, with its cause")
  func missingField() throws {
    for (endpoint, receiver) in [("authCode", "exchange"), ("temporaryToken", "none")] {
      try scene.spoil(
        endpoint,
        [
          "status": 400,
          "body": [
            "success": false,
            "errors": [["code": 1539, "entity": "GATEWAY", "cause": "INVALID_HEADER request-id"]],
          ],
        ], times: 1)
      let end = try scene.verify(receiver, token: "alice-long-term")
      GoPayEnd.missing("1539").check(end)
      #expect(end["failure"]?["message"] == "INVALID_HEADER request-id")
    }
  }

  @Test(
    "the log-in: given up is 2207, anything else it says is 2205",
    arguments: [
      ("deny", GoPayEnd.cancelled("denied", "access_denied")),
      ("cancel", .cancelled("denied", "abort")),
    ])
  func logIn(button: String, end: GoPayEnd) throws {
    let flow = try scene.verify()
    let back = try GoPayPerson.giveUp(at: flow.url, button, scene.sandbox)
    #expect(try Web.get(back).status < 500)
    end.check(try scene.app.finished(flow))
    #expect(try scene.allRequests() == 2)
  }

  @Test("an account that is closed is 2205, in the page's own words")
  func closed() throws {
    try scene.set(["closedAccounts": ["alice"]])
    let flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    let end = try scene.app.finished(flow)
    GoPayEnd.unknown("account_closed").check(end)
    #expect(end["failure"]?["message"] == "the account is closed")
  }

  @Test("a way back with neither code nor error is 2215; result=success is as good")
  func wayBack() throws {
    try scene.set(["loginReply": ["authCode": .null]])
    var flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    GoPayEnd.api("provider_protocol_error").check(try scene.app.finished(flow))
    try scene.set(["loginReply": ["success": .null, "result": "success"]])
    flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    let asked = try scene.moved(flow, "wants an exchange") { $0["state"] == "waitAck" }
    #expect(asked.stepType == "exchangeCredential")
  }

  @Test("a way back with another state never touches the flow")
  func otherState() throws {
    let flow = try scene.verify()
    let back = try GoPayPerson.decide(at: flow.url, scene.sandbox)
    let forged = back.replacing(
      /state=[0-9a-f]{32}/, with: "state=" + String(repeating: "0", count: 32))
    #expect(forged != back)
    #expect(try Web.get(forged).status >= 400)
    #expect(
      try scene.refusal(["type": "openURL", "redirectURL": .string(forged)], to: flow)
        == ("invalid_input", "input.redirectURL"))
    #expect(try scene.flow(flow) == flow)
    #expect(try Web.get(back).status == 200)
    _ = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
  }

  @Test("each way in which a capture fails has its code")
  func capture() throws {
    let ways = [
      ("CAMERA", "2210", "Camera unavailable", true, "provider_rejected"),
      ("PERMISSION", "2211", "Permission denied", true, "provider_rejected"),
      ("NETWORK", "2203", "Connection error", true, "provider_unreachable"),
      ("USER_CANCELLED", "2207", "User cancelled", true, "denied"),
      ("VERIFICATION", "2212", "Verification failed", true, "provider_rejected"),
      ("HELP_CLICKED", "2213", "User tapped Help", true, "denied"),
      ("SECURITY", "2214", "Security check", false, "provider_rejected"),
      ("API", "2215", "API error", true, "provider_rejected"),
    ]
    // All at once: each is asked about a second later.
    let flows = try ways.map { way in
      let flow = try scene.atCapture()
      try GoPayScene.photograph(at: flow.url, way.0)
      return flow
    }
    for ((word, code, title, isRetryable, reason), flow) in zip(ways, flows) {
      GoPayEnd(code: code, title: title, isRetryable: isRetryable, reason: reason, error: word)
        .check(try scene.app.finished(flow))
    }
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("a capture that fails with a word of its own is 2205")
  func otherWord() throws {
    try scene.set([
      "submissionReply": ["status": "FAILED", "error": "SOLAR_FLARE", "message": "try at night"]
    ])
    let end = try scene.app.finished(scene.atCapture())
    GoPayEnd.unknown("SOLAR_FLARE").check(end)
    #expect(end["failure"]?["message"] == "try at night")
  }

  @Test("a flow that is cancelled in any state is 2207")
  func cancelled() throws {
    let flows = [
      try scene.verify(), try scene.verify(token: "alice-short-term"), try scene.atCapture(),
    ]
    #expect(flows.map { $0["state"]?.stringValue } == ["login", "waitAck", "kyc"])
    for flow in flows {
      GoPayEnd.cancelled("cancelled").check(try scene.cancel(flow), status: "cancelled")
    }
  }

  @Test("an auth code that the app did not have redeemed is 2208")
  func notRedeemed() throws {
    let flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    let asked = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    GoPayEnd.exchangeFailed("1601").check(try scene.submit(GoPayScene.exchanged(), to: asked))
  }

  @Test("a capture token that is refused is replaced once, and the page stays")
  func captureToken() throws {
    let flow = try scene.atCapture()
    try scene.sandbox.control("POST", "gopay/endCaptureTokens")
    let end = try scene.handIn(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("temporaryToken") == 2)
    #expect(try scene.requests("capture") == 1)
  }
}

@Suite(
  "GoPay's error codes: answers that are none", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayGarbageTests {
  private typealias Mode = GoPayScene.Mode

  /// Each call of a verification, the mode in which it is made, and whether by a log-in.
  private static let calls: [(GoPayScene.Mode, String)] = [
    (.app, "authCode"), (.app, "temporaryToken"), (.app, "capture"), (.app, "submission"),
    (.backend, "exchange"), (.snap, "b2b"), (.snap, "binding"),
  ]

  @Test("garbage with HTTP 200 is 2215, provider_protocol_error, at every call", arguments: calls)
  func garbage(mode: GoPayScene.Mode, endpoint: String) throws {
    let scene = try GoPayScene(mode)
    let garbage: [JSONValue] = [
      ["brokenJSON": true], ["body": []], ["body": ["success": true, "data": [:]]],
      ["body": "<html>It works!</html>"],
    ]
    for fault in garbage {
      try scene.spoil(endpoint, fault, times: 1)
      let receiver = mode == .app && endpoint != "authCode" ? "none" : "exchange"
      let flow = try scene.verify(receiver, token: "alice-long-term")
      let end = try scene.app.finished(flow)
      GoPayEnd.api("provider_protocol_error").check(end)
    }
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("members that cannot be are garbage too: no header and no page is made of them")
  func members() throws {
    let scene = try GoPayScene()
    let bent: [(JSONValue, String)] = [
      (["authCodeReply": ["authCode": "a\r\nX-Evil: 1"]], "exchange"),
      (["authCodeReply": ["authCode": .null]], "exchange"),
      (["temporaryTokenReply": ["token": "with a blank"]], "none"),
      (["captureReply": ["url": "javascript:alert(1)"]], "none"),
      (["captureReply": ["url": "http://evil.example/"]], "none"),
      (["captureReply": ["submissionId": ""]], "none"),
      (["submissionReply": ["status": "DONE"]], "none"),
      (["submissionReply": ["submissionId": "sub_other"]], "none"),
    ]
    for (settings, receiver) in bent {
      try scene.mend()
      try scene.set(settings)
      let flow = try scene.verify(receiver, token: "alice-long-term")
      GoPayEnd.api("provider_protocol_error").check(try scene.app.finished(flow))
    }
  }

  @Test("a no with HTTP 200 is the no that it says")
  func noInTwoHundred() throws {
    let scene = try GoPayScene()
    try scene.spoil(
      "temporaryToken",
      [
        "body": [
          "success": false, "errors": [["code": 1401, "entity": "IAM", "cause": "EXPIRED"]],
        ]
      ], times: 1)
    GoPayEnd.unauthorized().check(try scene.verify("none", token: "alice-long-term"))
    try scene.spoil("temporaryToken", ["status": 418, "body": ["success": false]], times: 1)
    GoPayEnd.api("provider_rejected").check(try scene.verify("none", token: "alice-long-term"))
  }

  @Test("a backend's reason is 2208 whatever the status; without one a no is 2215")
  func backend() throws {
    let scene = try GoPayScene(.backend)
    for status: JSONValue in [200, 422, 500] {
      try scene.spoil(
        "exchange", ["status": status, "body": ["reason": "no such customer"]], times: 1)
      let end = try scene.verify(token: "alice-short-term")
      GoPayEnd.exchangeFailed(nil).check(end)
      #expect(end["failure"]?["message"] == "no such customer")
    }
    try scene.spoil("exchange", ["status": 404, "body": ["error": "nothing here"]], times: 1)
    GoPayEnd.api("provider_rejected").check(try scene.verify(token: "alice-short-term"))
    try scene.setCredential("gopay-exchange", "another")
    let end = try scene.verify(token: "alice-short-term")
    GoPayEnd.exchangeFailed(nil).check(end)
  }

  @Test("a server that is away for a moment is told as a problem, and the flow goes on")
  func moment() throws {
    let scene = try GoPayScene()
    try scene.spoil("temporaryToken", ["status": 503], times: 1)
    try scene.spoil("capture", ["reset": true], times: 1)
    let begun = try scene.verify("none", token: "alice-long-term", waitMs: 0)
    let waiting = try scene.moved(begun, "tells of it") { $0.problem[0] != nil }
    #expect(waiting.problem[0...1] == ["provider_unreachable", "GPE-2215"], "\(waiting.text)")
    let page = try scene.moved(waiting, "is at the capture page") { $0.completes == "poll" }
    #expect(page.problem == [nil, nil, nil])
    try scene.spoil("submission", ["status": 500], times: 1)
    _ = try scene.moved(page, "tells of it") { $0.problem[0] == "provider_unreachable" }
    #expect(try scene.handIn(page)["status"] == "succeeded")
  }

}

@Suite("GoPay's error codes: a server that is away", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayAwayTests {
  @Test("a server that stays away ends it: no answer is 2203, HTTP 5xx is 2215")
  func forGood() throws {
    let clock = MovableClock()
    let scene = try GoPayScene(clock: clock)
    try scene.spoil("authCode", ["reset": true])
    try scene.spoil("temporaryToken", ["status": 503])
    let silent = try scene.verify(token: "alice-short-term", waitMs: 0)
    let failing = try scene.verify("none", token: "alice-long-term", waitMs: 0)
    GoPayEnd.connection("provider_unreachable")
      .check(try scene.app.finished(silent, moving: clock))
    GoPayEnd.api("provider_unreachable").check(try scene.app.finished(failing, moving: clock))
    // The first try, and after 1, 2, 4, 8 and 16 seconds.
    #expect(try scene.requests("authCode") == 6)
    #expect(try scene.requests("temporaryToken") == 6)
  }
}
