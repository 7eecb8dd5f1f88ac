import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A registration that is refused: by the daemon before anything is asked, or by the provider.
@Suite("BSA: registrations that fail", .mayBlock, .timeLimit(.minutes(10)))
struct BSARegisterBadInputTests {
  private let scene: BSAScene
  private let alice = BSAPerson.alice

  init() throws { scene = try BSAScene() }

  private func register(_ more: JSONValue, authType: String = "passcode") throws -> JSONValue {
    try scene.start("register", alice.params(authType) + more)
  }

  /// What a flow fails with that has asked the provider nothing.
  private func expectRefused(_ flow: JSONValue, _ rtCode: String, naming words: [String]) throws {
    #expect(flow.failure == ["invalid_request", rtCode, nil], "\(flow.text)")
    #expect(flow["failure"]?["retryable"] == false)
    let message = flow["failure"]?["message"]?.stringValue ?? ""
    for word in words { #expect(message.contains(word), "\(message)") }
    #expect(try scene.requests("users") == 0)
  }

  @Test(
    "an agreement that is not given: 3002, by its name; nothing is asked",
    arguments: ["agreeGccs", "agreePerson", "agreeDevice"])
  func agreement(name: String) throws {
    try expectRefused(register([name: false]), "3002", naming: ["not agreed to: \(name)"])
    #expect(try scene.requestsInOrder() == [])
    // Not said is not agreed to.
    var params = alice.params()
    params[name] = nil
    try expectRefused(
      scene.start("register", params), "3002", naming: ["not agreed to: \(name)"])
  }

  @Test("no agreement at all: all three are named")
  func noAgreement() throws {
    try expectRefused(
      register(["agreeGccs": false, "agreePerson": false, "agreeDevice": false]), "3002",
      naming: ["agreeGccs, agreePerson, agreeDevice"])
  }

  @Test("another clientKey or package than the configured one: 2000, which is not repeated")
  func otherApp() throws {
    let other = "s3cret:another/client-key"
    for (params, word) in [
      (["clientKey": .string(other)], "the clientKey"),
      (["appPackage": "com.example.other"], "the appPackage"),
      (["appPackage": ""], "the appPackage"),
    ] as [(JSONValue, String)] {
      let flow = try register(params)
      try expectRefused(flow, "2000", naming: [word])
      #expect(!flow.text.contains(other))
    }
    let flow = try scene.verifyContact(by: "email", ["bundleIdentifier": "com.example.other"])
    try expectRefused(flow, "2000", naming: ["the bundleIdentifier"])
    try expectRefused(
      scene.verifyContact(by: "email", ["clientKey": .string(other)]), "2000",
      naming: ["the clientKey"])
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("a client key that the provider does not know: its 2000")
  func unknownClientKey() throws {
    let scene = try BSAScene(clientKey: "s3cret:unknown")
    #expect(try scene.verifyContact().failure == ["provider_rejected", "2000", nil])
  }

  @Test("no client key at all: a sentence that says how to set one")
  func noClientKey() throws {
    let scene = try BSAScene(clientKey: nil)
    let flow = try scene.verifyContact()
    #expect(flow["status"] == "failed", "\(flow.text)")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("bsa-client-key") == true)
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("authType none, which the configuration does not allow: 3000")
  func none() throws {
    try expectRefused(register([:], authType: "none"), "3000", naming: ["authType"])
  }

  @Test("authType passcode where none is set: PASSCODE_NOT_ENROLLED_DEVICE, nothing is sent")
  func noPasscode() throws {
    let scene = try BSAScene(passcode: nil)
    let flow = try scene.registering()
    #expect(
      flow.failure == ["local_auth_failed", "PASSCODE_NOT_ENROLLED_DEVICE", nil], "\(flow.text)")
    #expect(try scene.requests("users") == 0)
  }

  @Test("authType biometric where there is no message bus: BIOMETRIC_NOT_AVILABLE, 9001")
  func noBus() throws {
    let flow = try scene.registering(authType: "biometric")
    #expect(
      flow.failure == ["local_auth_failed", "BIOMETRIC_NOT_AVILABLE", "9001"], "\(flow.text)")
    #expect(try scene.requests("users") == 0)
  }

  @Test("a handle that is unknown, another contact's, or another way's: 3006")
  func otherHandle() throws {
    let email = try scene.disposeToken()
    let sms = try scene.disposeToken(by: "sms")
    let bob = try scene.disposeToken(of: .bob)
    for (token, channel) in [
      ("dsp_00000000000000000000000000000000", "email"), ("", "email"), (sms, "email"),
      (email, "sms"), (bob, "email"), (email.uppercased(), "email"), (email + " ", "email"),
    ] {
      let flow = try register(["disposeToken": .string(token), "verifyBy": .string(channel)])
      try expectRefused(flow, "3006", naming: ["disposeToken"])
    }
    #expect(try register(["disposeToken": .string(email)]).state == "localAuth")
  }

  @Test("a handle that is older than 30 minutes: 3006, and the provider is not asked")
  func oldHandle() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let token: JSONValue = .string(try scene.disposeToken())
    let params = alice.params() + ["disposeToken": token]
    try clock.set(ahead: 1790)
    #expect(try scene.start("register", params).state == "localAuth")
    try clock.set(ahead: 1801)
    let flow = try scene.start("register", params)
    #expect(flow.failure == ["invalid_request", "3006", nil], "\(flow.text)")
    #expect(try scene.requests("users") == 0)
  }

