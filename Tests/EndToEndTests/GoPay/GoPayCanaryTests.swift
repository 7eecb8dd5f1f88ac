import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of a verification goes through the daemon once, also while the backends repeat what
/// they were sent; afterwards each is looked for wherever it must not be.
@Suite("Canaries, GoPay", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayCanaryTests {
  /// The sandbox gives these out instead of its own.
  private static let captureToken = "Y2FuYXJ5.canary-capture-token.7f3a"
  private static let clientToken = "b2b_canary-client-token-91bc"
  private static let linkingToken = "glt_canary-linking-token-55aa"

  /// A refusal, or a yes, that repeats a secret in each of its texts; then a verification that meets it.
  private func repeating(
    _ scene: GoPayScene, _ endpoint: String, _ statuses: [JSONValue], _ secret: String,
    _ search: CanarySearch, _ verify: () throws -> JSONValue
  ) throws {
    let said: JSONValue = .string("\(secret) is not good")
    for status in statuses {
      try scene.spoil(
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

  @Test("app: no linking token, auth code, capture token or callback value is anywhere")
  func app() throws {
    let scene = try GoPayScene(logLevel: "trace")
    let search = try CanarySearch(scene.daemon)
    try scene.set(["temporaryTokenReply": ["token": .string(Self.captureToken)]])
    var secrets = [GoPayScene.callbackCredential, Self.captureToken]
    secrets += try handedOut(scene, search)
    try scene.set(["temporaryTokenReply": [:]])
    secrets += try logIn(scene, search)
    // Backends that repeat what they were sent.
    let canary = "canary-linking-token-3c1d"
    for (endpoint, receiver) in [("authCode", "exchange"), ("temporaryToken", "none")] {
      try repeating(scene, endpoint, [200, 400, 401, 404], canary, search) {
        try scene.verify(receiver, token: canary)
      }
    }
    try callbacks(scene, search, canary: "canary-callback-value-77")
    try search.recordLists()
    try search.expectNone(
      of: secrets + [canary, "canary-callback-value-77"], found: ["verify", "GPE-"])
  }

  /// A step's own code is shown there and nowhere else; refused and failed answers repeat nothing.
  private func handedOut(_ scene: GoPayScene, _ search: CanarySearch) throws -> [String] {
    let asked = try scene.verify(token: "alice-short-term")
    let odd = "glt_canary odd token"
    for success: JSONValue in [
      ["userCorrelationId": "corr-5678", "token": .string(odd)], ["token": .string(odd)],
    ] {
      try search.recordRefusal(
        of: ["type": "exchangeCredential", "success": success], to: asked, by: scene.app)
    }
    // The capture token that is bent is no good to the sandbox: the flow fails with it in hand.
    let link = try scene.redeem(asked.authCode)
    let end = search.record(try scene.submit(GoPayScene.exchanged(token: link), to: asked))
    #expect(end.failure[1] == "GPE-2202", "\(end.text)")
    return [asked.authCode, link, odd, "alice-short-term"]
  }

  private func logIn(_ scene: GoPayScene, _ search: CanarySearch) throws -> [String] {
    let flow = try scene.verify()
    search.record(page: try Web.get(GoPayPerson.decide(at: flow.url, scene.sandbox)))
    let asked = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try scene.redeem(asked.authCode)
    let page = search.record(try scene.submit(GoPayScene.exchanged(token: link), to: asked))
    let end = search.record(try scene.handIn(page))
    #expect(end["status"] == "succeeded", "\(end.text)")
    search.record(try scene.account(of: end))
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == .string(link))
    return [asked.authCode, link]
  }

  private func callbacks(
    _ scene: GoPayScene, _ search: CanarySearch, canary: String
  ) throws {
    let end = try scene.verified("bob-long-term")
    let body: JSONValue = [
      "submissionId": .string(end.submissionID), "partnerSessionId": end["requestId"] ?? .null,
      "status": "COMPLETED", "result": "VALID",
    ]
    search.record(try scene.call(body, authorization: canary).body)
    let status = body + ["status": .string(canary)]
    search.record(try scene.call(status, authorization: canary).body)
    search.record(try scene.call(body + ["partnerSessionId": .string(canary)]).body)
    search.record(try scene.call(body).body)
  }

  @Test("backend: neither what it is shown nor what it hands back is anywhere")
  func backend() throws {
    let scene = try GoPayScene(.backend, logLevel: "trace")
    let search = try CanarySearch(scene.daemon)
    try scene.set(["exchangeReply": ["token": .string(Self.linkingToken)]])
    search.record(try scene.verify(token: "bob-short-term"))
    try scene.set(["exchangeReply": [:]])
    let code = "gac_canary-auth-code-c0de"
    try scene.set(["authCodeReply": ["authCode": .string(code)]])
    for secret in [code, GoPayScene.exchangeCredential] {
      try repeating(scene, "exchange", [200, 400, 500], secret, search) {
        try scene.verify(token: "bob-short-term")
      }
    }
    try search.recordLists()
    try search.expectNone(
      of: [
        code, Self.linkingToken, GoPayScene.exchangeCredential, GoPayScene.callbackCredential,
        "bob-short-term",
      ], found: ["verify", "GPE-"])
  }

  @Test("snap: no key, client secret, client token or linking token is anywhere")
  func snap() throws {
    let scene = try GoPayScene(.snap, logLevel: "trace")
    let first = try CanarySearch(scene.daemon)
    let end = first.record(
      try scene.handIn(first.record(scene.verify(token: "bob-short-term"))))
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    let link = token["accessToken"]?.stringValue ?? ""
    first.record(try scene.account(of: end))
    try first.recordEvents()
    // From here on the daemon has another client token, which the sandbox repeats in refusals.
    try scene.set(["b2bReply": ["accessToken": .string(Self.clientToken)]])
    let again = try scene.restarted()
    try repeating(scene, "binding", [200, 401, 400], Self.clientToken, first) {
      try again.verify(token: "bob-short-term")
    }
    #expect(try scene.requests("b2b") == 2)
    let reply: JSONValue = ["accessTokenInfo": ["accessToken": .string(Self.linkingToken)]]
    try scene.set(["bindingReply": reply])
    try scene.set(["b2bReply": [:]])
    try scene.sandbox.control("POST", "gopay/endB2BTokens")
    let after = try scene.restarted()
    let search = try CanarySearch(scene.daemon)
    search.record(try after.verify(token: "bob-short-term"))
    _ = try after.app.call("account.forget", ["account": end["result"]?["account"] ?? .null])
    let key = try scene.privateKey()
    let lines = key.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("-") }
    #expect(lines.count > 20)
    try search.recordLists()
    let secrets = [
      GoPayScene.clientSecret, Self.clientToken, Self.linkingToken, link, "bob-short-term",
      lines[3], lines[12],
    ]
    let told = Data(first.told.joined(separator: "\n").utf8)
    first.expectNone(of: secrets, in: [("what was told", told)], "before the restarts")
    try search.expectNone(of: secrets, found: ["verify", "submitted"])
  }
}
