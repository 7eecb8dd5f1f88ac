import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The seed's "select an account … and apply fingerprint", against the real fprintd with its virtual
/// reader.
@Suite(
  "Freedom ID and the fingerprint reader", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(
    if: FprintdUnderTest.isPossible,
    "SKIPPED, NOT PROVEN: fprintd, dbus-daemon or python3-dbusmock is missing"))
struct FreedomFingerprintTests {
  private static let known = "SCAN right-index"
  private static let unknown = "SCAN somebody-else"

  private let fprintd: FprintdUnderTest
  private let scene: FreedomScene

  init() async throws {
    let fprintd = try await FprintdUnderTest.start()
    try await fprintd.enrol(
      user: NSUserName(), finger: "right-index-finger", print: "right-index")
    scene = try await unblocking { try FreedomScene(reader: fprintd) }
    self.fprintd = fprintd
  }

  /// What blocks does so on a thread of its own.
  private func atScene(
    _ body: @escaping @Sendable (FreedomScene) throws -> JSONValue
  ) async throws -> JSONValue {
    try await unblocking { [scene] in try body(scene) }
  }

  /// An authorization that waits for a finger.
  private func scanning() async throws -> JSONValue {
    let flow = try await atScene { try $0.standing(at: "localAuth") }
    #expect(flow["step"]?["scanning"] == true, "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["biometric", "passcode"])
    return flow
  }

  private func moved(
    _ flow: JSONValue, until holds: @escaping @Sendable (JSONValue) -> Bool
  ) async throws -> JSONValue {
    try await atScene { try $0.moved(flow, "has moved on", until: holds) }
  }

  /// A flow that asks for the passcode and no finger, and why; then the passcode leads on.
  private func onByPasscode(_ flow: JSONValue, _ word: String) async throws {
    let asked = try await moved(flow) { $0["step"]?["methods"] == ["passcode"] }
    #expect(asked.problem == "biometric_failed", "\(asked.text)")
    #expect(asked["problem"]?["provider"]?["code"]?.stringValue == word, "\(asked.text)")
    #expect(asked["step"]?["scanning"] != true)
    let end = try await atScene { try $0.walk(asked) }
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("a finger that is known leads on to the permissions, and nobody typed anything")
  func match() async throws {
    let flow = try await scanning()
    try await fprintd.script(Self.known)
    let asked = try await moved(flow) { $0.stepType == "consent" }
    #expect(asked.state == "permissions" && asked.problem == nil, "\(asked.text)")
    let end = try await atScene { try $0.walk(asked) }
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    // The reader is free for others again.
    _ = try await fprintd.holder(user: NSUserName())
  }

  @Test("one that the reader could not see well is asked for again, one that is unknown is counted")
  func again() async throws {
    let flow = try await scanning()
    try await fprintd.script("RETRY 0")
    let hinted = try await moved(flow) { $0.problem == "scan_again" }
    #expect(hinted["step"]?["scanning"] == true, "\(hinted.text)")
    try await fprintd.script(Self.unknown)
    let missed = try await moved(hinted) { $0.problem == "not_recognised" }
    #expect(missed["step"]?["scanning"] == true, "\(missed.text)")
    try await fprintd.script(Self.known)
    _ = try await moved(missed) { $0.stepType == "consent" }
  }

  @Test("three unknown fingers: the passcode")
  func misses() async throws {
    var flow = try await scanning()
    for left in ["2 attempts left", "1 attempt left"] {
      try await fprintd.script(Self.unknown)
      flow = try await moved(flow) {
        $0["problem"]?["message"]?.stringValue?.hasSuffix(left) == true
      }
      #expect(flow.problem == "not_recognised" && flow["step"]?["scanning"] == true)
    }
    try await fprintd.script(Self.unknown)
    try await onByPasscode(flow, "AUTH_FAILED")
  }

  @Test("a reader that is pulled out half-way: the passcode")
  func unplugged() async throws {
    let flow = try await scanning()
    try await fprintd.script("RETRY 0")
    let hinted = try await moved(flow) { $0.problem == "scan_again" }
    try await fprintd.unplug()
    try await onByPasscode(hinted, "BIOMETRIC_NOT_AVILABLE")
  }

  @Test("the passcode may be typed though the reader waits; then the reader is let go")
  func passcodeInstead() async throws {
    let flow = try await scanning()
    let asked = try await atScene { try $0.prove(at: flow) }
    #expect(asked.stepType == "consent", "\(asked.text)")
    _ = try await fprintd.holder(user: NSUserName())
  }

  @Test("cancelled at the reader: the Home Screen, and the reader is let go")
  func cancelled() async throws {
    let flow = try await scanning()
    let home = try await atScene { try $0.submit(["type": "localAuth", "cancel": true], to: flow) }
    #expect(home.state == "home" && home.stepType == "choose", "\(home.text)")
    _ = try await fprintd.holder(user: NSUserName())
  }

  @Test("a daemon that dies while the reader waits asks for the finger again")
  func killed() async throws {
    let flow = try await scanning()
    let after = try await unblocking { [scene] in
      try scene.daemon.restart()
      return try scene.again()
    }
    let asked = try await unblocking {
      try after.moved(flow, "scans again") { $0["step"]?["scanning"] == true }
    }
    try await fprintd.script(Self.known)
    let granting = try await unblocking {
      try after.moved(asked, "has moved on") { $0.stepType == "consent" }
    }
    #expect(granting.state == "permissions", "\(granting.text)")
  }
}

/// Machines on which no finger can be asked for.
@Suite(
  "Freedom ID without a fingerprint", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(
    if: FprintdUnderTest.isPossible,
    "SKIPPED, NOT PROVEN: fprintd, dbus-daemon or python3-dbusmock is missing"))
struct FreedomNoFingerprintTests {
  private func expectPasscode(_ fprintd: FprintdUnderTest, _ word: String) async throws {
    let (asked, end) = try await unblocking {
      let scene = try FreedomScene(reader: fprintd)
      let asked = try scene.standing(at: "localAuth")
      return (asked, try scene.walk(asked))
    }
    #expect(asked["step"]?["methods"] == ["passcode"], "\(asked.text)")
    #expect(asked["problem"]?["provider"]?["code"]?.stringValue == word, "\(asked.text)")
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("no reader: the passcode")
  func noReader() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    try await expectPasscode(fprintd, "BIOMETRIC_NOT_SUPPORT_HARDWARE")
  }

  @Test("a reader, and no finger enrolled: the passcode")
  func notEnrolled() async throws {
    try await expectPasscode(FprintdUnderTest.start(), "BIOMETRIC_NOT_ENROLLED_DEVICE")
  }

  @Test("neither a reader nor a passcode: configurationError, and usherctl is named that sets one")
  func nothing() async throws {
    let fprintd = try await FprintdUnderTest.start(withService: false)
    let end = try await unblocking {
      let scene = try FreedomScene(passcode: nil, reader: fprintd)
      let home = try scene.walk(scene.authorize(["read.firstname"])) { $0.state == "home" }
      return try scene.walk(home)
    }
    #expect(
      end.failure == ["local_auth_failed", "configurationError", "PASSCODE_NOT_ENROLLED_DEVICE"],
      "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("usherctl") == true)
  }
}
