import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Both examples of the seed over the socket: the flow, what comes of it, and what is told.
@Suite("Verify with GoPay", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayVerifyTests {
  typealias Mode = GoPayScene.Mode

  /// Has the code exchanged where that is the app's to do; returns the flow at the capture page.
  private func exchanged(
    _ flow: JSONValue, _ mode: Mode, _ scene: GoPayScene, hands token: Bool = true
  ) throws -> JSONValue {
    guard mode == .app else {
      return try scene.moved(flow, "is at the capture page") { $0.completes == "poll" }
    }
    let asked = try scene.moved(flow, "wants an exchange") {
      $0.stepType == "exchangeCredential"
    }
    let link = try scene.redeem(asked.authCode)
    return try scene.submit(GoPayScene.exchanged(token: token ? link : nil), to: asked)
  }

  private func query(_ url: String) -> [String: String] {
    let items = URLComponents(string: url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
  }

  @Test(
    "with credential exchange: a short-term token gets an auth code, without a log-in page",
    arguments: Mode.allCases)
  func byToken(mode: Mode) throws {
    let scene = try GoPayScene(mode)
    let begun = try scene.verify(token: "alice-short-term", requestID: "req-\(mode)")
    let page = try exchanged(begun, mode, scene)
    #expect(page["state"] == "kyc" && page.completes == "poll", "\(page.text)")
    let end = try scene.handIn(page)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.states(of: end) == ["authCode", "waitAck", "kyc", "submitted"])
    #expect(end["result"]?["metadata"] == ["status": "SUBMITTED"])
    let submission = try #require(try scene.submissions().first)
    #expect(submission["submissionId"] == .string(end.submissionID))
    #expect(submission["partnerSessionId"] == .string("req-\(mode)"))
    #expect(submission["username"] == "alice" && submission["submissionType"] == "FULL_KYC")
    #expect(try scene.codeStates() == ["redeemed"])
    try expectAccount(end, scene)
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"]?.stringValue?.hasPrefix("glt_") == true)
  }

  private func expectAccount(_ end: JSONValue, _ scene: GoPayScene) throws {
    let account = try scene.account(of: end)
    #expect(account["subject"] == "corr-5678" && account["label"] == "corr-5678")
    let kyc = try #require(account["attributes"]?["kyc"])
    #expect(kyc["submissionId"] == .string(end.submissionID))
    #expect(kyc["requestId"] == end["requestId"])
    #expect(kyc["status"] == "SUBMITTED")
    #expect(kyc["result"] == .null && kyc["reasonCode"] == .null)
    #expect(kyc["submittedAt"] == kyc["updatedAt"] && kyc["submittedAt"]?.stringValue != nil)
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["tokenType"] == "Bearer" && token["expiresAt"] == .null)
    #expect(token["account"] == end["result"]?["account"])
  }

  @Test("with credential exchange: without a token the person logs in at GoPay's pages")
  func byLogIn() throws {
    let scene = try GoPayScene()
    let flow = try scene.verify()
    #expect(flow["state"] == "login" && flow.completes == "loopback", "\(flow.text)")
    let asked = query(flow.url)
    #expect(flow.url.hasPrefix("\(scene.sandbox.base)/gopay/snap/v1.0/get-auth-code?"))
    #expect(asked["redirectURL"] == flow["step"]?["redirectURI"]?.stringValue)
    #expect(asked["merchantId"] == "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11")
    #expect(asked["scopes"] == "DEFAULT" && asked["lang"] == "id")
    #expect(asked["state"]?.wholeMatch(of: /[0-9a-f]{32}/) != nil)
    #expect(try GoPayPerson.logIn(at: flow.url, scene.sandbox).status == 200)
    let page = try exchanged(flow, .app, scene)
    let end = try scene.handIn(page)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let states = try scene.states(of: end)
    #expect(states == ["preparing", "login", "waitAck", "kyc", "submitted"])
    #expect(try scene.requests("authCode") == 0)
    #expect(try scene.requests("sessionToken") == 0)
    #expect(try scene.codeStates() == ["redeemed"])
    try expectAccount(end, scene)
  }

  @Test("the session of the log-in stands in for a linking token; then the account has no token")
  func withoutLink() throws {
    let scene = try GoPayScene()
    let flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    let end = try scene.handIn(exchanged(flow, .app, scene, hands: false))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("sessionToken") == 1)
    #expect(try scene.requests("temporaryToken") == 0)
    #expect(try scene.kyc(of: end)["status"] == "SUBMITTED")
    let account = end["result"]?["account"] ?? .null
    #expect(
      try scene.app.reason(of: "token.get", ["account": account]) == "reauthentication_required")
  }

  @Test("without credential exchange: a long-term token leads straight to the capture")
  func without() throws {
    let scene = try GoPayScene()
    let flow = try scene.atCapture("long-term-token", requestID: "req-none")
    let end = try scene.handIn(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.states(of: end) == ["kyc", "submitted"])
    #expect(try scene.requests("authCode") == 0)
    #expect(try scene.requests("temporaryToken") == 1)
    #expect(try scene.codeStates() == [])
    try expectAccount(end, scene)
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "long-term-token")
  }

  @Test("what is told, in order: each state of the flow, then the account and its submission")
  func events() throws {
    let scene = try GoPayScene()
    let listener = try GoPayListener(scene.daemon.client())
    let asked = try scene.verify(token: "alice-short-term")
    let page = try scene.submit(GoPayScene.exchanged(), to: asked)
    let end = try scene.handIn(page)
    try listener.events { _ in
      ["finished", "submitted"].allSatisfy { word in
        listener.heard.contains { $0["what"] == .string(word) }
      }
    }
    let flows = listener.heard.filter { $0["topic"] == "flow" }
    let revisions = flows.compactMap { $0["revision"]?.integerValue }
    #expect(revisions == Array(1...Int64(flows.count)), "\(revisions)")
    let told = flows.map { event in
      ["what", "state", "step"].compactMap { event[$0]?.stringValue }.joined(separator: " ")
    }
    #expect(
      told == [
        "started authCode wait", "moved waitAck exchangeCredential", "moved kyc wait",
        "moved kyc openURL", "finished submitted",
      ])
    #expect(flows.allSatisfy { $0["kind"] == "verify" && $0["provider"] == "gopay" })
    let others = listener.heard.filter { $0["topic"] != "flow" }
    #expect(
      others.map { $0["topic"]?.stringValue } == ["account", "kyc"]
        && others.map { $0["what"]?.stringValue } == ["added", "submitted"], "\(others)")
    #expect(others.allSatisfy { $0["account"] == end["result"]?["account"] })
  }
}

