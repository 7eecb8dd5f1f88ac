import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's six network calls and the local authentication, over the daemon's socket.
@Suite("BSA registration by the SDK's calls", .mayBlock, .timeLimit(.minutes(10)))
struct BSARegistrationTests {
  private static let app: JSONValue = ["clientKey": .string(BSAFixture.clientKey)]

  private let fixture: BSAFixture
  private let alice = BSAPerson.alice

  init() throws { fixture = try BSAFixture() }

  private func isDuplicate(_ channel: String) throws -> JSONValue {
    try fixture.app.call(
      "registration.checkDuplicate",
      [
        "provider": "bsa", "verifyType": channel == "sms" ? "phoneNumber" : "email",
        "verifyData": .string(alice.contact(channel)),
      ])
  }

  private func isFree() throws -> JSONValue {
    try fixture.app.call(
      "registration.checkUserKey", ["provider": "bsa", "userKey": .string(alice.userKey)])
  }

  private func authenticate() throws -> JSONValue {
    let flow = try fixture.app.startFlow(
      "local", "authenticate",
      params: ["localAuthType": "passcode", "reason": "register with BSA"])
    return try fixture.prove(flow)
  }

  @Test(
    "the SDK's registration calls, in the documented order, register a person at BSA",
    arguments: [("email", "mail", "mailVerify"), ("sms", "sms", "smsVerify")])
  func inOrder(channel: String, sending: String, verifying: String) throws {
    // i. (the numerals are the steps of the SDK's documentation)
    #expect(try isDuplicate(channel) == ["duplicate": false])
    // ii.
    let sent = try fixture.verifyContact(
      by: channel, Self.app + ["bundleIdentifier": .string(BSAFixture.appPackage)])
    #expect(sent.state == "otpSent" && sent.stepType == "enterCode", "\(sent.text)")
    #expect(sent["step"]?["purpose"] == "otp" && sent["step"]?["digits"] == 6)
    #expect(sent["step"]?["channel"] == .string(channel))
    let masked = channel == "sms" ? "+••••••••••23" : "a•••@e•••"
    #expect(sent["step"]?["maskedTarget"] == .string(masked), "\(sent.text)")
    #expect(try fixture.messages().map { $0["channel"] } == [.string(channel)])
    // iii.
    let verified = try fixture.enter(fixture.number(to: alice.contact(channel)), to: sent)
    #expect(verified["status"] == "succeeded", "\(verified.text)")
    let token = try #require(verified["result"]?["disposeToken"]?.stringValue)
    #expect(token.hasPrefix("dsp_"))
    // iv.
    #expect(try isFree() == ["available": true])
    // vi.
    #expect(try authenticate()["result"]?["method"] == "passcode")
    // vii.
    let end = try fixture.start(
      "register",
      alice.params() + Self.app + [
        "disposeToken": .string(token), "verifyBy": .string(channel), "pushToken": "fcm-1",
        "appVersion": "1.1.1", "appPackage": .string(BSAFixture.appPackage),
      ])
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try fixture.requestsInOrder() == ["duplicateCheck", sending, verifying, "idCheck", "users"])
    try expectRegistered(end)
    #expect(try isDuplicate(channel) == ["duplicate": true])
    #expect(try isFree() == ["available": false])
  }

  /// Checks BSA's registration, and the account's attributes that the SDK's load functions return.
  private func expectRegistered(_ end: JSONValue) throws {
    let known = try #require(try fixture.registration(alice.userKey))
    #expect(known["name"] == "Alice Adams" && known["email"] == "alice@example.com")
    #expect(known["phoneNum"] == "+447700900123" && known["authType"] == 4)
    #expect(known["appPackage"] == .string(BSAFixture.appPackage))
    #expect(known["appVersion"] == "1.1.1" && known["hasPushToken"] == true)
    let result = try #require(end["result"])
    #expect(result["userKey"] == "alice.01")
    #expect(result["deviceId"] == known["deviceId"])
    #expect(UUID(uuidString: result["deviceId"]?.stringValue ?? "") != nil)
    let account = try fixture.account(result["account"])
    #expect(account["subject"] == "alice.01" && account["label"] == "alice.01")
    #expect(
      account["attributes"] == [
        "userKey": "alice.01", "deviceId": result["deviceId"] ?? .null,
        "localAuthType": "PASSCODE", "pushToken": "fcm-1",
      ])
    #expect(try fixture.accounts().count == 1)
  }

  @Test("BSA register without a disposeToken asks for an OTP, then for the passcode, then signs up")
  func alone() throws {
    let sent = try fixture.start("register", alice.params())
    #expect(sent.state == "otpSent" && sent["step"]?["channel"] == "email", "\(sent.text)")
    let asked = try fixture.enter(fixture.number(), to: sent)
    #expect(asked.state == "localAuth" && asked.stepType == "localAuth", "\(asked.text)")
    #expect(asked["step"]?["methods"] == ["passcode"])
    #expect(asked["step"]?["reason"] == "register alice.01 at bsa")
    #expect(try fixture.requests("users") == 0)
    let end = try fixture.prove(asked)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try fixture.states(of: end) == ["sending", "otpSent", "verifying", "localAuth", "signingUp"])
  }

  @Test("a BSA account and an unused disposeToken survive a restart of the daemon")
  func outlives() throws {
    let token = try fixture.disposeToken(of: .bob)
    let end = try fixture.registered()
    let before = try fixture.account(end["result"]?["account"])
    let after = try fixture.restarted()
    #expect(try after.account(end["result"]?["account"]) == before)
    let other = try after.start(
      "register", BSAPerson.bob.params() + ["disposeToken": .string(token)])
    // A local authentication from before the restart does not count.
    #expect(other.stepType == "localAuth", "\(other.text)")
    #expect(try after.prove(other)["status"] == "succeeded")
  }
}
