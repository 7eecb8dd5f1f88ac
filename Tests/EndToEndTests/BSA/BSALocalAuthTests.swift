import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A sign-up needs a recent local authentication for the same program.
@Suite(
  "Local authentication before a BSA sign-up", .mayBlock, .timeLimit(.minutes(10)))
struct BSALocalAuthTests {
  private let fixture: BSAFixture

  init() throws { fixture = try BSAFixture() }

  /// Authenticates by passcode in a flow `local`/`authenticate`.
  private func authenticate(_ fixture: BSAFixture) throws {
    let flow = try fixture.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let end = try fixture.prove(flow)
    guard end["status"] == "succeeded" else {
      throw TestError("local authentication did not succeed: \(end.text)")
    }
  }

  @Test("BSA register waits at localAuth and sends no sign-up before the right passcode is entered")
  func before() throws {
    let flow = try fixture.registering()
    #expect(flow.state == "localAuth" && flow.stepType == "localAuth", "\(flow.text)")
    #expect(flow["step"]?["methods"] == ["passcode"] && !flow.isScanning)
    #expect(try fixture.requests("users") == 0)
    let wrong = try fixture.prove(flow, by: "not the passcode")
    #expect(
      wrong.problem == ["wrong_passcode", nil] && wrong.state == "localAuth", "\(wrong.text)")
    #expect(try fixture.requests("users") == 0)
    #expect(try fixture.prove(wrong)["status"] == "succeeded")
  }

  @Test("a recent local/authenticate makes BSA register skip localAuth, for the same authType only")
  func passedOver() throws {
    try authenticate(fixture)
    let other = try fixture.registering(authType: "biometric")
    #expect(other.failure[1] == "BIOMETRIC_NOT_AVILABLE", "\(other.text)")
    let flow = try fixture.registering()
    #expect(flow["status"] == "succeeded", "\(flow.text)")
  }

  @Test(
    "a local authentication for BSA counts for local_auth_seconds, whatever the wall clock says")
  func old() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(["local_auth_seconds": "120"], clock: clock)
    try authenticate(fixture)
    let token: JSONValue = .string(try fixture.disposeToken())
    try clock.pass(121)
    let flow = try fixture.start(
      "register", BSAPerson.alice.params() + ["disposeToken": token])
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    #expect(try fixture.prove(flow)["status"] == "succeeded")
    // The local authentication is 20 seconds old, whatever the wall clock shows.
    try clock.pass(141)
    try clock.set(ahead: -9)
    #expect(try fixture.registering(.bob)["status"] == "succeeded")
  }
}
