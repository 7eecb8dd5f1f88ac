import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of a verification goes through the daemon once, also while the backends repeat what
/// they were sent; afterwards each is looked for wherever it must not be.
@Suite("Canaries, GoPay", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct GoPayCanaryTests {
  /// The sandbox gives these out instead of its own.
  private static let captureToken = "Y2FuYXJ5.canary-capture-token.7f3a"
  private static let clientToken = "b2b_canary-client-token-91bc"
  private static let linkingToken = "glt_canary-linking-token-55aa"

  /// What was answered and told, but for what is meant to be told there.
  private final class Told {
    var lines: [String] = []

    func note(_ flow: JSONValue) -> JSONValue {
      lines.append(flow.text)
      return flow
    }
  }

  @Test("app: no linking token, auth code, capture token or callback value is anywhere")
  func app() throws {
    let scene = try GoPayScene(logLevel: "trace")
    let told = Told()
    let listener = try listen(scene)
    try scene.set(["temporaryTokenReply": ["token": .string(Self.captureToken)]])
    var secrets = [GoPayScene.callbackCredential, Self.captureToken]
    secrets += try handedOut(scene, told)
    try scene.set(["temporaryTokenReply": [:]])
    secrets += try logIn(scene, told)
    // Backends that repeat what they were sent.
    let canary = "canary-linking-token-3c1d"
    secrets.append(canary)
    for (endpoint, receiver) in [("authCode", "exchange"), ("temporaryToken", "none")] {
      for status: JSONValue in [200, 400, 401, 404] {
        try repeating(scene, endpoint, status, canary)
        _ = told.note(try scene.verify(receiver, token: canary))
      }
    }
    try callbacks(scene, told, canary: "canary-callback-value-77")
    secrets.append("canary-callback-value-77")
    try search(scene, listener, told, for: secrets)
  }

  /// A step's own code is shown there and nowhere else; refused and failed answers repeat nothing.
  private func handedOut(_ scene: GoPayScene, _ told: Told) throws -> [String] {
    let asked = try scene.verify(token: "alice-short-term")
    let odd = "glt_canary odd token"
    for success: JSONValue in [
      ["userCorrelationId": "corr-5678", "token": .string(odd)], ["token": .string(odd)],
    ] {
      let refused = try scene.app.reply(
        to: "flow.submit",
        [
          "flow": asked["id"] ?? .null, "revision": asked["revision"] ?? .null,
          "input": ["type": "exchangeCredential", "success": success],
        ])
      told.lines.append(refused.text)
    }
    // The capture token that is bent is no good to the sandbox: the flow fails with it in hand.
    let link = try scene.redeem(asked.authCode)
    let end = told.note(try scene.submit(GoPayScene.exchanged(token: link), to: asked))
    #expect(end.failure[1] == "GPE-2202", "\(end.text)")
    return [asked.authCode, link, odd, "alice-short-term"]
  }

  private func logIn(_ scene: GoPayScene, _ told: Told) throws -> [String] {
    let flow = try scene.verify()
    let back = try GoPayPerson.decide(at: flow.url, scene.sandbox)
    told.lines.append(try Web.get(back).text)
    let asked = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try scene.redeem(asked.authCode)
    let page = told.note(try scene.submit(GoPayScene.exchanged(token: link), to: asked))
    let end = told.note(try scene.handIn(page))
    #expect(end["status"] == "succeeded", "\(end.text)")
    told.lines.append(try scene.account(of: end).text)
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == .string(link))
    return [asked.authCode, link]
  }

  /// A refusal, or a yes, that repeats a secret in each of its texts.
  private func repeating(
    _ scene: GoPayScene, _ endpoint: String, _ status: JSONValue, _ secret: String
  ) throws {
    let said: JSONValue = .string("\(secret) is not good")
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
  }

  private func callbacks(_ scene: GoPayScene, _ told: Told, canary: String) throws {
    let end = try scene.verified("bob-long-term")
    let body: JSONValue = [
      "submissionId": .string(end.submissionID), "partnerSessionId": end["requestId"] ?? .null,
      "status": "COMPLETED", "result": "VALID",
    ]
    told.lines.append(try scene.call(body, authorization: canary).body.text)
    told.lines.append(
      try scene.call(body + ["status": .string(canary)], authorization: canary).body.text)
    told.lines.append(
      try scene.call(body + ["partnerSessionId": .string(canary)]).body.text)
    told.lines.append(try scene.call(body).body.text)
  }

  @Test("backend: neither what it is shown nor what it hands back is anywhere")
  func backend() throws {
    let scene = try GoPayScene(.backend, logLevel: "trace")
    let told = Told()
    let listener = try listen(scene)
    try scene.set(["exchangeReply": ["token": .string(Self.linkingToken)]])
    _ = told.note(try scene.verify(token: "bob-short-term"))
    try scene.set(["exchangeReply": [:]])
    let code = "gac_canary-auth-code-c0de"
    try scene.set(["authCodeReply": ["authCode": .string(code)]])
    for secret in [code, GoPayScene.exchangeCredential] {
      for status: JSONValue in [200, 400, 500] {
        try repeating(scene, "exchange", status, secret)
        _ = told.note(try scene.verify(token: "bob-short-term"))
      }
    }
    try search(
      scene, listener, told,
      for: [
        code, Self.linkingToken, GoPayScene.exchangeCredential, GoPayScene.callbackCredential,
        "bob-short-term",
      ])
  }

  @Test("snap: no key, client secret, client token or linking token is anywhere")
  func snap() throws {
    let scene = try GoPayScene(.snap, logLevel: "trace")
    let told = Told()
    let listener = try listen(scene)
    let page = told.note(try scene.verify(token: "bob-short-term"))
    let end = told.note(try scene.handIn(page))
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    let link = token["accessToken"]?.stringValue ?? ""
    told.lines.append(try scene.account(of: end).text)
    // From here on the daemon has another client token, which the sandbox repeats in refusals.
    try scene.set(["b2bReply": ["accessToken": .string(Self.clientToken)]])
    try scene.daemon.restart()
    let again = try scene.again()
    for status: JSONValue in [200, 401, 400] {
      try repeating(scene, "binding", status, Self.clientToken)
      _ = told.note(try again.verify(token: "bob-short-term"))
    }
    #expect(try scene.requests("b2b") == 2)
    try scene.set(["bindingReply": ["accessTokenInfo": ["accessToken": .string(Self.linkingToken)]]]
    )
    try scene.set(["b2bReply": [:]])
    try scene.sandbox.control("POST", "gopay/endB2BTokens")
    try scene.daemon.restart()
    let after = try scene.again()
    _ = told.note(try after.verify(token: "bob-short-term"))
    _ = try after.app.call("account.forget", ["account": end["result"]?["account"] ?? .null])
    let key = try scene.privateKey()
    let lines = key.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("-") }
    #expect(lines.count > 20)
    try search(
      scene, listener, told,
      for: [
        GoPayScene.clientSecret, Self.clientToken, Self.linkingToken, link, "bob-short-term",
        lines[3], lines[12],
      ])
  }

  private func listen(_ scene: GoPayScene) throws -> RawClient {
    let listener = try scene.daemon.client()
    _ = try listener.call(
      "events.subscribe", ["topics": ["flow", "account", "token", "provider", "kyc"]])
    return listener
  }

  private func search(
    _ scene: GoPayScene, _ listener: RawClient, _ told: Told, for secrets: [String]
  ) throws {
    let app = try scene.daemon.client()
    for method in ["account.list", "token.list", "flow.list", "provider.list", "system.status"] {
      told.lines.append(try app.call(method).text)
    }
    for arguments in [["config", "show"], ["credential", "list"]] {
      let shown = try scene.daemon.usherctl(arguments)
      #expect(shown.status == 0, "\(shown.errors)")
      told.lines += [shown.output, shown.errors]
    }
    var events = ""
    while let line = try? listener.receiveLine(within: 0.5) {
      events += String(decoding: line, as: UTF8.self)
    }
    let process = ["cmdline", "environ"].map { name in
      (name, FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data())
    }
    let running = files(scene)
    #expect(try scene.daemon.stop() == 0)
    let answers = told.lines.joined(separator: "\n")
    let places =
      running + files(scene) + process
      + [("events", Data(events.utf8)), ("what was answered", Data(answers.utf8))]
    for (name, bytes) in places {
      for secret in secrets {
        #expect(!contains(secret, in: bytes), "\(secret.prefix(12))… is in \(name)")
      }
    }
    // The search finds what is there.
    #expect(places.contains { $0.0.hasSuffix("usherd.log") && contains("verify", in: $0.1) })
    #expect(contains("submitted", in: Data((events + answers).utf8)) || answers.contains("GPE-"))
    #expect(secrets.allSatisfy { !$0.isEmpty })
  }

  private func files(_ scene: GoPayScene) -> [(String, Data)] {
    scene.daemon.place.everything().filter { !$0.name.contains("master.key") }
      .map { ($0.name, $0.bytes) }
  }

  private func contains(_ secret: String, in bytes: Data) -> Bool {
    !secret.isEmpty
      && (bytes.range(of: Data(secret.utf8)) != nil
        || bytes.range(of: Data(Data(secret.utf8).base64EncodedString().utf8)) != nil)
  }
}
