import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of the wallet's flows goes through the daemon once; afterwards each is looked for
/// wherever it must not be.
@Suite("Canaries, Paysafe", .serialized)
struct PaysafeCanaryTests {
  @Test("no verifier, code, OTP, PIN, token or client secret is in a log, event, error or page")
  func everywhere() throws {
    let scene = try PaysafeScene(provider: "exchange = \"app\"", logLevel: "trace")
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token", "provider"]])
    var secrets = try signIn(scene)
    secrets += try challenges(scene)
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
      running + files(scene) + [("events", Data(told.utf8))]
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

  /// Right and wrong codes, PIN and password, each also while the backend misbehaves.
  private func challenges(_ scene: PaysafeScene) throws -> [String] {
    var secrets: [String] = []
    let flow = try scene.sca(
      scene.event(), ["verification": ["method": "OTP", "channel": "SMS"]])
    let wrong = "918273645546372819"
    _ = try scene.refusal(["type": "enterCode", "code": .string(wrong)], to: flow)
    let code = try scene.code()
    try scene.spoil(
      "attempt", ["status": 500, "body": ["error": ["message": .string(code)]]], times: 1)
    var next = try scene.enter(code, to: flow)
    if next["status"] == "active" { next = try scene.enter(code, to: next) }
    let pin = try scene.sca(scene.event(), ["verification": ["method": "PASSWORD"]])
    let password = "correct-horse-battery-staple"
    let again = try scene.submit(
      ["type": "enterPassword", "password": .string(password)], to: pin)
    _ = try scene.submit(
      ["type": "enterPassword", "password": "alice-password"], to: again)
    let paid = try scene.pay("120.00", ["verification": ["method": "OTP", "channel": "EMAIL"]])
    let mailed = try scene.code("email")
    _ = try scene.enter(mailed, to: paid)
    secrets += [wrong, "\"\(code)\"", password, "alice-password"]
    // Six digits may stand in a time or an id by chance: they are looked for as a whole word.
    return secrets
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
