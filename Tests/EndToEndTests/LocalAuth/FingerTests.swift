import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Local authentication with the real fprintd", .mayBlock,
  .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct FingerTests {
  @Test("a matching finger authenticates; a finger enrolled since then gives DOMAIN_STATE_CHANGED")
  func match() async throws {
    let fixture = try await LocalAuthFixture.withFinger()
    let flow = try fixture.authenticate()
    #expect(flow["step"]?["methods"] == ["biometric"] && flow.isScanning)
    #expect(flow["step"]?["reason"] == "open the till")
    try await fixture.touch(LocalAuthFixture.finger)
    let end = try fixture.ended(flow)
    #expect(end["status"] == "succeeded" && end["result"]?["method"] == "biometric", "\(end.text)")
    #expect(end["result"]?["authenticatedAt"]?.stringValue?.hasSuffix("Z") == true)
    #expect(try fixture.status()["biometric"] == ["state": "ready", "fingers": 1])
    try await fixture.fprintd?.enrol(
      user: LocalAuthFixture.user, finger: "left-thumb", print: "second")
    #expect(try fixture.authenticate(checksFingers: true).word == "DOMAIN_STATE_CHANGED")
  }

  @Test(
    "three wrong fingers end the flow with AUTH_FAILED, or lead to the passcode if that is allowed")
  func noMatch() async throws {
    let fixture = try await LocalAuthFixture.withFinger()
    var flow = try fixture.authenticate()
    for _ in 1...2 {
      try await fixture.touch(LocalAuthFixture.stranger)
      flow = try fixture.moved(flow)
      #expect(flow.problem == "not_recognised" && flow.isScanning, "\(flow.text)")
    }
    try await fixture.touch(LocalAuthFixture.stranger)
    flow = try fixture.ended(flow)
    #expect(flow.word == "AUTH_FAILED" && flow["failure"]?["reason"] == "local_auth_failed")

    try fixture.setPasscode()
    // A right finger resets the count of wrong ones.
    flow = try fixture.authenticate()
    try await fixture.touch(LocalAuthFixture.finger)
    #expect(try fixture.ended(flow)["status"] == "succeeded")
    flow = try fixture.authenticate(orPasscode: true)
    #expect(flow["step"]?["methods"] == ["biometric", "passcode"])
    for _ in 1...3 {
      try await fixture.touch(LocalAuthFixture.stranger)
      flow = try fixture.moved(flow)
    }
    #expect(flow["step"]?["methods"] == ["passcode"] && !flow.isScanning, "\(flow.text)")
    flow = try fixture.ended(try fixture.type(LocalAuthFixture.passcode, flow))
    #expect(flow["result"]?["method"] == "passcode", "\(flow.text)")
  }

  @Test("a refusal by polkit gives BIOMETRIC_NOT_AVILABLE, and the log names the refused action")
  func polkit() async throws {
    let fixture = try await LocalAuthFixture.withFinger()
    try await fixture.fprintd?.allow(only: ["net.reactivated.fprint.device.enroll"])
    let flow = try fixture.ended(try fixture.authenticate())
    #expect(flow.word == "BIOMETRIC_NOT_AVILABLE", "\(flow.text)")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("polkit") == true)
    #expect(fixture.daemon.log.contains("the fingerprint reader cannot be used"))
    #expect(fixture.daemon.log.contains("net.reactivated.fprint.device.verify"))
  }

  @Test(
    "a usherd killed while the reader waits scans again after its start, and reports interrupted",
    .ownProcess)
  func killed() async throws {
    var fixture = try await LocalAuthFixture.withFinger()
    var flow = try fixture.authenticate()
    fixture = try fixture.killed()
    flow = try fixture.app.flow(in: fixture.app.call("flow.get", ["flow": flow["id"] ?? .null]))
    while flow["status"] == "active", !flow.isScanning || flow.problem == nil {
      flow = try fixture.moved(flow)
    }
    #expect(flow.problem == "interrupted", "\(flow.text)")
    try await fixture.touch(LocalAuthFixture.finger)
    #expect(try fixture.ended(flow)["status"] == "succeeded")
  }
}