  @Test("a handle is good for one registration: the provider's 3006 at the second")
  func handleTwice() throws {
    let token: JSONValue = .string(try scene.disposeToken())
    let first = try scene.prove(register(["disposeToken": token]))
    #expect(first["status"] == "succeeded", "\(first.text)")
    let second = try register(["disposeToken": token, "userKey": "alice.02"])
    #expect(second.failure == ["provider_rejected", "3006", nil], "\(second.text)")
    #expect(try scene.list("registrations").count == 1)
  }

  @Test("a sign-up that failed for another reason leaves the handle good")
  func handleAgain() throws {
    let token: JSONValue = .string(try scene.disposeToken())
    try scene.registerElsewhere(["userKey": .string(alice.userKey)])
    let first = try scene.prove(register(["disposeToken": token]))
    #expect(first.failure == ["provider_rejected", "2009", nil], "\(first.text)")
    let second = try register(["disposeToken": token, "userKey": "alice.02"])
    #expect(second["status"] == "succeeded", "\(second.text)")
  }

  @Test("a proof whose time is over at the provider: its 3006")
  func proofIsOver() throws {
    let flow = try scene.registering()
    try scene.sandbox.control("POST", "bsa/expire", ["what": "disposeTokens"])
    #expect(try scene.prove(flow).failure == ["provider_rejected", "3006", nil])
  }

  @Test("a user key that is taken between check and sign-up: 2009")
  func keyTaken() throws {
    let check: JSONValue = ["provider": "bsa", "userKey": .string(alice.userKey)]
    #expect(try scene.app.call("registration.checkUserKey", check) == ["available": true])
    let flow = try scene.registering()
    try scene.registerElsewhere(["userKey": .string(alice.userKey)])
    let end = try scene.prove(flow)
    #expect(end.failure == ["provider_rejected", "2009", nil], "\(end.text)")
    #expect(end["failure"]?["message"] == "the user key is taken")
    #expect(try scene.app.call("registration.checkUserKey", check) == ["available": false])
    #expect(try scene.accounts().isEmpty)
  }

  @Test("a contact that is taken between check and sign-up: 2019", arguments: ["email", "sms"])
  func contactTaken(channel: String) throws {
    let contact: JSONValue = .string(alice.contact(channel))
    let check: JSONValue = [
      "provider": "bsa", "verifyType": channel == "sms" ? "phoneNumber" : "email",
      "verifyData": contact,
    ]
    #expect(try scene.app.call("registration.checkDuplicate", check) == ["duplicate": false])
    let flow = try scene.registering(by: channel)
    try scene.registerElsewhere([channel == "sms" ? "phoneNum" : "email": contact])
    let end = try scene.prove(flow)
    #expect(end.failure == ["provider_rejected", "2019", nil], "\(end.text)")
    #expect(try scene.app.call("registration.checkDuplicate", check) == ["duplicate": true])
    #expect(try scene.accounts().isEmpty)
  }
}
