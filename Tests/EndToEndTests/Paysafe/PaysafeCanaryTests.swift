import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of the wallet's flows goes through the daemon once; afterwards each is looked for
/// wherever it must not be.
@Suite("Canaries, Paysafe", .mayBlock)
struct PaysafeCanaryTests {
  private let scene: PaysafeScene
  private let search: CanarySearch

  init() throws {
    scene = try PaysafeScene(provider: "exchange = \"app\"", logLevel: "trace")
    search = try CanarySearch(scene.daemon)
  }

  @Test("no verifier, code, OTP, PIN, token or client secret is in a log, event, error or page")
  func everywhere() throws {
    let secrets = try signIn() + challenges() + [PaysafeScene.clientSecret]
    #expect(secrets.count >= 9)
    try search.recordLists()
    try search.expectNone(of: secrets, found: ["usherd", "enterCode"])
  }

  /// Signs in with the partner's exchange, and refreshes.
  private func signIn() throws -> [String] {
    let flow = try scene.app.startFlow("paysafe", "authorize")
    search.record(page: try Customer.signIn(at: flow.url))
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
    search.record(
      try scene.submit(
        [
          "type": "exchangeCredential",
          "success": ["accessToken": .string(access), "refreshToken": .string(refresh)],
        ], to: exchange))
    let fresh = try scene.app.call("token.get", ["provider": "paysafe", "forceRefresh": true])
    return [code, verifier, access, refresh, fresh["accessToken"]?.stringValue ?? ""]
  }

  /// Right and wrong codes, PIN and password, each also while the backend repeats what it was sent.
  private func challenges() throws -> [String] {
    let authenticator: JSONValue = ["verification": ["method": "OTP", "channel": "AUTHENTICATOR"]]
    let wrong = "918273645546372819"
    try search.recordRefusal(
      of: ["type": "enterCode", "code": .string(wrong)],
      to: search.record(scene.sca(scene.event(), authenticator)), by: scene.app)
    // Six digits may stand in a time by chance: these are looked for with what stands around them.
    let code = try scene.authenticatorCode()
    for echo: JSONValue in [
      ["status": "FAILED", "statusReason": .string("code=\(code)"), "currentAttempts": 1],
      ["error": ["code": .string("code=\(code)"), "message": .string("code=\(code)")]],
    ] {
      let status: JSONValue = echo["error"] == nil ? 200 : 400
      try scene.spoil("attempt", ["status": status, "body": echo], times: 1)
      search.record(try scene.enter(code, to: scene.sca(scene.event(), authenticator)))
    }
    let password = "correct-horse-battery-staple"
    let echo: JSONValue = ["status": "FAILED", "statusReason": .string("\(password) is wrong")]
    try scene.spoil("attempt", ["status": 200, "body": echo], times: 1)
    var flow = search.record(
      try scene.sca(scene.event(), ["verification": ["method": "PASSWORD"]]))
    for typed in [password, "alice-password"] {
      flow = search.record(
        try scene.submit(["type": "enterPassword", "password": .string(typed)], to: flow))
    }
    let paid = search.record(
      try scene.pay("120.00", ["verification": ["method": "OTP", "channel": "EMAIL"]]))
    search.record(try scene.enter(scene.code("email"), to: paid))
    return [wrong, "code=\(code)", password, "alice-password"]
  }
}
