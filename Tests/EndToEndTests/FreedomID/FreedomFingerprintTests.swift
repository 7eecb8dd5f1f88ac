import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// "Select an account … and apply fingerprint" of the SDK's documentation, with the real fprintd
/// and its virtual reader. `FingerTests` and `DeviceHomeTests` cover the reader's other answers.
@Suite(
  "Freedom ID and the fingerprint reader", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(
    if: FprintdUnderTest.isPossible,
    "SKIPPED, NOT PROVEN: fprintd, dbus-daemon or python3-dbusmock is missing"))
struct FreedomFingerprintTests {
  @Test("a known finger leads Freedom ID authorize on to the permissions without typed input")
  func match() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: "right-index")
    let fixture = try await unblocking { try FreedomFixture(reader: fprintd) }
    let flow = try await unblocking { try fixture.standing(at: "localAuth") }
    #expect(flow["step"]?["scanning"] == true, "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["biometric", "passcode"])
    try await fprintd.script("SCAN right-index")
    let asked = try await unblocking {
      try fixture.moved(flow, "asks for the permissions") { $0.stepType == "consent" }
    }
    #expect(asked.state == "permissions" && asked.problem == nil, "\(asked.text)")
    let end = try await unblocking { try fixture.walk(asked) }
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    // The reader is released.
    _ = try await fprintd.holder(user: NSUserName())
  }
}
