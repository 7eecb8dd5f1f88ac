import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The name of a provider is given to another provider, by a reload or a restart.
@Suite(
  "Providers that change under the same name", .mayBlock, .timeLimit(.minutes(10)))
struct OtherProviderTests {
  private static let secret = "s3cret:with/odd+chars"
  private static let device = "urn:ietf:params:oauth:grant-type:device_code"

  private let first: SandboxUnderTest
  private let second: SandboxUnderTest
  private let clock = MovableClock()
  private let daemon: DaemonUnderTest

  init() throws {
    first = try SandboxUnderTest(clock: clock)
    second = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(config: Self.provider(first), clock: clock)
    try daemon.setCredential("work-secret", Self.secret)
  }

  private static func provider(_ sandbox: SandboxUnderTest, more: String = "") -> String {
    """
    [[provider]]
    name = "work"
    type = "oidc"
    issuer = "\(sandbox.issuer)"
    client_id = "usher-confidential"
    client_credential = "work-secret"
    \(more)

    """
  }

  /// Writes a configuration and applies it.
  ///
  /// - Parameter byRestart: Whether the daemon is restarted instead of reloaded.
  private func configure(_ config: String, byRestart: Bool = false) throws {
    guard byRestart else { return try daemon.reload(config: config) }
    try daemon.stop()
    try daemon.place.write(config, to: "usherd.toml")
    try daemon.start()
  }

  /// Starts a device flow that polls the first provider.
  private func beginPolling(_ daemon: DaemonUnderTest) throws -> JSONValue {
    try first.control("POST", "settings", ["deviceInterval": 1])
    let flow = try daemon.client().startFlow("work", "device")
    #expect(flow["step"]?["type"] == "displayCode", "\(flow.text)")
    try eventually("the daemon polls the first provider") {
      try first.requests("token", grantType: Self.device) > 0
    }
    return flow
  }

  /// Returns how many token requests a provider has refused with `invalid_client`.
  private func refusals(by sandbox: SandboxUnderTest) throws -> Int {
    let list = try sandbox.control("GET", "requests?endpoint=token")["requests"]?.arrayValue
    return try #require(list).count { $0["error"] == "invalid_client" }
  }

  @Test(
    "a flow whose provider and credential both changed ends, and sends the new secret to no provider",
    .ownProcess, arguments: [(false, false), (true, true)])
  func changed(isGone: Bool, byRestart: Bool) throws {
    // systemd credentials change together with the configuration.
    let credentials = try TemporaryDirectory()
    try credentials.write(Self.secret, to: "work-secret")
    let daemon = try DaemonUnderTest(
      config: Self.provider(first), environment: ["CREDENTIALS_DIRECTORY": credentials.path])
    let flow = try beginPolling(daemon)
    if byRestart { try daemon.stop() }
    try credentials.write("the-other-secret", to: "work-secret")
    try daemon.place.write(isGone ? "" : Self.provider(second), to: "usherd.toml")
    if byRestart { try daemon.start() } else { _ = try daemon.admin().call("system.reload") }
    let end = try daemon.client().finished(flow)
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.hasPrefix("provider work and its credential work-secret were changed"))
    #expect(message.hasSuffix("start a new flow"))
    #expect(end["failure"]?["retryable"] == true)
    #expect(try refusals(by: first) == 0)
    #expect(try second.requests("token") == 0)
    #expect(!daemon.log.contains("the-other-secret"))
  }

  @Test(
    "a flow with an unchanged credential finishes at its old provider after a reload or a restart",
    arguments: [false, true])
  func same(byRestart: Bool) throws {
    let flow = try beginPolling(daemon)
    try configure(Self.provider(second), byRestart: byRestart)
    let step = flow["step"]
    _ = try Person.decide(
      at: step?["verificationURI"]?.stringValue ?? "", user: "alice", allow: true,
      userCode: step?["userCode"]?.stringValue)
    let client = try daemon.client()
    let end = try client.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded", "\(end.text)")
    // The account is of the first provider.
    #expect(try client.reason(of: "token.get", ["provider": "work"]) == "reauthentication_required")
    #expect(try second.requests("token") == 0)
    try configure(Self.provider(first))
    _ = try client.call("token.get", ["provider": "work"])
  }

  @Test("a changed credential applies to the running flows of an unchanged provider")
  func rotated() throws {
    let flow = try beginPolling(daemon)
    _ = try daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret-but-wrong"])
    let end = try daemon.client().finished(flow, moving: clock)
    #expect(end["failure"]?["provider"]?["code"] == "invalid_client", "\(end.text)")
    #expect(try refusals(by: first) > 0)
  }

  @Test("tokens are never sent to a new provider of the same name, which needs a new sign-in")
  func account() throws {
    try daemon.client().signIn("work")
    let refreshes = try first.requests("token", grantType: "refresh_token")
    for byRestart in [false, true] {
      try configure(Self.provider(second), byRestart: byRestart)
      let client = try daemon.client()
      for params: JSONValue in [
        ["provider": "work"], ["provider": "work", "forceRefresh": true],
      ] {
        let error = try client.error(of: "token.get", params)
        #expect(error["data"]?["reason"] == "reauthentication_required")
        #expect(error["data"]?["next"]?["params"]?["provider"] == "work")
      }
    }
    #expect(try second.requests("token") == 0)
    #expect(try first.requests("token", grantType: "refresh_token") == refreshes)
    let client = try daemon.client()
    try client.signIn("work")
    let token = try client.call("token.get", ["provider": "work", "forceRefresh": true])
    #expect(token["accessToken"] != nil)
    #expect(try second.requests("token", grantType: "refresh_token") == 1)
    #expect(try first.requests("token", grantType: "refresh_token") == refreshes)
  }

  @Test("account.forget sends no token to a new provider of the same name, and reports failed")
  func forgotten() throws {
    let client = try daemon.client()
    let account = try client.signIn("work")["result"]?["account"] ?? .null
    try configure(Self.provider(second))
    let reply = try client.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "failed", "\(reply.text)")
    #expect(try second.requests("revocation") == 0)
    #expect(try first.requests("revocation") == 0)
  }

  @Test("a change of time-out and clock skew leaves the accounts of a provider usable")
  func harmless() throws {
    let client = try daemon.client()
    try client.signIn("work")
    let more = "request_timeout_seconds = 9\nclock_skew_seconds = 30"
    try configure(Self.provider(first, more: more))
    let token = try client.call("token.get", ["provider": "work", "forceRefresh": true])
    #expect(token["accessToken"] != nil)
  }
}
