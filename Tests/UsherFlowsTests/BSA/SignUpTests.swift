import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("The sign-up call of register (BSA)")
struct SignUpTests {
  private func enrolment(_ driven: DrivenRegister) -> BSAEnrolment? {
    guard case .signUp(let enrolment, _) = driven.calls.first else { return nil }
    return enrolment
  }

  @Test("BSA's sign-up call has the person, contact, authType, app version and device")
  func enrolled() throws {
    #expect(
      enrolment(try .signingUp())
        == BSAEnrolment(
          userKey: "ada.1815", name: "Ada Lovelace", contact: BSAParts.contact(),
          email: "ada@example.com", phoneNumber: "+447700900123", authType: .passcode,
          pushToken: nil, appVersion: "1.0.0", device: BSAParts.registeredDevice))
    let other = enrolment(
      try .signingUp {
        $0.pushToken = "fcm:token"
        $0.appVersion = "2.1"
        $0.phoneNumber = "+44 (7700) 900-123"
        $0.name = "Ödön"
      })
    #expect(other?.pushToken == "fcm:token" && other?.appVersion == "2.1")
    #expect(other?.phoneNumber == "+447700900123" && other?.name == "Ödön")
  }

  @Test("a successful BSA sign-up gives an account with the SDK's attributes and the TOTP secret")
  func succeeds() throws {
    var driven = try DrivenRegister.signingUp { $0.pushToken = "fcm:token" }
    driven.said(["secretKey": .string(BSAParts.secretKey), "more": 1])
    let completion = try #require(driven.completion)
    #expect(
      completion.result == ["userKey": "ada.1815", "deviceId": .string(BSAParts.registeredDevice)])
    #expect(completion.handoffSecret == nil)
    var expected = AccountGrant(
      subject: "ada.1815", label: "ada.1815",
      attributes: [
        "userKey": "ada.1815", "deviceId": .string(BSAParts.registeredDevice),
        "localAuthType": "PASSCODE", "pushToken": "fcm:token",
      ], tokens: nil)
    expected.totpSecret = Sealed(Secret(BSAParts.secretKey))
    #expect(completion.grant == expected)
  }

  @Test("a biometric BSA sign-up has localAuthType BIOMETRIC, and a null pushToken without one")
  func biometric() throws {
    var driven = try DrivenRegister.handled { $0.authType = .biometric }
    driven.answer(.availability(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    driven.answer(.scanned(.matched))
    driven.said(["secretKey": .string(BSAParts.secretKey)])
    let attributes = try #require(driven.completion?.grant?.attributes)
    #expect(attributes["localAuthType"] == "BIOMETRIC")
    #expect(attributes["pushToken"] == .some(.null))
  }

  @Test("a refused sign-up fails BSA register with its rtCode, also with one that is unknown")
  func refused() throws {
    for entry in RTCode.table where entry.code != .done {
      var driven = try DrivenRegister.signingUp()
      driven.refused(entry.code.number)
      #expect(driven.end?.code == String(entry.code.number))
      #expect(driven.failure?.message == entry.meaning && driven.cleared.isEmpty)
    }
    var unknown = try DrivenRegister.signingUp()
    unknown.refused(4242)
    #expect(unknown.end == End(.providerRejected, "4242"))
  }

  @Test("a sign-up whose outcome is unknown is not repeated; the error names BSA reregisterDevice")
  func lost() throws {
    for outcome in [
      BSAParts.lost, BSAParts.failing(500), BSAParts.failing(503, after: 1), BSAParts.failing(408),
    ] {
      var driven = try DrivenRegister.signingUp()
      driven.answered(outcome)
      #expect(driven.end == End(.providerUnreachable))
      #expect(driven.failure?.retryable == false)
      #expect(driven.failure?.message.contains("reregisterDevice") == true)
    }
    var driven = try DrivenRegister.signingUp()
    try driven.restart()
    #expect(driven.end == End(.providerUnreachable))
    #expect(driven.failure?.retryable == false)
    #expect(driven.failure?.message.contains("reregisterDevice") == true)
  }

  @Test("a sign-up that BSA did not process is retried up to five times")
  func unsent() throws {
    for outcome in [BSAParts.gone, BSAParts.failing(425), BSAParts.failing(429)] {
      var driven = try DrivenRegister.signingUp()
      let call = try #require(driven.calls.first)
      for pause in [1, 2, 4, 8, 16] {
        driven.answered(outcome)
        #expect(driven.pause == .seconds(pause))
        #expect(driven.state == "signingUp" && driven.problem?.reason == "provider_unreachable")
        driven.receive(.woken)
        #expect(driven.calls == [call] && driven.problem == nil)
      }
      driven.answered(outcome)
      #expect(driven.end == End(.providerUnreachable))
      #expect(driven.failure?.retryable == true)
    }
  }

  @Test("a BSA sign-up that got HTTP 429 is retried after the seconds of Retry-After")
  func retryAfter() throws {
    var driven = try DrivenRegister.signingUp()
    driven.answered(BSAParts.failing(429, after: 30))
    #expect(driven.pause == .seconds(30))
  }

  @Test(
    "a usherd restarted in a retry pause repeats the sign-up; a lost reply then ends BSA register")
  func restartInPause() throws {
    var driven = try DrivenRegister.signingUp()
    let call = try #require(driven.calls.first)
    driven.answered(BSAParts.gone)
    try driven.restart()
    #expect(driven.calls == [call])
    driven.answered(BSAParts.lost)
    #expect(driven.failure?.retryable == false)
  }

  @Test("BSA register's outcome is unknown during a send or sign-up call, and not in between")
  func dark() throws {
    var driven = try DrivenRegister()
    #expect(driven.flow.isOutcomeUnknown)
    #expect(driven.flow.unknownOutcome == "a number may have been sent all the same")
    driven.said()
    driven.type()
    #expect(!driven.flow.isOutcomeUnknown)
    driven.verified()
    #expect(!driven.flow.isOutcomeUnknown)
    driven.prove()
    #expect(driven.flow.isOutcomeUnknown && driven.flow.callsIfAbandoned.isEmpty)
    #expect(driven.flow.unknownOutcome == "whether the operation was performed is not known")
    driven.answered(BSAParts.gone)
    #expect(!driven.flow.isOutcomeUnknown)
    driven.receive(.woken)
    #expect(driven.flow.isOutcomeUnknown)
    driven.refused(2001)
    #expect(!driven.flow.isOutcomeUnknown)
  }

  @Test("an abandoned BSA registration or contact verification has no provider error code")
  func words() {
    for reason in Failure.Reason.allCases {
      #expect(BSAVerifyContact.providerErrorCode(for: reason, provider: BSAParts.name) == nil)
      #expect(BSARegister.providerErrorCode(for: reason, provider: BSAParts.name) == nil)
      #expect(BSAReregisterDevice.providerErrorCode(for: reason, provider: BSAParts.name) == nil)
    }
  }
}
