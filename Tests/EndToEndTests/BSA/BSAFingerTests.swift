import Foundation
import JSONRPC
import Testing
import UsherTestKit

let noFprintd: Comment = """
  SKIPPED, NOT PROVEN: fprintd, libfprint's virtual reader or dbusmock is missing: \
  Packaging/install-dependencies test
  """

/// Registration by fingerprint, against the real fprintd with libfprint's virtual reader.
@Suite(
  "BSA and the fingerprint reader", .mayBlock, .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct BSAFingerTests {
  private static let (finger, second, stranger) = ("right-index", "second", "stranger")

  private let fprintd: FprintdUnderTest
  private let fixture: BSAFixture

  init() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: Self.finger)
    fixture = try await unblocking { try BSAFixture(reader: fprintd) }
    self.fprintd = fprintd
  }

  /// Runs `body`, which blocks, on a thread of its own.
  private func atFixture<Value: Sendable>(
    _ body: @escaping @Sendable (BSAFixture) throws -> Value
  ) async throws -> Value {
    try await unblocking { [fixture] in try body(fixture) }
  }

  /// Starts a registration and returns it at the step that waits for a finger.
  private func scanning(_ person: BSAPerson = .alice) async throws -> JSONValue {
    let flow = try await atFixture { try $0.registering(person, authType: "biometric") }
    #expect(flow.state == "localAuth" && flow.isScanning, "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["biometric"])
    return flow
  }

  private func touch(_ finger: String) async throws { try await fprintd.script("SCAN \(finger)") }

  private func ended(_ flow: JSONValue) async throws -> JSONValue {
    try await atFixture { try $0.app.finished(flow) }
  }

  private func registered(_ person: BSAPerson = .alice) async throws -> JSONValue {
    let flow = try await scanning(person)
    try await touch(Self.finger)
    let end = try await ended(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    return end
  }

  private func expectFailed(
    _ end: JSONValue, _ word: String, _ rtCode: String, reason: String = "local_auth_failed"
  ) async throws {
    #expect(end.failure == [reason, word, rtCode], "\(end.text)")
    #expect(try await atFixture { try $0.requests("users") } == 0)
    #expect(try await atFixture { try $0.accounts() }.isEmpty)
  }

  @Test("a matching finger completes a BSA registration with authType 3 (BIOMETRIC)")
  func match() async throws {
    let end = try await registered()
    let (account, known) = try await atFixture {
      (try $0.account(end.account), try $0.registration("alice.01"))
    }
    #expect(account["attributes"]?["localAuthType"] == "BIOMETRIC", "\(account.text)")
    #expect(known?["authType"] == 3)
    // The reader is released, and the next registration does not ask for the finger again.
    _ = try await fprintd.holder(user: NSUserName())
    let next = try await atFixture { try $0.registering(.bob, authType: "biometric") }
    #expect(next["status"] == "succeeded", "\(next.text)")
  }

  @Test(
    "three wrong fingers end a BSA registration with AUTH_FAILED (9009), and no sign-up is sent")
  func noMatch() async throws {
    var flow = try await scanning()
    for left in ["2 attempts left", "1 attempt left"] {
      try await touch(Self.stranger)
      flow = try await atFixture { [flow] in
        try $0.moved(flow, "counts the attempts down") {
          $0["problem"]?["message"]?.stringValue?.hasSuffix(left) == true
        }
      }
      #expect(flow.problem[0] == "not_recognised" && flow.isScanning, "\(flow.text)")
    }
    try await touch(Self.stranger)
    try await expectFailed(try await ended(flow), "AUTH_FAILED", "9009")
  }

  @Test(
    "a newly enrolled finger fails a BSA sign-in with DOMAIN_STATE_CHANGED, but no registration")
  func changed() async throws {
    _ = try await registered()
    let visit: JSONValue = ["by": "otp"]
    let signIn = try await atFixture { try $0.start("authenticate", visit) }
    #expect(signIn.isScanning, "\(signIn.text)")
    try await touch(Self.finger)
    _ = try await atFixture {
      try $0.moved(signIn, "shows the sign-in number") { $0.stepType == "displayCode" }
    }
    try await fprintd.enrol(user: NSUserName(), finger: "left-thumb", print: Self.second)
    let refused = try await atFixture { try $0.start("authenticate", visit) }
    #expect(
      refused.failure == ["local_auth_failed", "DOMAIN_STATE_CHANGED", "9006"], "\(refused.text)")
    #expect(try await atFixture { try $0.requests("otpGenerate") } == 1)
    // A local authentication from before the restart does not count.
    let after = try await atFixture { try $0.restarted() }
    let flow = try await unblocking { try after.registering(.bob, authType: "biometric") }
    #expect(flow.isScanning, "\(flow.text)")
  }

  @Test("after a restart during a scan, the finger is asked for again and one BSA sign-up is sent")
  func killed() async throws {
    let flow = try await scanning()
    let after = try await atFixture { try $0.restarted() }
    let asked = try await unblocking {
      try after.moved(flow, "scans again") { $0.isScanning && $0.problem[0] == "interrupted" }
    }
    try await touch(Self.finger)
    let end = try await unblocking { try after.app.finished(asked) }
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try await atFixture { try $0.requests("users") } == 1)
  }
}
