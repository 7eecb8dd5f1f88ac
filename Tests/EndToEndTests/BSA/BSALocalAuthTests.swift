import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Local authentication comes before the sign-up, by the same program, and is not old.
@Suite(
  "BSA: local authentication before the sign-up", .mayBlock, .timeLimit(.minutes(10)))
struct BSALocalAuthTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene() }

  /// The person proves to be there in a flow of its own.
  private func authenticate(_ scene: BSAScene) throws {
    let flow = try scene.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let end = try scene.prove(flow)
    guard end["status"] == "succeeded" else { throw TestTrouble("not there: \(end.text)") }
  }

  @Test("sign-up before local authentication: the flow stands at localAuth and sends nothing")
  func before() throws {
    let flow = try scene.registering()
    #expect(flow.state == "localAuth" && flow.stepType == "localAuth", "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["passcode"] && !flow.isScanning)
    #expect(try scene.requests("users") == 0)
    let wrong = try scene.prove(flow, by: "not the passcode")
    #expect(
      wrong.problem == ["wrong_passcode", nil] && wrong.state == "localAuth", "\(wrong.text)")
    #expect(try scene.requests("users") == 0)
    #expect(try scene.prove(wrong)["status"] == "succeeded")
  }

  @Test(
    "who does not want to: USER_CANCEL or USER_FALLBACK, and nothing is sent",
    arguments: [
      ("cancel", "cancelled", "USER_CANCEL"), ("fallback", "local_auth_failed", "USER_FALLBACK"),
    ])
  func unwilling(input: String, reason: String, word: String) throws {
    let flow = try scene.registering()
    let end = try scene.submit(["type": "localAuth", input: true], to: flow)
    #expect(end.failure == [reason, word, nil], "\(end.text)")
    #expect(try scene.requests("users") == 0)
    #expect(try scene.accounts().isEmpty)
  }

  @Test("a fresh local/authenticate passes the step over")
  func passedOver() throws {
    try authenticate(scene)
    let flow = try scene.registering()
    #expect(flow["status"] == "succeeded", "\(flow.text)")
  }

  @Test("one by passcode is none by finger")
  func otherWay() throws {
    try authenticate(scene)
    let flow = try scene.registering(authType: "biometric")
    #expect(flow.failure[1] == "BIOMETRIC_NOT_AVILABLE", "\(flow.text)")
  }

  @Test("one that is older than local_auth_seconds is asked for anew; one that is not, is good")
  func old() throws {
    let clock = MovableClock()
    let scene = try BSAScene(["local_auth_seconds": "30"], clock: clock)
    try authenticate(scene)
    let token: JSONValue = .string(try scene.disposeToken())
    try clock.pass(31)
    let flow = try scene.start(
      "register", BSAPerson.alice.params() + ["disposeToken": token])
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    #expect(try scene.prove(flow)["status"] == "succeeded")
    // From the clock's new time on.
    try clock.pass(51)
    #expect(try scene.registering(.bob)["status"] == "succeeded")
  }

  @Test("a local authentication keeps its age when the wall clock is set back")
  func setBack() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    try authenticate(scene)
    try clock.set(ahead: -60)
    let flow = try scene.registering()
    #expect(flow["status"] == "succeeded", "\(flow.text)")
  }

  @Test("one that becomes too old while the sign-up waits to be sent again is asked for anew")
  func oldMeanwhile() throws {
    let clock = MovableClock()
    let scene = try BSAScene(["local_auth_seconds": "30"], clock: clock)
    // Not taken, and to be asked again after three seconds.
    try scene.spoil("users", ["status": 429, "headers": ["Retry-After": "3"]], times: 1)
    let sent = try scene.prove(scene.registering(), waitMs: 0)
    try eventually("the sign-up is refused") { try scene.requests("users") == 1 }
    try clock.pass(40)
    let asked = try scene.moved(sent, "asks anew") { $0.stepType == "localAuth" }
    #expect(asked.state == "localAuth", "\(asked.text)")
    #expect(try scene.requests("users") == 1)
    #expect(try scene.prove(asked)["status"] == "succeeded")
  }
}
