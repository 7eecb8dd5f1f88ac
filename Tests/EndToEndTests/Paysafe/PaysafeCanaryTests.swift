import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes the secrets of the wallet's flows through the daemon, then searches files, logs and
/// replies for them.
@Suite("Secrets in Paysafe flows", .mayBlock, .timeLimit(.minutes(10)))
struct PaysafeCanaryTests {
  private let fixture: PaysafeFixture
  private let search: CanarySearch

  init() throws {
    fixture = try PaysafeFixture(provider: "exchange = \"app\"", logLevel: "trace")
    search = try CanarySearch(fixture.daemon)
  }

  @Test("Paysafe's verifier, codes, passwords, tokens and secret are in no file, log or reply")
  func everywhere() throws {
    let secrets = try signIn() + challenges() + [PaysafeFixture.clientSecret]
    #expect(secrets.count >= 9)
    try search.recordLists()
    try search.expectNone(of: secrets, found: ["usherd", "enterCode"])
  }

  /// Signs in with the partner's exchange and refreshes the token; returns the secrets.
  private func signIn() throws -> [String] {
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    search.record(page: try Customer.signIn(at: flow.url))
    let exchange = try fixture.moved(flow, "wants an exchange") {
      $0.stepType == "exchangeCredential"
    }
    let step = try #require(exchange["step"])
    let code = step["credential"]?["code"]?.stringValue ?? ""
    let verifier = step["codeVerifier"]?.stringValue ?? ""
    let granted = try Partner.exchange(
      fixture.sandbox, code: code, redirectURI: step["redirectURI"]?.stringValue ?? "",
      verifier: verifier)
    let access = granted["access_token"]?.stringValue ?? ""
    let refresh = granted["refresh_token"]?.stringValue ?? ""
    search.record(
      try fixture.submit(
        [
          "type": "exchangeCredential",
          "success": ["accessToken": .string(access), "refreshToken": .string(refresh)],
        ], to: exchange))
    let fresh = try fixture.app.call("token.get", ["provider": "paysafe", "forceRefresh": true])
    return [code, verifier, access, refresh, fresh["accessToken"]?.stringValue ?? ""]
  }

  /// Submits right and wrong codes and passwords, also while the backend echoes them; returns the
  /// secrets.
  private func challenges() throws -> [String] {
    let authenticator: JSONValue = ["verification": ["method": "OTP", "channel": "AUTHENTICATOR"]]
    let wrong = "918273645546372819"
    try search.recordRefusal(
      of: ["type": "enterCode", "code": .string(wrong)],
      to: search.record(fixture.sca(fixture.event(), authenticator)), by: fixture.app)
    // Six digits can occur in a time by chance, so the search is for `code=` and the digits.
    let code = try fixture.authenticatorCode()
    for echo: JSONValue in [
      ["status": "FAILED", "statusReason": .string("code=\(code)"), "currentAttempts": 1],
      ["error": ["code": .string("code=\(code)"), "message": .string("code=\(code)")]],
    ] {
      let status: JSONValue = echo["error"] == nil ? 200 : 400
      try fixture.spoil("attempt", ["status": status, "body": echo], times: 1)
      search.record(try fixture.enter(code, to: fixture.sca(fixture.event(), authenticator)))
    }
    let password = "correct-horse-battery-staple"
    let echo: JSONValue = ["status": "FAILED", "statusReason": .string("\(password) is wrong")]
    try fixture.spoil("attempt", ["status": 200, "body": echo], times: 1)
    var flow = search.record(
      try fixture.sca(fixture.event(), ["verification": ["method": "PASSWORD"]]))
    for typed in [password, "alice-password"] {
      flow = search.record(
        try fixture.submit(["type": "enterPassword", "password": .string(typed)], to: flow))
    }
    let paid = search.record(
      try fixture.pay("120.00", ["verification": ["method": "OTP", "channel": "EMAIL"]]))
    search.record(try fixture.enter(fixture.code("email"), to: paid))
    return [wrong, "code=\(code)", password, "alice-password"]
  }
}
