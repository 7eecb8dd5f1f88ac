import JSONRPC
import Testing
import UsherTestKit

/// This machine's device in place of a registered one.
@Suite("BSA: another device", .mayBlock, .timeLimit(.minutes(10)))
struct SignDeviceTests {
  private static func params(
    _ person: BSAPerson = .alice, by channel: String = "email", _ more: JSONValue = [:]
  ) -> JSONValue {
    [
      "userKey": .string(person.userKey), "name": .string(person.name),
      "verifyBy": .string(channel), "verifyData": .string(person.contact(channel)),
    ] + more
  }

  /// A flow where the person is to prove to be there, or at its end.
  private func verified(
    _ scene: BSAScene, by channel: String = "email", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let flow = try scene.start("reregisterDevice", Self.params(by: channel, more))
    guard flow.stepType == "enterCode" else { throw TestTrouble("no number: \(flow.text)") }
    return try scene.enter(
      scene.number(to: BSAPerson.alice.contact(channel)), to: flow)
  }

  /// The end; a person who was authenticated a moment ago is not asked again.
  private func proven(_ scene: BSAScene, _ flow: JSONValue) throws -> JSONValue {
    try scene.app.finished(flow.stepType == "localAuth" ? scene.prove(flow) : flow)
  }

  @discardableResult
  private func replaced(
    _ scene: BSAScene, by channel: String = "email", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    let end = try proven(scene, verified(scene, by: channel, more))
    guard end["status"] == "succeeded" else { throw TestTrouble("not replaced: \(end.text)") }
    return end
  }

  @Test("on another machine, as it was registered: the old one's codes and sign-ins are void")
  func anotherMachine() throws {
    let clock = MovableClock()
    let old = try BSAScene(clock: clock)
    let account = try old.registered().account
    let first = try old.registration("alice.01")
    let new = try BSAScene(sandbox: old.sandbox, clock: clock)
    let flow = try new.start("reregisterDevice", Self.params())
    #expect(flow.state == "otpSent" && flow["step"]?["channel"] == "email", "\(flow.text)")
    let asked = try new.enter(new.number(to: "alice@example.com"), to: flow)
    #expect(asked.state == "localAuth" && asked["step"]?["methods"] == ["passcode"])
    let end = try new.app.finished(new.prove(asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try new.states(of: end) == ["sending", "otpSent", "verifying", "localAuth", "signingUp"])

    let second = try #require(try new.registration("alice.01"))
    #expect(second["deviceId"] == end["result"]?["deviceId"] && second["authType"] == 4)
    #expect(second["deviceId"] != first?["deviceId"], "each machine has its own")
    let attributes = try new.account(end.account)["attributes"]
    #expect(attributes?["deviceId"] == second["deviceId"])
    #expect(attributes?["localAuthType"] == "PASSCODE" && attributes?["userKey"] == "alice.01")

    try clock.advance(toNextStepOf: 60)
    let oldCode = try old.code(of: account).code
    let newCode = try new.code(of: end.account).code
    #expect(newCode == (try new.numberOfSecret()))
    try #require(oldCode != newCode, "one in a million")
    #expect(try old.refusalAtSite("totp", number: oldCode) == "3005")
    #expect(try old.refusalAtSite("totp", number: newCode) == nil)
    let pushed = try old.app.finished(old.authenticate("push"))
    #expect(pushed.failure == ["provider_rejected", "3007", nil], "\(pushed.text)")
    let waiting = try #require(try new.list("signIns").last?["id"]?.stringValue)
    try new.leave(waiting)
    try new.signedIn()
  }

  @Test("on the same machine the account gets the new secret, and stays the same account")
  func sameMachine() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let account = try scene.registered().account
    try scene.signedIn()
    let token = try scene.token(of: account)
    try clock.advance(toNextStepOf: 60)
    let before = try scene.code(of: account).code
    let end = try replaced(scene, by: "sms")
    #expect(end.account == account)
    let after = try scene.code(of: account).code
    #expect(after == (try scene.numberOfSecret()))
    #expect(after != before, "one in a million")
    #expect(try scene.refusalAtSite("totp", number: before) == "3005")
    #expect(try scene.refusalAtSite("totp", number: after) == nil)
    #expect(try scene.token(of: account) == token, "the sign-in's token is not the device's")
    #expect(try scene.accounts().count == 1)
  }

