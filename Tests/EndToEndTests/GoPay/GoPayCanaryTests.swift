import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes every secret of a verification through the daemon, also while the provider's hosts echo
/// secrets in their answers, then searches files, logs and replies for them.
@Suite("Secrets in GoPay verifications", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayCanaryTests {
  /// The sandbox issues these secrets instead of its own.
  private static let captureToken = "Y2FuYXJ5.canary-capture-token.7f3a"
  private static let clientToken = "b2b_canary-client-token-91bc"
  private static let linkingToken = "glt_canary-linking-token-55aa"

  /// Runs one verification for each status, against an answer that echoes a secret in all its
  /// texts.
  private func repeating(
    _ fixture: GoPayFixture, _ endpoint: String, _ statuses: [JSONValue], _ secret: String,
    _ search: CanarySearch, _ verify: () throws -> JSONValue
  ) throws {
    let said: JSONValue = .string("\(secret) is not good")
    for status in statuses {
      try fixture.spoil(
        endpoint,
        [
          "status": status,
          "body": [
            "success": false, "message": said, "responseCode": .string(secret),
            "responseMessage": said, "reason": said,
            "errors": [["code": .string(secret), "entity": said, "cause": said]],
          ],
        ], times: 1)
      search.record(try verify())
    }
  }

  @Test("with exchange app, no GoPay token, auth code or callback value is in a file, log or reply")
  func app() throws {
    let fixture = try GoPayFixture(logLevel: "trace")
    let search = try CanarySearch(fixture.daemon)
    try fixture.set(["temporaryTokenReply": ["token": .string(Self.captureToken)]])
    var secrets = [GoPayFixture.callbackCredential, Self.captureToken]
    secrets += try handedOut(fixture, search)
    try fixture.set(["temporaryTokenReply": [:]])
    secrets += try logIn(fixture, search)
    // The provider's hosts echo the linking token.
    let canary = "canary-linking-token-3c1d"
    for (endpoint, receiver) in [("authCode", "exchange"), ("temporaryToken", "none")] {
      try repeating(fixture, endpoint, [200, 400, 401, 404], canary, search) {
        try fixture.verify(receiver, token: canary)
      }
    }
    try callbacks(fixture, search, canary: "canary-callback-value-77")
    try search.recordLists()
    try search.expectNone(
      of: secrets + [canary, "canary-callback-value-77"], found: ["verify", "GPE-"])
  }

  /// Checks that refused inputs and failures do not echo the code and tokens of an exchange.
  private func handedOut(_ fixture: GoPayFixture, _ search: CanarySearch) throws -> [String] {
    let asked = try fixture.verify(token: "alice-short-term")
    let odd = "glt_canary odd token"
    for success: JSONValue in [
      ["userCorrelationId": "corr-5678", "token": .string(odd)], ["token": .string(odd)],
    ] {
      try search.recordRefusal(
        of: ["type": "exchangeCredential", "success": success], to: asked, by: fixture.app)
    }
    // The sandbox refuses the replaced capture token, so the flow fails while it holds that token.
    let link = try fixture.redeem(asked.authCode)
    let end = search.record(try fixture.submit(GoPayFixture.exchanged(token: link), to: asked))
    #expect(end.failure[1] == "GPE-2202", "\(end.text)")
    return [asked.authCode, link, odd, "alice-short-term"]
  }

  private func logIn(_ fixture: GoPayFixture, _ search: CanarySearch) throws -> [String] {
    let flow = try fixture.verify()
    search.record(page: try Web.get(GoPayPerson.decide(at: flow.url, fixture.sandbox)))
    let asked = try fixture.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try fixture.redeem(asked.authCode)
    let page = search.record(try fixture.submit(GoPayFixture.exchanged(token: link), to: asked))
    let end = search.record(try fixture.handIn(page))
    #expect(end["status"] == "succeeded", "\(end.text)")
    search.record(try fixture.account(of: end))
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == .string(link))
    return [asked.authCode, link]
  }

  private func callbacks(
    _ fixture: GoPayFixture, _ search: CanarySearch, canary: String
  ) throws {
    let end = try fixture.verified("bob-long-term")
    let body: JSONValue = [
      "submissionId": .string(end.submissionID), "partnerSessionId": end["requestId"] ?? .null,
      "status": "COMPLETED", "result": "VALID",
    ]
    search.record(try fixture.call(body, authorization: canary).body)
    let status = body + ["status": .string(canary)]
    search.record(try fixture.call(status, authorization: canary).body)
    search.record(try fixture.call(body + ["partnerSessionId": .string(canary)]).body)
    search.record(try fixture.call(body).body)
  }

  @Test("with exchange backend, no GoPay token, auth code or credential is in a file, log or reply")
  func backend() throws {
    let fixture = try GoPayFixture(.backend, logLevel: "trace")
    let search = try CanarySearch(fixture.daemon)
    try fixture.set(["exchangeReply": ["token": .string(Self.linkingToken)]])
    search.record(try fixture.verify(token: "bob-short-term"))
    try fixture.set(["exchangeReply": [:]])
    let code = "gac_canary-auth-code-c0de"
    try fixture.set(["authCodeReply": ["authCode": .string(code)]])
    for secret in [code, GoPayFixture.exchangeCredential] {
      try repeating(fixture, "exchange", [200, 400, 500], secret, search) {
        try fixture.verify(token: "bob-short-term")
      }
    }
    try search.recordLists()
    try search.expectNone(
      of: [
        code, Self.linkingToken, GoPayFixture.exchangeCredential, GoPayFixture.callbackCredential,
        "bob-short-term",
      ], found: ["verify", "GPE-"])
  }

  @Test("with exchange snap, no key, client secret or token is in a file, log or reply")
  func snap() throws {
    let fixture = try GoPayFixture(.snap, logLevel: "trace")
    let first = try CanarySearch(fixture.daemon)
    let end = first.record(
      try fixture.handIn(first.record(fixture.verify(token: "bob-short-term"))))
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    let link = token["accessToken"]?.stringValue ?? ""
    first.record(try fixture.account(of: end))
    try first.recordEvents()
    // After the restart the daemon gets another client token, which the sandbox echoes in refusals.
    try fixture.set(["b2bReply": ["accessToken": .string(Self.clientToken)]])
    let again = try fixture.restarted()
    try repeating(fixture, "binding", [200, 401, 400], Self.clientToken, first) {
      try again.verify(token: "bob-short-term")
    }
    #expect(try fixture.requests("b2b") == 2)
    let reply: JSONValue = ["accessTokenInfo": ["accessToken": .string(Self.linkingToken)]]
    try fixture.set(["bindingReply": reply])
    try fixture.set(["b2bReply": [:]])
    try fixture.sandbox.control("POST", "gopay/endB2BTokens")
    let after = try fixture.restarted()
    let search = try CanarySearch(fixture.daemon)
    search.record(try after.verify(token: "bob-short-term"))
    _ = try after.app.call("account.forget", ["account": end["result"]?["account"] ?? .null])
    let key = try fixture.privateKey()
    let lines = key.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("-") }
    #expect(lines.count > 20)
    try search.recordLists()
    let secrets = [
      GoPayFixture.clientSecret, Self.clientToken, Self.linkingToken, link, "bob-short-term",
      lines[3], lines[12],
    ]
    let told = Data(first.told.joined(separator: "\n").utf8)
    first.expectNone(of: secrets, in: [("replies and events", told)], "before the restarts")
    try search.expectNone(of: secrets, found: ["verify", "submitted"])
  }
}
