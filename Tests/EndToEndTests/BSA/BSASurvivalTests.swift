import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle: what was typed is asked for again, and a sign-up is never repeated.
@Suite("BSA and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct BSASurvivalTests {
  private let scene: BSAScene
  private let alice = BSAPerson.alice

  init() throws { scene = try BSAScene() }

  @Test(
    "a kill while a number is asked for: it is not asked for again, and the person decides",
    arguments: [false, true])
  func whileSending(processed: Bool) throws {
    let flow = try scene.holding("mail", processed: processed) {
      try scene.begin(
        "verifyContact", ["sendType": "email", "sendTarget": .string(alice.email)])
    }
    let after = try scene.restarted()
    var asked = try after.moved(flow, "asks for the number") { $0.state == "otpSent" }
    #expect(
      asked.problem == ["may_have_been_sent", nil] && asked.stepType == "enterCode",
      "\(asked.text)")
    #expect(try scene.requests("mail") == 1)
    #expect(try scene.messages().count == (processed ? 1 : 0))
    if !processed {
      // No number came: only the person asks for another.
      asked = try after.resent(asked)
      #expect(asked.problem == [nil, nil], "\(asked.text)")
      #expect(try scene.requests("mail") == 2 && scene.messages().count == 1)
    }
    #expect(try after.enter(scene.number(), to: asked)["status"] == "succeeded")
  }

  @Test("between the number and its answer: it is typed once more", arguments: [false, true])
  func whileVerifying(processed: Bool) throws {
    let flow = try scene.verifyContact()
    _ = try scene.holding("mailVerify", processed: processed) {
      try scene.enter(scene.number(), to: flow, waitMs: 0)
    }
    let after = try scene.restarted()
    let asked = try after.moved(flow, "asks again") { $0.problem[0] != nil }
    #expect(
      asked.problem == ["interrupted", nil] && asked["step"] == flow["step"], "\(asked.text)")
    #expect(try scene.requests("mailVerify") == 1)
    var end = try after.enter(scene.number(), to: asked)
    if processed {
      // The provider has taken it, and tells nobody twice: another leads on.
      #expect(end.problem == ["code_expired", "3006"], "\(end.text)")
      end = try after.resent(end)
      end = try after.enter(scene.number(), to: end)
    }
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("before the passcode: it is asked for, and the sign-up is sent once")
  func beforePasscode() throws {
    let flow = try scene.registering()
    let after = try scene.restarted()
    let asked = try after.flow(flow)
    #expect(asked["step"] == flow["step"] && asked.state == "localAuth", "\(asked.text)")
    #expect(try after.prove(asked)["status"] == "succeeded")
    #expect(try scene.requests("users") == 1)
  }

  @Test("at the sign-up: provider_unreachable, which says so; what was done there stays done")
  func atSignUp() throws {
    let end = try killedAtSignUp(processed: true)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("may be registered") && message.contains("reregisterDevice"))
    #expect(end["failure"]?["retryable"] == false)
    let after = try scene.again()
    #expect(try scene.requests("users") == 1)
    #expect(try after.accounts().isEmpty)
    // The person is registered, with a secret that nobody here knows.
    let again = try after.prove(after.registering())
    #expect(again.failure == ["provider_rejected", "2009", nil], "\(again.text)")
    let account = try after.reregistered()
    #expect(account["subject"] == "alice.01", "\(account.text)")
    #expect(account["attributes"]?["deviceId"] == (try scene.registration("alice.01"))?["deviceId"])
    #expect(try after.app.call("totp.list")["accounts"]?.arrayValue?.count == 1)
  }

  @Test("at the sign-up that the provider has not seen: the person registers once more")
  func atUnseenSignUp() throws {
    let end = try killedAtSignUp(processed: false)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    let after = try scene.again()
    #expect(try after.prove(after.registering())["status"] == "succeeded")
    #expect(try scene.list("registrations").count == 1)
  }

  private func killedAtSignUp(processed: Bool) throws -> JSONValue {
    let flow = try scene.registering()
    _ = try scene.holding("users", processed: processed) { try scene.prove(flow, waitMs: 0) }
    return try scene.restarted().app.finished(flow)
  }

  @Test("while a device is replaced: it is repeated, and the person has one device")
  func whileReplacing() throws {
    try scene.registerElsewhere([
      "userKey": "alice.01", "name": "Alice Adams", "email": .string(alice.email), "authType": 4,
    ])
    var flow = try scene.start(
      "reregisterDevice",
      [
        "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email",
        "verifyData": .string(alice.email),
      ])
    flow = try scene.enter(scene.number(), to: flow)
    _ = try scene.holding("device") { try scene.prove(flow, waitMs: 0) }
    let after = try scene.restarted()
    let end = try after.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("device") == 2)
  }
}