  @Test("with another kind of local authentication than was registered")
  func anotherType() throws {
    let scene = try BSAScene(["allow_no_local_auth": "true"])
    try scene.registered()
    let end = try verified(scene, ["authType": "none"])
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.states(of: end).contains("localAuth") == false)
    #expect(try scene.registration("alice.01")?["authType"] == 0)
    #expect(try scene.account(end.account)["attributes"]?["localAuthType"] == "NONE")
    // And back: nothing but what was registered is asked then.
    try replaced(scene, ["authType": "passcode"])
    #expect(try scene.registration("alice.01")?["authType"] == 4)
    #expect(try replaced(scene)["status"] == "succeeded")
  }

  @Test("none is not taken where it is not allowed, be it asked for or registered")
  func noneIsNotAllowed() throws {
    let scene = try BSAScene()
    let asked = try scene.start("reregisterDevice", Self.params(.alice, ["authType": "none"]))
    #expect(asked.failure == ["invalid_request", "3000", nil], "\(asked.text)")
    #expect(try scene.requestsInOrder() == [])
    try scene.registerElsewhere([
      "userKey": "alice.01", "name": "Alice Adams", "email": "alice@example.com", "authType": 0,
    ])
    let end = try scene.start("reregisterDevice", Self.params())
    #expect(end.failure == ["invalid_request", "3000", nil], "\(end.text)")
    #expect(try scene.requests("device") == 0)
  }

  @Test(
    "a key, a name and a contact that do not belong together are 2008, and no number is sent",
    arguments: ["userKey", "name", "verifyData"])
  func wrongPerson(member: String) throws {
    let scene = try BSAScene()
    try scene.registered()
    let sent = try scene.messages().count
    let other = ["userKey": "bob.02", "name": "Bob Brown", "verifyData": "bob@example.com"][member]
    let end = try scene.start(
      "reregisterDevice", Self.params(.alice, [member: .string(other ?? "")]))
    #expect(end.failure == ["provider_rejected", "2008", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try scene.messages().count == sent)
  }

  @Test("result false is 2008 too")
  func resultFalse() throws {
    let scene = try BSAScene()
    try scene.registered()
    try scene.answers("sendOtp", ["data": ["result": false]])
    let end = try scene.start("reregisterDevice", Self.params())
    #expect(end.failure == ["provider_rejected", "2008", nil], "\(end.text)")
  }

  @Test(
    "the registered kind may be told as a text; one that is none is no answer",
    arguments: ["4", "7"])
  func looseType(word: String) throws {
    let scene = try BSAScene()
    try scene.registered()
    try scene.answers("sendOtp", ["data": ["authType": .string(word)]])
    if word == "4" {
      #expect(try proven(scene, verified(scene))["status"] == "succeeded")
    } else {
      let flow = try scene.start("reregisterDevice", Self.params())
      #expect(flow.failure == ["provider_protocol_error", nil, nil], "\(flow.text)")
    }
  }

  @Test("wrong numbers are problems, and the fifth the end")
  func wrongNumbers() throws {
    let scene = try BSAScene()
    try scene.registered()
    var flow = try scene.start("reregisterDevice", Self.params())
    let wrong = try scene.wrongNumber(to: "alice@example.com")
    for _ in 1...4 {
      flow = try scene.enter(wrong, to: flow)
      #expect(flow.problem == ["wrong_code", "3005"], "\(flow.text)")
    }
    flow = try scene.enter(wrong, to: flow)
    #expect(flow.failure == ["attempts_exhausted", "3005", nil], "\(flow.text)")
    #expect(try scene.requests("device") == 0)
  }

  @Test("with the handle of a verified contact no number is sent; the kind must be given then")
  func handle() throws {
    let scene = try BSAScene()
    let account = try scene.registered().account
    let handle: JSONValue = ["disposeToken": .string(try scene.disposeToken())]
    let end = try scene.start("reregisterDevice", Self.params(.alice, handle))
    #expect(end.failure == ["invalid_request", "2002", nil], "\(end.text)")
    let asked = try scene.start(
      "reregisterDevice", Self.params(.alice, handle + ["authType": "passcode"]))
    // The person proved to be there a moment ago, in this client's own flow.
    #expect(asked["status"] == "succeeded" && asked.account == account, "\(asked.text)")
    #expect(try scene.requests("sendOtp") == 0)
    let again = try scene.start(
      "reregisterDevice", Self.params(.alice, handle + ["authType": "passcode"]))
    #expect(again.failure == ["provider_rejected", "3006", nil], "it was used: \(again.text)")
  }

  @Test("a device whose answer is lost is asked for again; a number only by another flow")
  func lostRequest() throws {
    let scene = try BSAScene()
    try scene.registered()
    try scene.spoil("sendOtp", ["reset": true], times: 1)
    try scene.spoil("device", ["status": 503], times: 1)
    let unknown = try scene.app.finished(scene.begin("reregisterDevice", Self.params()))
    #expect(unknown.failure == ["provider_unreachable", nil, nil], "\(unknown.text)")
    #expect(unknown["failure"]?["retryable"] == false)
    #expect(try scene.requests("sendOtp") == 1)
    #expect(try replaced(scene)["status"] == "succeeded")
    #expect(try scene.requests("sendOtp") == 2 && scene.requests("device") == 2)
    #expect(try scene.code().code == scene.numberOfSecret())
  }

  @Test("a sign-up whose answer was lost: the person is there, and this gets the secret")
  func lostSignUp() throws {
    let scene = try BSAScene()
    let flow = try scene.registering()
    try scene.spoil("users", ["reset": true, "processed": true], times: 1)
    let lost = try scene.app.finished(scene.prove(flow))
    #expect(lost.failure == ["provider_unreachable", nil, nil], "\(lost.text)")
    #expect(lost["failure"]?["retryable"] == false)
    #expect(try scene.accounts() == [] && scene.requests("users") == 1)
    let end = try scene.app.finished(verified(scene))
    #expect(end["status"] == "succeeded", "the person was authenticated: \(end.text)")
    #expect(try scene.code(of: end.account).code == scene.numberOfSecret())
    try scene.signedIn()
  }

  @Test("who does not prove to be there keeps the old device")
  func unproven() throws {
    let scene = try BSAScene()
    let new = try BSAScene(sandbox: scene.sandbox)
    try scene.registered()
    let flow = try verified(new)
    let end = try new.submit(["type": "localAuth", "cancel": true], to: flow)
    #expect(end.failure == ["cancelled", "USER_CANCEL", nil], "\(end.text)")
    #expect(try new.requests("device") == 0)
    try scene.signedIn()
  }
}
