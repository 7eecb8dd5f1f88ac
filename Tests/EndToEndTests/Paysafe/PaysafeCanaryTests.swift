import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of the wallet's flows goes through the daemon once; afterwards each is looked for
/// wherever it must not be.
@Suite("Canaries, Paysafe", .mayBlock, .ownProcess)
struct PaysafeCanaryTests {
  @Test("no verifier, code, OTP, PIN, token or client secret is in a log, event, error or page")
  func everywhere() throws {
    let scene = try PaysafeScene(provider: "exchange = \"app\"", logLevel: "trace")
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token", "provider"]])
    var secrets = try signIn(scene)
    let (typed, answers) = try challenges(scene)
    secrets += typed
    secrets.append(PaysafeScene.clientSecret)

    var told = ""
    while let line = try? listener.receiveLine(within: 1) {
      told += String(decoding: line, as: UTF8.self)
    }
    let environment = ["cmdline", "environ"].map { name in
      FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data()
    }
    let running = files(scene)
    #expect(try scene.daemon.stop() == 0)
    let places =
      running + files(scene)
      + [("events", Data(told.utf8)), ("what was answered", Data(answers.utf8))]
      + environment.map { ("process", $0) }
    for (name, bytes) in places {
      for secret in secrets {
        #expect(!contains(secret, in: bytes), "\(secret.prefix(6))… is in \(name)")
      }
    }
    // The search finds what is there.
    #expect(places.contains { contains("usherd", in: $0.1) })
    #expect(secrets.count >= 9)
  }

  /// Signs in with the partner's exchange, refreshes, and is refused a few times.
  private func signIn(_ scene: PaysafeScene) throws -> [String] {
    let flow = try scene.app.startFlow("paysafe", "authorize")
    try Customer.signIn(at: flow.url)
    let exchange = try scene.moved(flow, "wants an exchange") {
      $0.stepType == "exchangeCredential"
    }
    let step = try #require(exchange["step"])
    let code = step["credential"]?["code"]?.stringValue ?? ""
    let verifier = step["codeVerifier"]?.stringValue ?? ""
    let granted = try Partner.exchange(
      scene.sandbox, code: code, redirectURI: step["redirectURI"]?.stringValue ?? "",
      verifier: verifier)
    let access = granted["access_token"]?.stringValue ?? ""
    let refresh = granted["refresh_token"]?.stringValue ?? ""
    _ = try scene.submit(
      [
        "type": "exchangeCredential",
        "success": ["accessToken": .string(access), "refreshToken": .string(refresh)],
      ], to: exchange)
    let fresh = try scene.app.call("token.get", ["provider": "paysafe", "forceRefresh": true])
    return [code, verifier, access, refresh, fresh["accessToken"]?.stringValue ?? ""]
  }

  /// Right and wrong codes, PIN and password, each also while the backend repeats what it was sent.
  ///
  /// - Returns: What was typed, and all that was answered to it.
  private func challenges(
    _ scene: PaysafeScene
  ) throws -> (secrets: [String], answers: String) {
    var answers = ""
    func note(_ flow: JSONValue) -> JSONValue {
      answers += flow.text + "\n"
      return flow
    }
    let wrong = "918273645546372819"
    let flow = note(
      try scene.sca(scene.event(), ["verification": ["method": "OTP", "channel": "AUTHENTICATOR"]]))
    let refused = try scene.app.reply(
      to: "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": ["type": "enterCode", "code": .string(wrong)],
      ])
    answers += refused.text
    // Six digits may stand in a time by chance: these are looked for with what stands around them.
    let code = try scene.authenticatorCode()
    for echo: JSONValue in [
      ["status": "FAILED", "statusReason": .string("code=\(code)"), "currentAttempts": 1],
      ["error": ["code": .string("code=\(code)"), "message": .string("code=\(code)")]],
    ] {
      let status: JSONValue = echo["error"] == nil ? 200 : 400
      try scene.spoil("attempt", ["status": status, "body": echo], times: 1)
      let asked = try scene.sca(
        scene.event(), ["verification": ["method": "OTP", "channel": "AUTHENTICATOR"]])
      _ = note(try scene.enter(code, to: asked))
    }
    let password = "correct-horse-battery-staple"
    try scene.spoil(
      "attempt",
      [
        "status": 200,
        "body": ["status": "FAILED", "statusReason": .string("\(password) is wrong")],
      ], times: 1)
    let asked = note(try scene.sca(scene.event(), ["verification": ["method": "PASSWORD"]]))
    let again = note(
      try scene.submit(["type": "enterPassword", "password": .string(password)], to: asked))
    _ = note(
      try scene.submit(["type": "enterPassword", "password": "alice-password"], to: again))
    let paid = note(
      try scene.pay("120.00", ["verification": ["method": "OTP", "channel": "EMAIL"]]))
    _ = note(try scene.enter(scene.code("email"), to: paid))
    return ([wrong, "code=\(code)", password, "alice-password"], answers)
  }

  private func files(_ scene: PaysafeScene) -> [(String, Data)] {
    scene.daemon.place.everything().filter { !$0.name.contains("master.key") }
      .map { ($0.name, $0.bytes) }
  }

  private func contains(_ secret: String, in bytes: Data) -> Bool {
    !secret.isEmpty
      && (bytes.range(of: Data(secret.utf8)) != nil
        || bytes.range(of: Data(Data(secret.utf8).base64EncodedString().utf8)) != nil)
  }
}
