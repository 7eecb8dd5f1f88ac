import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Local authentication with a passcode", .mayBlock, .timeLimit(.minutes(10)))
struct PasscodeTests {
  private static let wrong = "canary-wrong-0000"

  @Test("without a message bus no finger can authenticate, but a passcode can once it is set")
  func alone() throws {
    let fixture = try LocalAuthFixture(nil)
    #expect(try fixture.authenticate("passcode").word == "PASSCODE_NOT_ENROLLED_DEVICE")
    #expect(try fixture.authenticate().word == "BIOMETRIC_NOT_AVILABLE")
    try fixture.setPasscode()
    #expect(try fixture.status()["methods"] == ["passcode"])
    let flow = try fixture.authenticate("passcode")
    #expect(flow["step"]?["methods"] == ["passcode"] && flow["provider"] == "local")
    let end = try fixture.type(LocalAuthFixture.passcode, flow)
    #expect(end["status"] == "succeeded" && end["result"]?["method"] == "passcode")
  }

  @Test("a passcode lockout survives a restart, and errors and status state the remaining time")
  func lockOut() throws {
    let clock = MovableClock()
    clock.stop()
    var fixture = try LocalAuthFixture(nil, clock: clock)
    try fixture.setPasscode()
    var flow = try fixture.authenticate("passcode")
    for left in (1...4).reversed() {
      flow = try fixture.type(Self.wrong, flow)
      #expect(flow.problem == "wrong_passcode")
      let message = flow["problem"]?["message"]?.stringValue
      #expect(message?.hasSuffix("; \(left) attempt\(left == 1 ? "" : "s") left") == true)
    }
    fixture = try fixture.restarted()
    flow = try fixture.type(Self.wrong, flow)
    #expect(flow.problem == "passcode_locked" && flow["status"] == "active", "\(flow.text)")
    #expect(flow["problem"]?["retryAfterMs"] == 30_000)
    for (over, next) in [(30, 60_000), (60, 300_000)] as [(Int64, JSONValue)] {
      try clock.advance(by: over)
      flow = try fixture.type(Self.wrong, flow)
      #expect(flow.problem == "passcode_locked" && flow["status"] == "active", "\(flow.text)")
      #expect(flow["problem"]?["retryAfterMs"] == next)
    }

    try clock.advance(by: 5)
    fixture = try fixture.restarted()
    try eventually("the flow shows the shorter lockout time") {
      flow = try fixture.app.flow(in: fixture.app.call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["problem"]?["retryAfterMs"] == 295_000
    }
    flow = try fixture.type(LocalAuthFixture.passcode, flow)
    #expect(
      flow.problem == "passcode_locked",
      "a locked passcode is refused even if it is right: \(flow.text)")
    #expect(flow["problem"]?["retryAfterMs"] == 295_000)
    #expect(flow["problem"]?["message"]?.stringValue?.contains("locked for another") == true)
    let status = try fixture.status()
    #expect(status["methods"] == [] && status["passcode"]?["state"] == "lockedOut")
    #expect(status["passcode"]?["lockedUntil"]?.stringValue?.hasSuffix("Z") == true)
    let change = try fixture.app.error(
      of: "localAuth.setPasscode",
      ["old": .string(LocalAuthFixture.passcode), "new": "something else"])
    #expect(change["data"]?["reason"] == "rate_limited")
    #expect(change["data"]?["retryAfterMs"]?.integerValue ?? 0 > 0)
  }

