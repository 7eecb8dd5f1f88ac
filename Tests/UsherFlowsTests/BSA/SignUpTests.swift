import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("A sign-up")
struct SignUpTests {
  private func enrolment(_ driven: DrivenRegister) -> BSAEnrolment? {
    guard case .signUp(let enrolment, _) = driven.calls.first else { return nil }
    return enrolment
  }

  @Test("says who, how and with which device")
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

  @Test("ends with an account that has what the SDK loads, and a secret that stays")
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

  @Test("without a push token has none, and with a finger says so")
  func biometric() throws {
    var driven = try DrivenRegister.handled { $0.authType = .biometric }
    driven.tell(.standing(.init(biometric: .ready(hasChanged: false), passcode: .ready)))
    driven.tell(.scanned(.matched))
    driven.said(["secretKey": .string(BSAParts.secretKey)])
    let attributes = try #require(driven.completion?.grant?.attributes)
    #expect(attributes["localAuthType"] == "BIOMETRIC")
    #expect(attributes["pushToken"] == .some(.null))
  }

  @Test("that is refused has failed, whatever the code, and is not repeated")
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

  @Test("is never repeated where it may have been done, and says what to do")
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

  @Test("is repeated where the provider saw nothing, up to five times")
  func unsent() throws {
    for outcome in [BSAParts.gone, BSAParts.failing(429)] {
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

  @Test("waits as long as the provider says")
  func retryAfter() throws {
    var driven = try DrivenRegister.signingUp()
    driven.answered(BSAParts.failing(429, after: 30))
    #expect(driven.pause == .seconds(30))
  }

  @Test("goes on at once after a restart in a pause, and may be lost then")
  func restartInPause() throws {
    var driven = try DrivenRegister.signingUp()
    let call = try #require(driven.calls.first)
    driven.answered(BSAParts.gone)
    try driven.restart()
    #expect(driven.calls == [call])
    driven.answered(BSAParts.lost)
    #expect(driven.failure?.retryable == false)
  }

  @Test("is in the dark while it or a number is asked for, not in between and not in a pause")
  func dark() throws {
    var driven = try DrivenRegister()
    #expect(driven.flow.isOutcomeUnknown)
    #expect(driven.flow.doubt == "a number may have been sent all the same")
    driven.said()
    driven.type()
    #expect(!driven.flow.isOutcomeUnknown)
    driven.verified()
    #expect(!driven.flow.isOutcomeUnknown)
    driven.prove()
    #expect(driven.flow.isOutcomeUnknown && driven.flow.abandoned.isEmpty)
    #expect(driven.flow.doubt == "whether the operation was performed is not known")
    driven.answered(BSAParts.gone)
    #expect(!driven.flow.isOutcomeUnknown)
    driven.receive(.woken)
    #expect(driven.flow.isOutcomeUnknown)
    driven.refused(2001)
    #expect(!driven.flow.isOutcomeUnknown)
  }

  @Test("has no word of the SDK's for one that was given up")
  func words() {
    for reason in Failure.Reason.allCases {
      #expect(BSAVerifyContact.word(for: reason, provider: BSAParts.name) == nil)
      #expect(BSARegister.word(for: reason, provider: BSAParts.name) == nil)
      #expect(BSAReregisterDevice.word(for: reason, provider: BSAParts.name) == nil)
    }
  }
}
