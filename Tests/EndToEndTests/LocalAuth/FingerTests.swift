import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Fingers at the real fprintd", .mayBlock, .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct FingerTests {
  @Test("a match is the end, and tells when it was; another finger since then is told where asked")
  func match() async throws {
    let scene = try await LocalAuthScene.withFinger()
    let flow = try scene.authenticate()
    #expect(flow["step"]?["methods"] == ["biometric"] && flow.isScanning)
    #expect(flow["step"]?["reason"] == "open the till")
    try await scene.touch(LocalAuthScene.finger)
    let end = try scene.ended(flow)
    #expect(end["status"] == "succeeded" && end["result"]?["method"] == "biometric", "\(end.text)")
    #expect(end["result"]?["authenticatedAt"]?.stringValue?.hasSuffix("Z") == true)
    #expect(try scene.status()["biometric"] == ["state": "ready", "fingers": 1])
    try await scene.fprintd?.enrol(
      user: LocalAuthScene.user, finger: "left-thumb", print: "second")
    #expect(try scene.authenticate(checksFingers: true).word == "DOMAIN_STATE_CHANGED")
  }

  @Test("three wrong fingers are AUTH_FAILED, or lead on to the passcode")
  func noMatch() async throws {
    let scene = try await LocalAuthScene.withFinger()
    var flow = try scene.authenticate()
    for _ in 1...2 {
      try await scene.touch(LocalAuthScene.stranger)
      flow = try scene.moved(flow)
      #expect(flow.problem == "not_recognised" && flow.isScanning, "\(flow.text)")
    }
    try await scene.touch(LocalAuthScene.stranger)
    flow = try scene.ended(flow)
    #expect(flow.word == "AUTH_FAILED" && flow["failure"]?["reason"] == "local_auth_failed")

    try scene.setPasscode()
    // A right one, so that the row of wrong ones ends.
    flow = try scene.authenticate()
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(flow)["status"] == "succeeded")
    flow = try scene.authenticate(orPasscode: true)
    #expect(flow["step"]?["methods"] == ["biometric", "passcode"])
    for _ in 1...3 {
      try await scene.touch(LocalAuthScene.stranger)
      flow = try scene.moved(flow)
    }
    #expect(flow["step"]?["methods"] == ["passcode"] && !flow.isScanning, "\(flow.text)")
    flow = try scene.ended(try scene.type(LocalAuthScene.passcode, flow))
    #expect(flow["result"]?["method"] == "passcode", "\(flow.text)")
  }

  @Test("polkit saying no is BIOMETRIC_NOT_AVILABLE, and the log says why")
  func polkit() async throws {
    let scene = try await LocalAuthScene.withFinger()
    try await scene.fprintd?.allow(only: ["net.reactivated.fprint.device.enroll"])
    let flow = try scene.ended(try scene.authenticate())
    #expect(flow.word == "BIOMETRIC_NOT_AVILABLE", "\(flow.text)")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("polkit") == true)
    #expect(scene.daemon.log.contains("the fingerprint reader cannot be used"))
    #expect(scene.daemon.log.contains("net.reactivated.fprint.device.verify"))
  }

  @Test(
    "a daemon that dies while the reader waits scans again when it is back, and says so",
    .ownProcess)
  func killed() async throws {
    var scene = try await LocalAuthScene.withFinger()
    var flow = try scene.authenticate()
    scene = try scene.killed()
    flow = try scene.app.flow(in: scene.app.call("flow.get", ["flow": flow["id"] ?? .null]))
    while flow["status"] == "active", !flow.isScanning || flow.problem == nil {
      flow = try scene.moved(flow)
    }
    #expect(flow.problem == "interrupted", "\(flow.text)")
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(flow)["status"] == "succeeded")
  }
}