  @Test(
    "a passcode attempt counts even if usherd is killed before it has checked the passcode",
    .ownProcess)
  func countedFirst() throws {
    var fixture = try LocalAuthFixture(nil)
    try fixture.setPasscode()
    var flow = try fixture.authenticate("passcode")
    for _ in 1...4 {
      fixture = try fixture.killed(dyingAt: "local-auth.before-check:1")
      _ = try? fixture.type(LocalAuthFixture.passcode, flow)
      #expect(try fixture.daemon.exitStatus() != 0)
      fixture = try fixture.started()
      flow = try fixture.app.flow(in: fixture.app.call("flow.get", ["flow": flow["id"] ?? .null]))
      while flow["step"]?["type"] == "wait" { flow = try fixture.moved(flow) }
      #expect(flow.problem == "interrupted", "\(flow.text)")
    }
    flow = try fixture.type(Self.wrong, flow)
    #expect(
      flow.problem == "passcode_locked",
      "the four interrupted attempts count, so the fifth one locks: \(flow.text)")
  }

  @Test(
    "the provider local is always listed and healthy, with the kind authenticate and no account")
  func provider() throws {
    let fixture = try LocalAuthFixture(nil)
    let provider = try #require(
      try fixture.app.call("provider.list", [:])["providers"]?.arrayValue?.first)
    #expect(provider["name"] == "local" && provider["type"] == "local")
    #expect(provider["flows"]?[0]?["kind"] == "authenticate")
    #expect(provider["flows"]?[0]?["params"]?["required"] == ["localAuthType", "reason"])
    #expect(
      try fixture.app.reason(of: "token.get", ["provider": "local"]) == "interaction_required")
    let check = try fixture.daemon.admin().call("provider.check", ["provider": "local"])
    #expect(check["healthy"] == true)
  }

  @Test(
    "each user has a separate passcode, and the passcode of one user is wrong for another",
    .ownProcess,
    .enabled(
      if: OtherUser.isPossible, "SKIPPED, NOT PROVEN: only root can run a program as another user"))
  func otherUser() throws {
    let fixture = try LocalAuthFixture(nil)
    try fixture.setPasscode()
    let person = try OtherUser(4001, groups: "4242", at: fixture.daemon)
    let other = fixture.at(try person.client())
    #expect(try other.status()["passcode"] == ["state": "notEnrolled"])
    try other.setPasscode("quite another")
    let flow = try other.type(LocalAuthFixture.passcode, try other.authenticate("passcode"))
    #expect(flow.problem == "wrong_passcode", "\(flow.text)")
    #expect(try other.type("quite another", flow)["status"] == "succeeded")
    // fprintd identifies users by name, and this user has no name.
    #expect(try other.authenticate().word == "BIOMETRIC_NOT_AVILABLE")
    let mine = try fixture.type(LocalAuthFixture.passcode, try fixture.authenticate("passcode"))
    #expect(mine["status"] == "succeeded")
  }

  @Test(
    "no passcode is in the log, an event, the process's environment or the database", .ownProcess)
  func canary() throws {
    let fixture = try LocalAuthFixture(nil, logLevel: "trace")
    let listener = try fixture.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow"]])
    try fixture.setPasscode()
    try fixture.setPasscode("canary-second-4711", old: LocalAuthFixture.passcode)
    _ = try fixture.app.reply(
      to: "localAuth.setPasscode", ["old": "canary-bad-old-1", "new": "canary-bad-new-1"])
    var flow = try fixture.authenticate("passcode")
    flow = try fixture.type(Self.wrong, flow)
    let again = try fixture.killed(dyingAt: "local-auth.before-check:1").diedOf(flow)
    flow = try again.app.flow(in: again.app.call("flow.get", ["flow": flow["id"] ?? .null]))
    while flow["step"]?["type"] == "wait" { flow = try again.moved(flow) }
    flow = try again.type("canary-second-4711", flow)
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    var told = flow.text
    while let line = try? listener.receiveLine(within: 1) {
      told += String(decoding: line, as: UTF8.self)
    }
    let process = ["cmdline", "environ"].map { name in
      FileManager.default.contents(atPath: "/proc/\(fixture.daemon.pid)/\(name)") ?? Data()
    }
    let files = fixture.daemon.place.everything()
    #expect(try fixture.daemon.stop() == 0)
    let places =
      files + fixture.daemon.place.everything() + process.map { ("process", $0) }
      + [("replies and events", Data(told.utf8))]
    for (name, bytes) in places {
      #expect(bytes.range(of: Data("canary".utf8)) == nil, "\(name)")
    }
    // The search can find text that is there.
    #expect(places.contains { $0.bytes.range(of: Data("authenticate".utf8)) != nil })
  }
}

extension LocalAuthFixture {
  /// Submits the passcode whose check kills the daemon, and starts the daemon again.
  fileprivate func diedOf(_ flow: JSONValue) throws -> LocalAuthFixture {
    _ = try? type("canary-second-4711", flow)
    _ = try daemon.exitStatus()
    return try started()
  }
}
