import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Fingers at the real fprintd", .mayBlock, .enabled(if: FprintdUnderTest.isPossible, noFprintd),
  .timeLimit(.minutes(10)))
struct FingerTests {
  @Test("a match is the end, and tells when it was")
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

  @Test(
    "five wrong ones in a row, over all flows, lock the reader; a restart changes nothing",
    .ownProcess)
  func lockOut() async throws {
    var scene = try await LocalAuthScene.withFinger()
    try scene.setPasscode()
    var flow = try scene.authenticate()
    for _ in 1...3 {
      try await scene.touch(LocalAuthScene.stranger)
      flow = try scene.moved(flow)
    }
    scene = try scene.killed()
    flow = try scene.authenticate()
    for _ in 1...2 {
      try await scene.touch(LocalAuthScene.stranger)
      flow = try scene.moved(flow)
    }
    #expect(flow.word == "BIOMETRIC_LOCK_OUT", "\(flow.text)")
    scene = try scene.killed()
    flow = try scene.authenticate()
    #expect(flow.word == "BIOMETRIC_LOCK_OUT")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("locked for another") == true)
    #expect(try scene.status()["biometric"]?["state"] == "lockedOut")

    flow = try scene.type(LocalAuthScene.passcode, try scene.authenticate("passcode"))
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    #expect(try scene.status()["biometric"]?["state"] == "ready", "a right passcode opens it")
  }

  @Test("the reader's hints are told while it goes on")
  func hints() async throws {
    let scene = try await LocalAuthScene.withFinger()
    var flow = try scene.authenticate()
    try await scene.fprintd?.script("RETRY 1")
    flow = try scene.moved(flow)
    #expect(flow.problem == "scan_again" && flow.isScanning, "\(flow.text)")
    #expect(flow["problem"]?["message"] == "that was too short: swipe again")
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(flow)["status"] == "succeeded")
  }

  @Test("no prints are BIOMETRIC_NOT_ENROLLED_DEVICE")
  func notEnrolled() async throws {
    let scene = try LocalAuthScene(try await FprintdUnderTest.start())
    #expect(try scene.authenticate().word == "BIOMETRIC_NOT_ENROLLED_DEVICE")
    #expect(try scene.status()["biometric"] == ["state": "notEnrolled", "fingers": 0])
  }

  @Test(
    "other fingers than at the last success are DOMAIN_STATE_CHANGED, where that is checked",
    .ownProcess)
  func changed() async throws {
    let scene = try await LocalAuthScene.withFinger()
    var flow = try scene.authenticate(checksFingers: true)
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(flow)["status"] == "succeeded")
    try await scene.fprintd?.enrol(
      user: LocalAuthScene.user, finger: "left-thumb", print: LocalAuthScene.second)
    #expect(try scene.authenticate(checksFingers: true).word == "DOMAIN_STATE_CHANGED")
    #expect(try scene.killed().authenticate(checksFingers: true).word == "DOMAIN_STATE_CHANGED")
    flow = try scene.killed().authenticate()
    #expect(flow.isScanning, "\(flow.text)")
  }

  @Test("a reader that is pulled out half-way is BIOMETRIC_NOT_AVILABLE")
  func unplugged() async throws {
    let scene = try await LocalAuthScene.withFinger()
    let flow = try scene.authenticate()
    try await scene.fprintd?.unplug()
    let end = try scene.ended(flow)
    #expect(end.word == "BIOMETRIC_NOT_AVILABLE", "\(end.text)")
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

  @Test("a bus that is gone is BIOMETRIC_NOT_AVILABLE, and is found when it is back")
  func bus() async throws {
    let scene = try await LocalAuthScene.withFinger()
    try await scene.fprintd?.killBus()
    #expect(try scene.authenticate().word == "BIOMETRIC_NOT_AVILABLE")
    try await scene.fprintd?.startAgain()
    let flow = try scene.authenticate()
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(flow)["status"] == "succeeded")
  }

  @Test("a second flow at the reader is BIOMETRIC_NOT_AVILABLE; the first one goes on")
  func inUse() async throws {
    let scene = try await LocalAuthScene.withFinger()
    let first = try scene.authenticate()
    let second = try scene.ended(try scene.authenticate())
    #expect(second.word == "BIOMETRIC_NOT_AVILABLE", "\(second.text)")
    #expect(second["failure"]?["message"] == "the fingerprint reader is in use")
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(first)["status"] == "succeeded")
  }

  @Test("cancel and fallback end it while the reader waits, and let it go")
  func leaves() async throws {
    let scene = try await LocalAuthScene.withFinger()
    // Who enrolled the finger has released the reader already.
    let before = scene.fprintd?.releases ?? 0
    let cancelled = try scene.answer(try await claimed(scene), ["cancel": true])
    #expect(cancelled.word == "USER_CANCEL" && cancelled["failure"]?["reason"] == "cancelled")
    try await free(scene, releases: before + 1)
    let other = try scene.answer(try await claimed(scene), ["fallback": true])
    #expect(other.word == "USER_FALLBACK", "\(other.text)")
    try await free(scene, releases: before + 2)
    let flow = try await claimed(scene)
    _ = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null])
    try await free(scene, releases: before + 3)
    let last = try scene.authenticate()
    try await scene.touch(LocalAuthScene.finger)
    #expect(try scene.ended(last)["status"] == "succeeded")
  }

  /// A flow whose scan has begun for certain: the reader has said something.
  private func claimed(_ scene: LocalAuthScene) async throws -> JSONValue {
    let flow = try scene.authenticate()
    try await scene.fprintd?.script("RETRY 0")
    return try scene.moved(flow)
  }

  private func free(_ scene: LocalAuthScene, releases: Int) async throws {
    try await unblocking {
      try eventually("the reader is free") { scene.fprintd?.releases ?? 0 >= releases }
    }
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

  @Test("no reader on the bus is BIOMETRIC_NOT_SUPPORT_HARDWARE, or asks for the passcode")
  func noReader() async throws {
    let scene = try LocalAuthScene(try await FprintdUnderTest.start(withService: false))
    #expect(try scene.authenticate().word == "BIOMETRIC_NOT_SUPPORT_HARDWARE")
    #expect(try scene.authenticate(orPasscode: true).word == "PASSCODE_NOT_ENROLLED_DEVICE")
    try scene.setPasscode()
    let flow = try scene.authenticate(orPasscode: true)
    #expect(flow["step"]?["methods"] == ["passcode"] && flow.problem == "biometric_failed")
    #expect(try scene.type(LocalAuthScene.passcode, flow)["status"] == "succeeded")
    #expect(try scene.status()["biometric"] == ["state": "noReader"])
  }
}
