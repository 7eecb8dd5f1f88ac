import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Both examples of the SDK's documentation over the daemon's socket: flow, submission and account.
@Suite("GoPay's verify with and without an exchange", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayVerifyTests {
  typealias Mode = GoPayFixture.Mode

  @Test(
    "GoPay verify with exchange and a short-term token succeeds without a log-in page",
    arguments: Mode.allCases)
  func byToken(mode: Mode) throws {
    let fixture = try GoPayFixture(mode)
    let begun = try fixture.verify(token: "alice-short-term", requestID: "req-\(mode)")
    // In mode app, the app's backend exchanges the code.
    let page =
      try mode == .app
      ? fixture.submit(GoPayFixture.exchanged(token: fixture.redeem(begun.authCode)), to: begun)
      : begun
    #expect(page["state"] == "kyc" && page.completes == "poll", "\(page.text)")
    let end = try fixture.handIn(page)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.states(of: end) == ["authCode", "waitAck", "kyc", "submitted"])
    #expect(end["result"]?["metadata"] == ["status": "SUBMITTED"])
    let submission = try #require(try fixture.submissions().first)
    #expect(submission["submissionId"] == .string(end.submissionID))
    #expect(submission["partnerSessionId"] == .string("req-\(mode)"))
    #expect(submission["username"] == "alice" && submission["submissionType"] == "FULL_KYC")
    #expect(try fixture.codeStates() == ["redeemed"])
    try expectAccount(end, fixture)
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"]?.stringValue?.hasPrefix("glt_") == true)
  }

  private func expectAccount(_ end: JSONValue, _ fixture: GoPayFixture) throws {
    let account = try fixture.account(of: end)
    #expect(account["subject"] == "corr-5678" && account["label"] == "corr-5678")
    let kyc = try #require(account["attributes"]?["kyc"])
    #expect(kyc["submissionId"] == .string(end.submissionID))
    #expect(kyc["requestId"] == end["requestId"])
    #expect(kyc["status"] == "SUBMITTED")
    #expect(kyc["result"] == .null && kyc["reasonCode"] == .null)
    #expect(kyc["submittedAt"] == kyc["updatedAt"] && kyc["submittedAt"]?.stringValue != nil)
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["tokenType"] == "Bearer" && token["expiresAt"] == .null)
    #expect(token["account"] == end["result"]?["account"])
  }

  @Test("GoPay verify without exchange and with a long-term token leads straight to the capture")
  func without() throws {
    let fixture = try GoPayFixture()
    let flow = try fixture.atCapture("long-term-token", requestID: "req-none")
    let end = try fixture.handIn(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.states(of: end) == ["kyc", "submitted"])
    #expect(try fixture.requests("authCode") == 0)
    #expect(try fixture.requests("temporaryToken") == 1)
    #expect(try fixture.codeStates() == [])
    try expectAccount(end, fixture)
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "long-term-token")
  }
}

@Suite(
  "Parameters of GoPay's verify", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayParameterTests {
  private let fixture: GoPayFixture

  init() throws { fixture = try GoPayFixture() }

  @Test("GoPay verify uses the account's token and, if there is a verdict, skips the capture")
  func account() throws {
    let first = try fixture.verified()
    let account: JSONValue = ["account": first["result"]?["account"] ?? .null]
    // There is no final verdict, so the photographs are captured again.
    let again = try fixture.verify("none", more: account)
    #expect(again.completes == "poll", "\(again.text)")
    let second = try fixture.handIn(again)
    #expect(try fixture.states(of: second) == ["current", "kyc", "submitted"])
    #expect(second["result"]?["account"] == first["result"]?["account"])
    try fixture.decide(second.submissionID, "COMPLETED", "VALID", push: false)
    let known = try fixture.verify("none", more: account)
    #expect(known["status"] == "succeeded", "\(known.text)")
    #expect(known.submissionID == second.submissionID)
    #expect(known["result"]?["metadata"] == ["status": "COMPLETED", "result": "VALID"])
    #expect(try fixture.kyc(of: known)["requestId"] == known["requestId"])
    #expect(try fixture.kyc(of: known)["result"] == "VALID")
    #expect(try fixture.requests("capture") == 2)
    // The account's token is refused for another person.
    let other = try fixture.app.reply(
      to: "flow.start", GoPayFixture.start("none", nil, "somebody-else", "req-other", more: account)
    )
    #expect(other["error"]?["code"] == -32602 && other.text.contains("account"), "\(other.text)")
  }

  @Test("GoPay verify without a new linking token keeps the account's token, if there is one")
  func keepsToken() throws {
    func logInOnly() throws -> JSONValue {
      let flow = try fixture.verify()
      try GoPayPerson.logIn(at: flow.url, fixture.sandbox)
      let asked = try fixture.moved(flow, "wants an exchange") {
        $0.stepType == "exchangeCredential"
      }
      _ = try fixture.redeem(asked.authCode)
      let end = try fixture.handIn(fixture.submit(GoPayFixture.exchanged(), to: asked))
      #expect(try fixture.kyc(of: end)["submissionId"] == .string(end.submissionID), "\(end.text)")
      return end["result"]?["account"] ?? .null
    }
    // The log-in's session replaces a linking token.
    let account = try logInOnly()
    #expect(try fixture.requests("sessionToken") == 1 && fixture.requests("temporaryToken") == 0)
    #expect(
      try fixture.app.reason(of: "token.get", ["account": account]) == "reauthentication_required")
    #expect(try fixture.verified()["result"]?["account"] == account)
    #expect(try logInOnly() == account)
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "alice-long-term")
  }

  @Test("the capture page redirects to returnUrl, and a forged redirect does not end GoPay verify")
  func returnURL() throws {
    let mine = "https://partner.example/done"
    let flow = try fixture.atCapture(more: ["returnUrl": .string(mine)])
    let forged: JSONValue = [
      "type": "openURL", "redirectURL": .string("\(mine)?status=SUBMITTED"),
    ]
    let still = try fixture.submit(forged, to: flow, waitMs: 0)
    #expect(still["status"] == "active")
    #expect(
      try fixture.refusal(["type": "openURL", "redirectURL": "https://evil.example/"], to: still)
        == ("invalid_input", "input.redirectURL"))
    let back = try #require(try GoPayFixture.photograph(at: flow.url).location)
    #expect(back.hasPrefix(mine) && back.contains("status=SUBMITTED"))
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("account.forget unbinds a GoPay account that the daemon has bound")
  func forget() throws {
    let fixture = try GoPayFixture(.snap)
    let end = try fixture.handIn(fixture.verify(token: "alice-short-term"))
    let account: JSONValue = ["account": end["result"]?["account"] ?? .null]
    _ = try fixture.app.call("account.forget", account)
    #expect(try fixture.requests("unbinding") == 1)
    #expect(try fixture.tokens("unbound") == 1)
    #expect(try fixture.app.reason(of: "account.get", account) == "not_found")
  }

  @Test("flow.cancel unbinds a GoPay account that was bound for the flow")
  func givenUp() throws {
    let fixture = try GoPayFixture(.snap)
    let flow = try fixture.verify(token: "alice-short-term")
    #expect(flow.completes == "poll", "\(flow.text)")
    #expect(try fixture.cancel(flow).failure == ["cancelled", "GPE-2207", nil])
    try eventually("the daemon unbinds the linking token") { try fixture.tokens("unbound") == 1 }
  }
}