@Suite(
  "Verify with GoPay, and what a caller may say", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayParameterTests {
  private let scene: GoPayScene

  init() throws { scene = try GoPayScene() }

  @Test("an account stands in for its token; what is verified already is not captured again")
  func account() throws {
    let first = try scene.verified()
    let account: JSONValue = ["account": first["result"]?["account"] ?? .null]
    // Nothing final is known: card and face are captured again.
    let again = try scene.verify("none", more: account)
    #expect(again.completes == "poll", "\(again.text)")
    let second = try scene.handIn(again)
    #expect(try scene.states(of: second) == ["current", "kyc", "submitted"])
    #expect(second["result"]?["account"] == first["result"]?["account"])
    try scene.decide(second.submissionID, "COMPLETED", "VALID", push: false)
    let known = try scene.verify("none", more: account)
    #expect(known["status"] == "succeeded", "\(known.text)")
    #expect(known.submissionID == second.submissionID)
    #expect(known["result"]?["metadata"] == ["status": "COMPLETED", "result": "VALID"])
    #expect(try scene.kyc(of: known)["requestId"] == known["requestId"])
    #expect(try scene.kyc(of: known)["result"] == "VALID")
    #expect(try scene.requests("capture") == 2)
    // Of another person's account the token is not taken.
    let other = try scene.app.reply(
      to: "flow.start", GoPayScene.start("none", nil, "somebody-else", "req-other", more: account))
    #expect(other["error"]?["code"] == -32602 && other.text.contains("account"), "\(other.text)")
  }

  @Test("a verification that brings no linking token leaves the account the one it has")
  func keepsToken() throws {
    let first = try scene.verified()
    let flow = try scene.verify()
    try GoPayPerson.logIn(at: flow.url, scene.sandbox)
    let asked = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    _ = try scene.redeem(asked.authCode)
    let end = try scene.handIn(scene.submit(GoPayScene.exchanged(), to: asked))
    #expect(end["result"]?["account"] == first["result"]?["account"], "\(end.text)")
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "alice-long-term")
    #expect(try scene.kyc(of: end)["submissionId"] == .string(end.submissionID))
  }

  @Test("the capture page leads to returnUrl; that the browser came there proves nothing")
  func returnURL() throws {
    let mine = "https://partner.example/done"
    let flow = try scene.atCapture(more: ["returnUrl": .string(mine)])
    let forged: JSONValue = [
      "type": "openURL", "redirectURL": .string("\(mine)?status=SUBMITTED"),
    ]
    let still = try scene.submit(forged, to: flow, waitMs: 0)
    #expect(still["status"] == "active")
    #expect(
      try scene.refusal(["type": "openURL", "redirectURL": "https://evil.example/"], to: still)
        == ("invalid_input", "input.redirectURL"))
    let back = try #require(try GoPayScene.photograph(at: flow.url).location)
    #expect(back.hasPrefix(mine) && back.contains("status=SUBMITTED"))
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test(
    "forgetting an account unbinds it where the daemon has bound it",
    arguments: [GoPayScene.Mode.app, .snap])
  func forget(mode: GoPayScene.Mode) throws {
    let scene = try GoPayScene(mode)
    let flow = try scene.verify(token: "alice-short-term")
    let page =
      mode == .app
      ? try scene.submit(
        GoPayScene.exchanged(token: scene.redeem(flow.authCode)), to: flow) : flow
    let end = try scene.handIn(page)
    let account: JSONValue = ["account": end["result"]?["account"] ?? .null]
    _ = try scene.app.call("account.forget", account)
    let unbound = mode == .snap ? 1 : 0
    #expect(try scene.requests("unbinding") == unbound)
    #expect(try scene.tokens("unbound") == unbound)
    #expect(try scene.app.reason(of: "account.get", account) == "not_found")
  }

  @Test("what is bound for a flow that is then given up is unbound")
  func givenUp() throws {
    let scene = try GoPayScene(.snap)
    let flow = try scene.verify(token: "alice-short-term")
    #expect(flow.completes == "poll", "\(flow.text)")
    #expect(try scene.cancel(flow).failure == ["cancelled", "GPE-2207", nil])
    try eventually("it is unbound") { try scene.tokens("unbound") == 1 }
  }
}
