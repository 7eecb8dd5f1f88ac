import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Passcodes at the real daemon", .mayBlock, .timeLimit(.minutes(10)))
struct PasscodeTests {
  private static let wrong = "canary-wrong-0000"

  @Test("without a bus there is no finger, and a passcode once one is set")
  func alone() throws {
    let scene = try LocalAuthScene(nil)
    #expect(try scene.authenticate("passcode").word == "PASSCODE_NOT_ENROLLED_DEVICE")
    #expect(try scene.authenticate().word == "BIOMETRIC_NOT_AVILABLE")
    try scene.setPasscode()
    #expect(try scene.status()["methods"] == ["passcode"])
    let flow = try scene.authenticate("passcode")
    #expect(flow["step"]?["methods"] == ["passcode"] && flow["provider"] == "local")
    let end = try scene.type(LocalAuthScene.passcode, flow)
    #expect(end["status"] == "succeeded" && end["result"]?["method"] == "passcode")
  }

  @Test("a lock survives a restart, and the time that is left is told")
  func lockOut() throws {
    let clock = MovableClock()
    var scene = try LocalAuthScene(nil, clock: clock)
    try scene.setPasscode()
    var flow = try scene.authenticate("passcode")
    for left in (1...4).reversed() {
      flow = try scene.type(Self.wrong, flow)
      #expect(flow.problem == "wrong_passcode")
      let message = flow["problem"]?["message"]?.stringValue
      #expect(message?.hasSuffix("; \(left) attempt\(left == 1 ? "" : "s") left") == true)
    }
    scene = try scene.restarted()
    flow = try scene.type(Self.wrong, flow)
    #expect(flow.problem == "passcode_locked" && flow["status"] == "active", "\(flow.text)")
    #expect((1...30_000).contains(flow["problem"]?["retryAfterMs"]?.integerValue ?? -1))
    // The seventh locks for five minutes, which are not over while a slow machine restarts the daemon.
    for over: Int64 in [30, 60] {
      try clock.advance(by: over)
      flow = try scene.type(Self.wrong, flow)
      #expect(flow.problem == "passcode_locked" && flow["status"] == "active", "\(flow.text)")
    }
    let first = try #require(flow["problem"]?["retryAfterMs"]?.integerValue)
    #expect((60_001...300_000).contains(first))

    try clock.advance(by: 5)
    scene = try scene.restarted()
    try eventually("the time that is left is told anew") {
      flow = try scene.app.flow(in: scene.app.call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["problem"]?["retryAfterMs"]?.integerValue.map { $0 <= first - 5000 } ?? false
    }
    flow = try scene.type(LocalAuthScene.passcode, flow)
    #expect(flow.problem == "passcode_locked", "the right one is not looked at: \(flow.text)")
    let left = try #require(flow["problem"]?["retryAfterMs"]?.integerValue)
    #expect(left > 0 && left <= first - 5000)
    #expect(flow["problem"]?["message"]?.stringValue?.contains("locked for another") == true)
    let status = try scene.status()
    #expect(status["methods"] == [] && status["passcode"]?["state"] == "lockedOut")
    #expect(status["passcode"]?["lockedUntil"]?.stringValue?.hasSuffix("Z") == true)
    let change = try scene.app.error(
      of: "localAuth.setPasscode",
      ["old": .string(LocalAuthScene.passcode), "new": "something else"])
    #expect(change["data"]?["reason"] == "rate_limited")
    #expect(change["data"]?["retryAfterMs"]?.integerValue ?? 0 > 0)
  }

  @Test("whoever kills the daemon while it looks at a guess has had that guess", .ownProcess)
  func countedFirst() throws {
    var scene = try LocalAuthScene(nil)
    try scene.setPasscode()
    var flow = try scene.authenticate("passcode")
    for _ in 1...4 {
      scene = try scene.killed(dyingAt: "local-auth.before-check:1")
      _ = try? scene.type(LocalAuthScene.passcode, flow)
      #expect(try scene.daemon.exitStatus() != 0)
      scene = try scene.started()
      flow = try scene.app.flow(in: scene.app.call("flow.get", ["flow": flow["id"] ?? .null]))
      while flow["step"]?["type"] == "wait" { flow = try scene.moved(flow) }
      #expect(flow.problem == "interrupted", "\(flow.text)")
    }
    flow = try scene.type(Self.wrong, flow)
    #expect(flow.problem == "passcode_locked", "five guesses: \(flow.text)")
  }

  @Test("its provider is always there, with its flow, and is no account's")
  func provider() throws {
    let scene = try LocalAuthScene(nil)
    let provider = try #require(
      try scene.app.call("provider.list", [:])["providers"]?.arrayValue?.first)
    #expect(provider["name"] == "local" && provider["type"] == "local")
    #expect(provider["flows"]?[0]?["kind"] == "authenticate")
    #expect(provider["flows"]?[0]?["params"]?["required"] == ["localAuthType", "reason"])
    #expect(try scene.app.reason(of: "token.get", ["provider": "local"]) == "interaction_required")
    let check = try scene.daemon.admin().call("provider.check", ["provider": "local"])
    #expect(check["healthy"] == true)
  }

