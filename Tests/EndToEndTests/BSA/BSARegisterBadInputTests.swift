import JSONRPC
import Testing
import UsherTestKit

/// Registrations that the daemon refuses before any request, or that the provider refuses.
@Suite("Failing BSA registrations", .mayBlock, .timeLimit(.minutes(10)))
struct BSARegisterBadInputTests {
  private let fixture: BSAFixture
  private let alice = BSAPerson.alice

  init() throws { fixture = try BSAFixture(["allow_no_local_auth": "false"]) }

  private func register(_ more: JSONValue) throws -> JSONValue {
    try fixture.start("register", alice.params() + more)
  }

  @Test("an invalid parameter ends register with its rtCode, and BSA gets no request")
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
    #expect(try fixture.requestsInOrder() == [])
  }

  @Test("without a client key, BSA verifyContact fails with a message that names the credential")
  func noClientKey() throws {
    let fixture = try BSAFixture(clientKey: nil)
    let flow = try fixture.verifyContact()
    #expect(flow["status"] == "failed", "\(flow.text)")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("bsa-client-key") == true)
    #expect(try fixture.requestsInOrder() == [])
  }

  @Test(
    "without a passcode or a reader, BSA register fails with the SDK's error and sends no sign-up")
  func nobodyToAsk() throws {
    let fixture = try BSAFixture(passcode: nil)
    for (type, word, rtCode) in [
      ("passcode", "PASSCODE_NOT_ENROLLED_DEVICE", nil),
      // There is no message bus.
      ("biometric", "BIOMETRIC_NOT_AVILABLE", "9001"),
    ] as [(String, String, String?)] {
      let flow = try fixture.registering(authType: type)
      #expect(flow.failure == ["local_auth_failed", word, rtCode], "\(flow.text)")
    }
    #expect(try fixture.requests("users") == 0)
  }

  @Test("BSA register refuses a disposeToken older than 30 minutes with 3006 and sends no sign-up")
  func oldHandle() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(clock: clock)
    let token: JSONValue = .string(try fixture.disposeToken())
    let params = alice.params() + ["disposeToken": token]
    try clock.set(ahead: 1740)
    #expect(try fixture.start("register", params).state == "localAuth")
    try clock.set(ahead: 1801)
    let flow = try fixture.start("register", params)
    #expect(flow.failure == ["invalid_request", "3006", nil], "\(flow.text)")
    #expect(try fixture.requests("users") == 0)
  }

  @Test("a BSA disposeToken stays valid after a refused sign-up and is used up by a successful one")
  func handles() throws {
    let check: JSONValue = ["provider": "bsa", "userKey": .string(alice.userKey)]
    #expect(try fixture.app.call("registration.checkUserKey", check) == ["available": true])
    let token: JSONValue = .string(try fixture.disposeToken())
    let flow = try register(["disposeToken": token])
    try fixture.registerElsewhere(["userKey": .string(alice.userKey)])
    let taken = try fixture.prove(flow)
    #expect(taken.failure == ["provider_rejected", "2009", nil], "\(taken.text)")
    #expect(taken["failure"]?["message"] == "the user key is taken")
    #expect(try fixture.app.call("registration.checkUserKey", check) == ["available": false])
    #expect(try fixture.accounts().isEmpty)
    let second = try register(["disposeToken": token, "userKey": "alice.02"])
    #expect(second["status"] == "succeeded", "\(second.text)")
    let third = try register(["disposeToken": token, "userKey": "alice.03"])
    #expect(third.failure == ["provider_rejected", "3006", nil], "\(third.text)")
    #expect(try fixture.list("registrations").count == 2)
  }
}
