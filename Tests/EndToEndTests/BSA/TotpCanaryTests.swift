import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A TOTP secret and a sign-in's token go through the daemon; afterwards they are looked for wherever
/// they must not be.
@Suite("Canaries, BSA's sign-in", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct TotpCanaryTests {
  /// The sandbox gives these out instead of its own.
  private static let secret = "CANARYSECRET2345CANARYSECRET2345"
  private static let secondSecret = "ANOTHERCANARY234ANOTHERCANARY234"
  private static let badSecret = "canary-secret-that-is-no-base32"
  private static let channel = "canary-channel-91bc"
  private static let token = "canary-token-5d21"

  @Test("neither secret nor channel is told or left anywhere; the token only by token.get")
  func everywhere() throws {
    let scene = try BSAScene(logLevel: "trace")
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token", "provider"]])
    var told: [String] = []
    let secrets = [
      Self.secret, Self.secondSecret, Self.badSecret, Self.channel, Self.token,
      BSAScene.passcode, BSAScene.clientKey,
    ]
    let account = try register(scene, &told)
    try signIns(scene, as: account, &told)
    told += try calls(scene, account)
    while let line = try? listener.receiveLine(within: 1) {
      told.append(String(decoding: line, as: UTF8.self))
    }
    let process = ["cmdline", "environ"].map { name in
      (name, FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data())
    }
    let running = files(scene)
    #expect(try scene.daemon.stop() == 0)
    let places = running + files(scene) + process
    let answers = [("what was answered", Data(told.joined(separator: "\n").utf8))]
    for (name, bytes) in places + answers {
      for secret in secrets {
        for form in forms(secret) {
          #expect(bytes.range(of: form) == nil, "\(secret.prefix(9))… is in \(name)")
        }
      }
    }
    // The search finds what is there, and everything was there to be found.
    #expect(places.contains { $0.1.range(of: Data("reregisterDevice".utf8)) != nil })
    #expect(told.contains { $0.contains("alice.01") })
    #expect(forms(Self.secret).count == 6)
  }

  /// Registers, gets a secret of no use, and takes another device, all with secrets that are known here.
  private func register(_ scene: BSAScene, _ told: inout [String]) throws -> JSONValue {
    try scene.answers("users", ["data": ["secretKey": .string(Self.secret)]])
    let end = try scene.registered()
    told += [end.text, try scene.code().text]
    try scene.answers("users", ["data": ["secretKey": .string(Self.badSecret)]])
    let flow = try scene.registering(.bob)
    let failed = flow.stepType == "localAuth" ? try scene.prove(flow) : flow
    #expect(failed["result"]?["totpProblem"] != nil, "\(failed.text)")
    // Bob has an account now too: what follows names that of Alice.
    told.append(failed.text)
    try scene.answers("device", ["data": ["secretKey": .string(Self.secondSecret)]])
    let handle = try scene.disposeToken()
    let device = try scene.start(
      "reregisterDevice",
      [
        "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email", "authType": "passcode",
        "verifyData": "alice@example.com", "disposeToken": .string(handle),
      ])
    #expect(device["status"] == "succeeded", "\(device.text)")
    told.append(device.text)
    return end.account ?? .null
  }

  /// Sign-ins that fail with secrets in hand, and one that does not.
  private func signIns(
    _ scene: BSAScene, as account: JSONValue, _ told: inout [String]
  ) throws {
    let channel: JSONValue = ["data": ["channelKey": .string(Self.channel)]]
    for endpoint in ["authComplete", "authResult"] {
      let (flow, visit) = try scene.pushed(as: account)
      try scene.answers("auth", channel)
      try scene.answers(
        endpoint, ["rtCode": 5010, "rtMsg": .string("\(Self.channel) \(Self.token) failed")])
      let end = try scene.app.finished(scene.prove(flow))
      #expect(end.failure == ["provider_rejected", "5010", nil], "\(end.text)")
      told.append(end.text)
      try? scene.leave(visit)
    }
    let (flow, _) = try scene.pushed(as: account)
    try scene.answers("authResult", ["data": .string(Self.token)])
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end["status"] == "succeeded", "\(end.text)")
    told.append(end.text)
    #expect(try scene.token(of: end.account)["accessToken"] == .string(Self.token))
  }

  private func calls(_ scene: BSAScene, _ account: JSONValue) throws -> [String] {
    var told = try [
      "account.list", "token.list", "totp.list", "flow.list", "provider.list", "system.status",
      "rpc.discover",
    ].map { try scene.app.reply(to: $0).text }
    told.append(try scene.account(account).text)
    let verbs = [
      ["account", "list"], ["totp", "list"], ["totp", "code", "bsa"], ["token", "list"],
      ["config", "show"], ["credential", "list"], ["provider", "check", "bsa"], ["flow", "list"],
    ]
    for verb in verbs {
      let plain = try scene.daemon.usherctl(verb)
      #expect(plain.status == 0, "\(verb): \(plain.errors)")
      let json = try scene.daemon.usherctl(["--json"] + verb)
      told += [plain.output, plain.errors, json.output, json.errors]
    }
    return told
  }

  private func files(_ scene: BSAScene) -> [(String, Data)] {
    scene.daemon.place.everything().filter { !$0.name.contains("master.key") }
      .map { ($0.name, $0.bytes) }
  }

  /// As it is, in lower case, in Base64, in hexadecimal; and what a Base32 text stands for.
  private func forms(_ secret: String) -> [Data] {
    var texts = [Data(secret.utf8)]
    if let bytes = decoded(secret) { texts += [Data(secret.lowercased().utf8), bytes] }
    return texts
      + texts.flatMap { text in
        text.count < 16 ? [] : [Data(text.base64EncodedString().utf8)]
      }
  }

  /// What Base32 without padding stands for.
  private func decoded(_ text: String) -> Data? {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    var (bits, held) = (0, 0)
    var bytes = Data()
    for letter in text {
      guard let value = letters.firstIndex(of: letter) else { return nil }
      held = held << 5 | value
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(held >> bits & 0xFF))
        held &= (1 << bits) - 1
      }
    }
    return bytes
  }
}
