import JSONRPC
import Testing
import UsherTestKit

/// `reregisterDevice`: this machine's device replaces the registered one.
@Suite("BSA's reregisterDevice", .mayBlock, .timeLimit(.minutes(10)))
struct SignDeviceTests {
  /// Starts `reregisterDevice` and enters the OTP; returns the flow at `localAuth`, or at its end.
  private func verified(_ fixture: BSAFixture, by channel: String = "email") throws -> JSONValue {
    let flow = try fixture.start(
      "reregisterDevice", BSAPerson.alice.deviceParams(by: channel))
    guard flow.stepType == "enterCode" else {
      throw TestError("the flow does not ask for the OTP: \(flow.text)")
    }
    return try fixture.enter(fixture.number(to: BSAPerson.alice.contact(channel)), to: flow)
  }

  @Test("BSA reregisterDevice on another machine voids the TOTP codes and sign-ins of the old one")
  func anotherMachine() throws {
    let clock = MovableClock()
    let old = try BSAFixture(clock: clock)
    let account = try old.registered().account
    let first = try old.registration("alice.01")
    let new = try BSAFixture(sandbox: old.sandbox, clock: clock)
    let flow = try new.start("reregisterDevice", BSAPerson.alice.deviceParams())
    #expect(flow.state == "otpSent" && flow["step"]?["channel"] == "email", "\(flow.text)")
    let asked = try new.enter(new.number(to: "alice@example.com"), to: flow)
    #expect(asked.state == "localAuth" && asked["step"]?["methods"] == ["passcode"])
    let end = try new.app.finished(new.prove(asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try new.states(of: end) == ["sending", "otpSent", "verifying", "localAuth", "signingUp"])

    let second = try #require(try new.registration("alice.01"))
    #expect(second["deviceId"] == end["result"]?["deviceId"] && second["authType"] == 4)
    #expect(second["deviceId"] != first?["deviceId"], "each machine has its own device id")
    let attributes = try new.account(end.account)["attributes"]
    #expect(attributes?["deviceId"] == second["deviceId"])
    #expect(attributes?["localAuthType"] == "PASSCODE" && attributes?["userKey"] == "alice.01")

    try clock.advance(toNextStepOf: 60)
    let oldCode = try old.code(of: account).code
    let newCode = try new.code(of: end.account).code
    #expect(newCode == (try new.numberOfSecret()))
    try #require(oldCode != newCode, "two codes are equal by chance once in a million runs")
    #expect(try old.refusalAtSite("totp", number: oldCode) == "3005")
    #expect(try old.refusalAtSite("totp", number: newCode) == nil)
    let pushed = try old.app.finished(old.authenticate("push"))
    #expect(pushed.failure == ["provider_rejected", "3007", nil], "\(pushed.text)")
    let waiting = try #require(try new.list("signIns").last?["id"]?.stringValue)
    try new.leave(waiting)
    try new.signedIn()
  }

  @Test("BSA reregisterDevice on the same machine keeps the account and replaces its TOTP secret")
  func sameMachine() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(clock: clock)
    let account = try fixture.registered().account
    try fixture.signedIn()
    let token = try fixture.token(of: account)
    try clock.advance(toNextStepOf: 60)
    let before = try fixture.code(of: account).code
    // No localAuth step: the person authenticated a moment ago.
    let end = try fixture.app.finished(verified(fixture, by: "sms"))
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    let after = try fixture.code(of: account).code
    #expect(after == (try fixture.numberOfSecret()))
    #expect(after != before, "two codes are equal by chance once in a million runs")
    #expect(try fixture.refusalAtSite("totp", number: before) == "3005")
    #expect(try fixture.refusalAtSite("totp", number: after) == nil)
    #expect(
      try fixture.token(of: account) == token,
      "reregisterDevice does not change the sign-in's token")
    #expect(try fixture.accounts().count == 1)
  }

  @Test("BSA reregisterDevice with a disposeToken requires authType and sends no OTP")
  func handle() throws {
    let fixture = try BSAFixture()
    let account = try fixture.registered().account
    let handle: JSONValue = ["disposeToken": .string(try fixture.disposeToken())]
    let end = try fixture.start("reregisterDevice", BSAPerson.alice.deviceParams() + handle)
    #expect(end.failure == ["invalid_request", "2002", nil], "\(end.text)")
    let asked = try fixture.start(
      "reregisterDevice", BSAPerson.alice.deviceParams() + handle + ["authType": "passcode"])
    // No localAuth step: the person authenticated a moment ago, for this client.
    #expect(asked["status"] == "succeeded" && asked.account == account, "\(asked.text)")
    #expect(try fixture.requests("sendOtp") == 0)
    let again = try fixture.start(
      "reregisterDevice", BSAPerson.alice.deviceParams() + handle + ["authType": "passcode"])
    #expect(
      again.failure == ["provider_rejected", "3006", nil],
      "a disposeToken can be used once: \(again.text)")
  }

  @Test("cancelling BSA reregisterDevice at localAuth leaves the old device registered")
  func unproven() throws {
    let fixture = try BSAFixture()
    let new = try BSAFixture(sandbox: fixture.sandbox)
    try fixture.registered()
    let flow = try verified(new)
    let end = try new.submit(["type": "localAuth", "cancel": true], to: flow)
    #expect(end.failure == ["cancelled", "USER_CANCEL", nil], "\(end.text)")
    #expect(try new.requests("device") == 0)
    try fixture.signedIn()
  }

  @Test("BSA reregisterDevice with another person's name fails with 2008, and no OTP is sent")
  func wrongPerson() throws {
    let fixture = try BSAFixture()
    try fixture.registered()
    let sent = try fixture.messages().count
    let end = try fixture.start(
      "reregisterDevice", BSAPerson.alice.deviceParams() + ["name": "Bob Brown"])
    #expect(end.failure == ["provider_rejected", "2008", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try fixture.messages().count == sent)
  }
}
