import Foundation
import JSONRPC
import Testing
import UsherTestKit

let noFprintd: Comment = """
  SKIPPED, NOT PROVEN: fprintd, libfprint's virtual reader or dbusmock is missing: \
  Packaging/install-dependencies test
  """

/// A registration by finger, at the real fprintd with libfprint's virtual reader.
@Suite(
  "BSA and the fingerprint reader", .mayBlock, .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct BSAFingerTests {
  private static let (finger, second, stranger) = ("right-index", "second", "stranger")

  private let fprintd: FprintdUnderTest
  private let scene: BSAScene

  init() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: Self.finger)
    scene = try await unblocking { try BSAScene(reader: fprintd) }
    self.fprintd = fprintd
  }

  /// What blocks does so on a thread of its own.
  private func atScene<Value: Sendable>(
    _ body: @escaping @Sendable (BSAScene) throws -> Value
  ) async throws -> Value {
    try await unblocking { [scene] in try body(scene) }
  }

  /// A registration that waits for a finger.
  private func scanning(_ person: BSAPerson = .alice) async throws -> JSONValue {
    let flow = try await atScene { try $0.registering(person, authType: "biometric") }
    #expect(flow.state == "localAuth" && flow.isScanning, "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["biometric"])
    return flow
  }

  private func touch(_ finger: String) async throws { try await fprintd.script("SCAN \(finger)") }

  private func ended(_ flow: JSONValue) async throws -> JSONValue {
    try await atScene { try $0.app.finished(flow) }
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
    #expect(try await atScene { try $0.requests("users") } == 0)
    #expect(try await atScene { try $0.accounts() }.isEmpty)
  }

  @Test("a match leads on to the sign-up: authType 3, BIOMETRIC")
  func match() async throws {
    let end = try await registered()
    let (account, known) = try await atScene {
      (try $0.account(end.account), try $0.registration("alice.01"))
    }
    #expect(account["attributes"]?["localAuthType"] == "BIOMETRIC", "\(account.text)")
    #expect(known?["authType"] == 3)
    // The reader is free for others again.
    _ = try await fprintd.holder(user: NSUserName())
  }

  @Test("three wrong fingers: AUTH_FAILED, 9009; nothing is sent")
  func noMatch() async throws {
    var flow = try await scanning()
    for left in ["2 attempts left", "1 attempt left"] {
      try await touch(Self.stranger)
      flow = try await atScene { [flow] in
        try $0.moved(flow, "counts") {
          $0["problem"]?["message"]?.stringValue?.hasSuffix(left) == true
        }
      }
      #expect(flow.problem[0] == "not_recognised" && flow.isScanning, "\(flow.text)")
    }
    try await touch(Self.stranger)
    try await expectFailed(try await ended(flow), "AUTH_FAILED", "9009")
  }

  @Test("a finger that the reader could not see well is asked for again")
  func hint() async throws {
    let flow = try await scanning()
    try await fprintd.script("RETRY 0")
    let hinted = try await atScene {
      try $0.moved(flow, "hints") { $0.problem[0] == "scan_again" }
    }
    #expect(hinted.isScanning, "\(hinted.text)")
    try await touch(Self.finger)
    #expect(try await ended(hinted)["status"] == "succeeded")
  }

  @Test("a reader that is pulled out half-way: BIOMETRIC_NOT_AVILABLE, 9001; nothing is sent")
  func unplugged() async throws {
    let flow = try await scanning()
    try await fprintd.unplug()
    try await expectFailed(try await ended(flow), "BIOMETRIC_NOT_AVILABLE", "9001")
  }

  @Test("a second registration at the reader is told that it is in use; the first one goes on")
  func twoCallers() async throws {
    let first = try await scanning()
    try await fprintd.script("RETRY 0")
    let second = try await ended(
      try await atScene { try $0.registering(.bob, authType: "biometric") })
    try await expectFailed(second, "BIOMETRIC_NOT_AVILABLE", "9001")
    #expect(second["failure"]?["message"] == "the fingerprint reader is in use")
    try await touch(Self.finger)
    #expect(try await ended(first)["status"] == "succeeded")
  }

  @Test("a reader that another program holds: BIOMETRIC_NOT_AVILABLE, 9001")
  func held() async throws {
    let holder = try await fprintd.holder(user: NSUserName())
    let flow = try await atScene { try $0.registering(authType: "biometric") }
    try await expectFailed(try await ended(flow), "BIOMETRIC_NOT_AVILABLE", "9001")
    withExtendedLifetime(holder) {}
  }

  @Test("polkit saying no: BIOMETRIC_NOT_AVILABLE, 9001, and the message names it")
  func polkit() async throws {
    try await fprintd.allow(only: ["net.reactivated.fprint.device.enroll"])
    let flow = try await atScene { try $0.registering(authType: "biometric") }
    let end = try await ended(flow)
    try await expectFailed(end, "BIOMETRIC_NOT_AVILABLE", "9001")
    #expect(end["failure"]?["message"]?.stringValue?.contains("polkit") == true)
  }

  @Test("five wrong ones in a row, over two registrations: BIOMETRIC_LOCK_OUT, 9002")
  func lockOut() async throws {
    var flow = try await scanning()
    for _ in 1...3 {
      try await touch(Self.stranger)
      flow = try await atScene { [flow] in
        let revision = flow["revision"]
        return try $0.moved(flow, "counts") { $0["revision"] != revision }
      }
    }
    flow = try await scanning()
    for _ in 1...2 {
      try await touch(Self.stranger)
      flow = try await atScene { [flow] in
        let revision = flow["revision"]
        return try $0.moved(flow, "counts") { $0["revision"] != revision }
      }
    }
    try await expectFailed(flow, "BIOMETRIC_LOCK_OUT", "9002")
    let next = try await atScene { try $0.registering(authType: "biometric") }
    try await expectFailed(next, "BIOMETRIC_LOCK_OUT", "9002")
  }

  @Test("cancelled at the reader: USER_CANCEL, and the reader is let go")
  func cancelled() async throws {
    let flow = try await scanning()
    let end = try await atScene {
      try $0.submit(["type": "localAuth", "cancel": true], to: flow)
    }
    #expect(end.failure == ["cancelled", "USER_CANCEL", nil], "\(end.text)")
    _ = try await fprintd.holder(user: NSUserName())
  }

  @Test("a finger that just proved the person passes the next registration's step over")
  func fresh() async throws {
    _ = try await registered()
    let next = try await atScene { try $0.registering(.bob, authType: "biometric") }
    #expect(next["status"] == "succeeded", "\(next.text)")
  }

  @Test("fingers changed: a sign-in is DOMAIN_STATE_CHANGED, 9006; a registration does not ask")
  func changed() async throws {
    _ = try await registered()
    let visit: JSONValue = ["by": "otp"]
    let signIn = try await atScene { try $0.start("authenticate", visit) }
    #expect(signIn.isScanning, "\(signIn.text)")
    try await touch(Self.finger)
    _ = try await atScene { try $0.moved(signIn, "shows") { $0.stepType == "displayCode" } }
    try await fprintd.enrol(user: NSUserName(), finger: "left-thumb", print: Self.second)
    let refused = try await atScene { try $0.start("authenticate", visit) }
    #expect(
      refused.failure == ["local_auth_failed", "DOMAIN_STATE_CHANGED", "9006"], "\(refused.text)")
    #expect(try await atScene { try $0.requests("otpGenerate") } == 1)
    // Who ended the daemon is asked anew.
    let after = try await atScene { try $0.restarted() }
    let flow = try await unblocking { try after.registering(.bob, authType: "biometric") }
    #expect(flow.isScanning, "\(flow.text)")
  }

  @Test("a daemon that dies while the reader waits asks for the finger again, and signs up once")
  func killed() async throws {
    let flow = try await scanning()
    let after = try await atScene { try $0.restarted() }
    let asked = try await unblocking {
      try after.moved(flow, "scans again") { $0.isScanning && $0.problem[0] == "interrupted" }
    }
    try await touch(Self.finger)
    let end = try await unblocking { try after.app.finished(asked) }
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try await atScene { try $0.requests("users") } == 1)
  }
}

/// Machines on which no finger can be asked for.
@Suite(
  "BSA without a finger", .mayBlock, .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct BSANoFingerTests {
  private func registering(_ fprintd: FprintdUnderTest) async throws -> JSONValue {
    try await unblocking {
      let scene = try BSAScene(reader: fprintd)
      let end = try scene.registering(authType: "biometric")
      guard try scene.requests("users") == 0 else { throw TestTrouble("it was sent") }
      return end
    }
  }

  @Test("no reader: BIOMETRIC_NOT_SUPPORT_HARDWARE, 9003, and no passcode in its place")
  func noReader() async throws {
    let end = try await registering(FprintdUnderTest.start(withService: false))
    #expect(
      end.failure == ["local_auth_failed", "BIOMETRIC_NOT_SUPPORT_HARDWARE", "9003"],
      "\(end.text)")
  }

  @Test("a reader, and no finger enrolled: BIOMETRIC_NOT_ENROLLED_DEVICE, 9004")
  func notEnrolled() async throws {
    let end = try await registering(FprintdUnderTest.start())
    #expect(
      end.failure == ["local_auth_failed", "BIOMETRIC_NOT_ENROLLED_DEVICE", "9004"], "\(end.text)")
  }
}
