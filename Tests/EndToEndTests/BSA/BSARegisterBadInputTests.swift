import JSONRPC
import Testing
import UsherTestKit

/// A registration that is refused: by the daemon before anything is asked, or by the provider.
@Suite("BSA: registrations that fail", .mayBlock, .timeLimit(.minutes(10)))
struct BSARegisterBadInputTests {
  private let scene: BSAScene
  private let alice = BSAPerson.alice

  init() throws { scene = try BSAScene() }

  private func register(_ more: JSONValue) throws -> JSONValue {
    try scene.start("register", alice.params() + more)
  }

  @Test("what is wrong with the parameters ends it with the code for it, and nothing is asked")
  func parameters() throws {
    let other = "s3cret:another/client-key"
    for (params, rtCode, words) in [
      (
        ["agreeGccs": false, "agreeDevice": false], "3002", "not agreed to: agreeGccs, agreeDevice"
      ),
      (["clientKey": .string(other)], "2000", "the clientKey"),
      (["appPackage": "com.example.other"], "2000", "the appPackage"),
      (["authType": "none"], "3000", "authType"),
      (["disposeToken": "dsp_00000000000000000000000000000000"], "3006", "disposeToken"),
    ] as [(JSONValue, String, String)] {
      let flow = try register(params)
      #expect(flow.failure == ["invalid_request", rtCode, nil], "\(flow.text)")
      #expect(flow["failure"]?["retryable"] == false)
      #expect(flow["failure"]?["message"]?.stringValue?.contains(words) == true, "\(flow.text)")
      #expect(!flow.text.contains(other))
    }
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("no client key at all: a sentence that says how to set one")
  func noClientKey() throws {
    let scene = try BSAScene(clientKey: nil)
    let flow = try scene.verifyContact()
    #expect(flow["status"] == "failed", "\(flow.text)")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("bsa-client-key") == true)
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("a person who cannot be asked: the SDK's word, its rtCode, and nothing is sent")
  func nobodyToAsk() throws {
    let scene = try BSAScene(passcode: nil)
    for (type, word, rtCode) in [
      ("passcode", "PASSCODE_NOT_ENROLLED_DEVICE", nil),
      // There is no message bus.
      ("biometric", "BIOMETRIC_NOT_AVILABLE", "9001"),
    ] as [(String, String, String?)] {
      let flow = try scene.registering(authType: type)
      #expect(flow.failure == ["local_auth_failed", word, rtCode], "\(flow.text)")
    }
    #expect(try scene.requests("users") == 0)
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

  @Test("a handle stays good after a sign-up that is refused, and is used up by one that is not")
  func handles() throws {
    let check: JSONValue = ["provider": "bsa", "userKey": .string(alice.userKey)]
    #expect(try scene.app.call("registration.checkUserKey", check) == ["available": true])
    let token: JSONValue = .string(try scene.disposeToken())
    let flow = try register(["disposeToken": token])
    try scene.registerElsewhere(["userKey": .string(alice.userKey)])
    let taken = try scene.prove(flow)
    #expect(taken.failure == ["provider_rejected", "2009", nil], "\(taken.text)")
    #expect(taken["failure"]?["message"] == "the user key is taken")
    #expect(try scene.app.call("registration.checkUserKey", check) == ["available": false])
    #expect(try scene.accounts().isEmpty)
    let second = try register(["disposeToken": token, "userKey": "alice.02"])
    #expect(second["status"] == "succeeded", "\(second.text)")
    let third = try register(["disposeToken": token, "userKey": "alice.03"])
    #expect(third.failure == ["provider_rejected", "3006", nil], "\(third.text)")
    #expect(try scene.list("registrations").count == 2)
  }
}
