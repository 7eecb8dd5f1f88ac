import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Secrets in core dumps of the daemon, before and after it is locked.
@Suite(
  "Secrets in the daemon's memory", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct MemoryTests {
  private static let refreshToken = "canary-refresh-token-41d9e6b013"
  private static let totpSecret = "CANARYSECRET2345CANARYSECRET2345"
  private static let passcode = "canary-passcode-that-is-long"

  /// Registers at BSA, signs in at provider `demo`, and gets tokens and codes on a connection that
  /// stays open.
  ///
  /// - Returns: The access token that `token.get` returns.
  private func work(_ fixture: BSAFixture, _ sandbox: SandboxUnderTest) throws -> String {
    try fixture.answers("users", ["data": ["secretKey": .string(Self.totpSecret)]])
    let flow = try fixture.registering(.alice)
    let end = flow.stepType == "localAuth" ? try fixture.prove(flow, by: Self.passcode) : flow
    #expect(end["status"] == "succeeded", "\(end.text)")
    try sandbox.control(
      "POST", "settings",
      ["tokenReply": ["refresh_token": .string(Self.refreshToken)]])
    try fixture.app.signIn()
    var tokens: Set<String> = []
    for _ in 1...20 {
      let token = try fixture.app.call("token.get", ["provider": "demo"])["accessToken"]
      tokens.insert(token?.stringValue ?? "")
      _ = try fixture.code()
    }
    return try #require(tokens.count == 1 ? tokens.first : nil)
  }

  private func counts(_ dump: CoreDump, _ secrets: [CoreDump.Secret]) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: secrets.map { ($0.name, dump.count($0)) })
  }

  @Test(
    "a core dump never has a store key, and no token, TOTP secret or passcode after system.lock",
    .enabled(
      if: CoreDump.isPossible,
      """
      SKIPPED, NOT PROVEN: needs root and gdb's gcore: Packaging/install-dependencies test
      """))
  func dumps() throws {
    let sandbox = try SandboxUnderTest()
    let fixture = try BSAFixture(
      more: sandbox.provider(), passcode: Self.passcode, sandbox: sandbox)
    let accessToken = try work(fixture, sandbox)
    let unlocked = try CoreDump(of: fixture.daemon.pid)
    let admin = try fixture.daemon.admin()
    _ = try admin.call("system.lock")
    let locked = try CoreDump(of: fixture.daemon.pid)
    _ = try fixture.app.error(of: "system.unlock", ["passcode": .string(Self.passcode + "-not")])
    let guessed = try CoreDump(of: fixture.daemon.pid)
    #expect(try fixture.daemon.stop() == 0)

    let keys = try StoreKeys(state: fixture.daemon.statePath)
    let key = [
      CoreDump.Secret("data key", key: keys.data), CoreDump.Secret("master key", key: keys.master),
    ]
    let kept = [
      CoreDump.Secret("refresh token", text: Self.refreshToken),
      CoreDump.Secret("access token", text: accessToken),
      CoreDump.Secret("secret of codes", text: Self.totpSecret),
      CoreDump.Secret("passcode", text: Self.passcode),
    ]
    let (before, after) = (counts(unlocked, key + kept), counts(locked, key + kept))
    // The search finds the secrets that an unlocked daemon holds, at most two copies of each.
    for name in ["access token", "refresh token", "secret of codes"] {
      #expect(
        (1...2).contains(before[name] ?? 0), "\(name) in a dump of the unlocked daemon: \(before)")
    }
    #expect(before["passcode"] == 0)
    #expect(unlocked.size > 1 << 20 && locked.size > 1 << 20)
    for secret in key {
      #expect(before[secret.name] == 0, "\(secret.name) in a dump of the unlocked daemon")
    }
    for secret in key + kept {
      #expect(after[secret.name] == 0, "\(secret.name) in a dump of the locked daemon")
      #expect(guessed.count(secret) == 0, "\(secret.name) in a dump after a wrong passcode")
    }
  }
}