  @Test(
    "another user has a passcode of his own", .ownProcess,
    .enabled(if: OtherUser.isPossible, "SKIPPED, NOT PROVEN: only root can be another user"))
  func otherUser() throws {
    let scene = try LocalAuthScene(nil)
    try scene.setPasscode()
    let person = try OtherUser(4001, groups: "4242", at: scene.daemon)
    let other = scene.at(try person.client())
    #expect(try other.status()["passcode"] == ["state": "notEnrolled"])
    try other.setPasscode("quite another")
    let flow = try other.type(LocalAuthScene.passcode, try other.authenticate("passcode"))
    #expect(flow.problem == "wrong_passcode", "\(flow.text)")
    #expect(try other.type("quite another", flow)["status"] == "succeeded")
    // fprintd knows users by their names; this one has none.
    #expect(try other.authenticate().word == "BIOMETRIC_NOT_AVILABLE")
    let mine = try scene.type(LocalAuthScene.passcode, try scene.authenticate("passcode"))
    #expect(mine["status"] == "succeeded")
  }

  @Test("no passcode is in a log, an event, the process or the database", .ownProcess)
  func canary() throws {
    let scene = try LocalAuthScene(nil, logLevel: "trace")
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow"]])
    try scene.setPasscode()
    try scene.setPasscode("canary-second-4711", old: LocalAuthScene.passcode)
    _ = try scene.app.reply(
      to: "localAuth.setPasscode", ["old": "canary-bad-old-1", "new": "canary-bad-new-1"])
    var flow = try scene.authenticate("passcode")
    flow = try scene.type(Self.wrong, flow)
    let again = try scene.killed(dyingAt: "local-auth.before-check:1").diedOf(flow)
    flow = try again.app.flow(in: again.app.call("flow.get", ["flow": flow["id"] ?? .null]))
    while flow["step"]?["type"] == "wait" { flow = try again.moved(flow) }
    flow = try again.type("canary-second-4711", flow)
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    var told = flow.text
    while let line = try? listener.receiveLine(within: 1) {
      told += String(decoding: line, as: UTF8.self)
    }
    let process = ["cmdline", "environ"].map { name in
      FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data()
    }
    let files = scene.daemon.place.everything()
    #expect(try scene.daemon.stop() == 0)
    let places =
      files + scene.daemon.place.everything() + process.map { ("process", $0) }
      + [("what was told", Data(told.utf8))]
    for (name, bytes) in places {
      #expect(bytes.range(of: Data("canary".utf8)) == nil, "\(name)")
    }
    // The search finds what is there.
    #expect(places.contains { $0.bytes.range(of: Data("authenticate".utf8)) != nil })
  }
}

extension LocalAuthScene {
  /// The daemon again, after it died of the passcode that is typed here.
  fileprivate func diedOf(_ flow: JSONValue) throws -> LocalAuthScene {
    _ = try? type("canary-second-4711", flow)
    _ = try daemon.exitStatus()
    return try started()
  }
}
