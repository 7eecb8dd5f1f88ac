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
    guard end["status"] == "succeeded" else { throw TestError("not there: \(end.text)") }
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

  @Test("a fresh local/authenticate passes the step over, in the way that is registered only")
  func passedOver() throws {
    try authenticate(scene)
    let other = try scene.registering(authType: "biometric")
    #expect(other.failure[1] == "BIOMETRIC_NOT_AVILABLE", "\(other.text)")
    let flow = try scene.registering()
    #expect(flow["status"] == "succeeded", "\(flow.text)")
  }

  @Test("one that is older than local_auth_seconds is asked for anew; one that is not, is good")
  func old() throws {
    let clock = MovableClock()
    let scene = try BSAScene(["local_auth_seconds": "120"], clock: clock)
    try authenticate(scene)
    let token: JSONValue = .string(try scene.disposeToken())
    try clock.pass(121)
    let flow = try scene.start(
      "register", BSAPerson.alice.params() + ["disposeToken": token])
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    #expect(try scene.prove(flow)["status"] == "succeeded")
    // The proof is 20 seconds old, whatever the wall clock shows.
    try clock.pass(141)
    try clock.set(ahead: -9)
    #expect(try scene.registering(.bob)["status"] == "succeeded")
  }
}
