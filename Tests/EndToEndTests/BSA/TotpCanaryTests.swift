import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes TOTP secrets and a sign-in's token through the daemon, then searches files, logs and
/// replies for them.
@Suite("Secrets in BSA sign-ins", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCanaryTests {
  /// The sandbox issues these secrets instead of its own.
  private static let secret = "CANARYSECRET2345CANARYSECRET2345"
  private static let secondSecret = "ANOTHERCANARY234ANOTHERCANARY234"
  /// The keys that these secrets encode in Base32: each is ten bytes, twice.
  private static let keys = [
    Data([0x10, 0x1A, 0x08, 0xE2, 0x44, 0x14, 0x49, 0x3D, 0x6F, 0x9D]),
    Data([0x03, 0x5D, 0x33, 0x92, 0x22, 0x03, 0x41, 0x1C, 0x6B, 0x7C]),
  ]
  private static let badSecret = "canary-secret-that-is-no-base32"
  private static let channel = "canary-channel-91bc"
  private static let token = "canary-token-5d21"

  private let fixture: BSAFixture
  private let search: CanarySearch

  init() throws {
    fixture = try BSAFixture(logLevel: "trace")
    search = try CanarySearch(fixture.daemon)
  }

  @Test("BSA's TOTP secrets, channel keys and tokens are in no file, log or reply but token.get's")
  func everywhere() throws {
    let account = try register()
    try signIns(as: account)
    search.record(try fixture.account(account))
    try search.recordLists(commands: [
      ["account", "list"], ["totp", "list"], ["totp", "code", "bsa"], ["token", "list"],
      ["config", "show"], ["credential", "list"], ["provider", "check", "bsa"], ["flow", "list"],
      ["--json", "account", "list"], ["--json", "totp", "list"], ["--json", "token", "list"],
    ])
    try search.expectNone(
      of: [
        Self.secret, Self.secret.lowercased(), Self.secondSecret, Self.secondSecret.lowercased(),
        Self.badSecret, Self.channel, Self.token, BSAFixture.passcode, BSAFixture.clientKey,
      ], keys: Self.keys, found: ["reregisterDevice", "alice.01"])
  }

  /// Registers, receives an unusable secret, and replaces the device, all with known secrets.
  private func register() throws -> JSONValue {
    try fixture.answers("users", ["data": ["secretKey": .string(Self.secret)]])
    let end = search.record(try fixture.registered())
    search.record(try fixture.code())
    try fixture.answers("users", ["data": ["secretKey": .string(Self.badSecret)]])
    let flow = try fixture.registering(.bob)
    let failed = search.record(flow.stepType == "localAuth" ? try fixture.prove(flow) : flow)
    #expect(failed["result"]?["totpProblem"] != nil, "\(failed.text)")
    // Bob has an account now too, so the following calls name Alice's.
    try fixture.answers("device", ["data": ["secretKey": .string(Self.secondSecret)]])
    let device = search.record(
      try fixture.start(
        "reregisterDevice",
        [
          "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email",
          "authType": "passcode", "verifyData": "alice@example.com",
          "disposeToken": .string(fixture.disposeToken()),
        ]))
    #expect(device["status"] == "succeeded", "\(device.text)")
    return end.account ?? .null
  }

  /// Signs in: twice with a failure while the daemon holds secrets, then with success.
  private func signIns(as account: JSONValue) throws {
    for (number, endpoint) in ["authComplete", "authResult"].enumerated() {
      let (flow, visit) = try fixture.pushed(as: account)
      try fixture.answers("auth", ["data": ["channelKey": .string(Self.channel)]])
      try fixture.answers(
        endpoint, ["rtCode": 5010, "rtMsg": .string("\(Self.channel) \(Self.token) failed")])
      let end = search.record(try fixture.app.finished(fixture.prove(flow)))
      #expect(end.failure == ["provider_rejected", "5010", nil], "\(end.text)")
      // authCancel names only the device: a late one would cancel the next sign-in.
      try eventually("BSA answers authCancel") { try fixture.answered("authCancel") > number }
      try? fixture.leave(visit)
    }
    let (flow, _) = try fixture.pushed(as: account)
    try fixture.answers("authResult", ["data": .string(Self.token)])
    let end = search.record(try fixture.app.finished(fixture.prove(flow)))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.token(of: end.account)["accessToken"] == .string(Self.token))
  }
}
