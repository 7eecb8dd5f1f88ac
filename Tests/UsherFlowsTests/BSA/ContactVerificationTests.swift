import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private let channels = BSAContact.Channel.allCases

@Suite("Verification of a contact (BSA)")
struct ContactVerificationTests {
  @Test("BSA verifyContact begins by sending a code to the contact", arguments: channels)
  func begins(channel: BSAContact.Channel) throws {
    let driven = try DrivenContact(channel)
    #expect(driven.calls == [.send(BSAParts.contact(channel))])
    #expect(driven.state == "sending" && driven.isWaiting)
    #expect(driven.problem == nil)
  }

  @Test("BSA verifyContact asks for the code as long as it is valid", arguments: channels)
  func asks(channel: BSAContact.Channel) throws {
    let driven = try DrivenContact.sent(channel)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpSent" && driven.problem == nil)
    #expect(
      driven.enterCode
        == Step.EnterCode(
          purpose: .otp, channel: channel.rawValue,
          maskedTarget: channel == .email ? "a•••@e•••" : "+••••••••••23", digits: 6,
          expiresAt: now + .seconds(180), resendAt: now + .seconds(30), alsoAsk: []))
  }

  @Test("BSA verifyContact takes the length, lifetime and resend time of a code from the settings")
  func settings() throws {
    var driven = try DrivenContact(.email) {
      $0.otpDigits = 4
      $0.otpSeconds = 60
      $0.resendSeconds = 10
    }
    driven.said(at: now + .seconds(5))
    #expect(driven.enterCode?.digits == 4)
    #expect(driven.enterCode?.expiresAt == now + .seconds(65))
    #expect(driven.enterCode?.resendAt == now + .seconds(15))
    driven.type(Secret("7391"))
    #expect(driven.calls == [.verify(BSAParts.contact(), number: Secret("7391"))])
  }

  @Test("verifyContact sends a typed code to BSA for verification", arguments: channels)
  func looks(channel: BSAContact.Channel) throws {
    let driven = try DrivenContact.verifying(channel)
    #expect(
      driven.calls == [.verify(BSAParts.contact(channel), number: BSAParts.number)])
    #expect(driven.state == "verifying" && driven.isWaiting)
  }

  @Test(
    "a typed BSA code that is not six ASCII digits is refused at once",
    arguments: ["", "73914", "7391460", "73914a", "７３９１４６", " 73914", "-73914", "7391\u{301}4"])
  func unfit(text: String) throws {
    var driven = try DrivenContact.sent()
    let before = driven.flow
    driven.type(Secret(text))
    #expect(driven.refusedField == "input.code")
    #expect(driven.flow == before)
  }

  @Test("BSA verifyContact refuses input with unknown fields and a request for the previous step")
  func unrelatedEvents() throws {
    var driven = try DrivenContact.sent()
    let before = driven.flow
    driven.say(.code(BSAParts.number, fields: ["b": Secret("x"), "a": Secret("y")]))
    #expect(driven.refusedField == "input.fields.a")
    driven.say(.back(.enterCode))
    #expect(driven.refusedField == "input.back")
    #expect(driven.flow == before)
  }

  @Test("a wrong BSA code is the problem wrong_code, and a code can be typed again")
  func wrongNumber() throws {
    let wrong: [@Sendable (inout DrivenContact) -> Void] = [
      { $0.wrong() }, { $0.said(["result": false, "disposeToken": "dispose-secret"]) },
      { $0.refused(3005) },
    ]
    for says in wrong {
      var driven = try DrivenContact.sent()
      let step = driven.step
      driven.type(Secret("000000"))
      says(&driven)
      #expect(driven.last == .proceed([]))
      #expect(driven.state == "otpSent" && driven.step == step)
      #expect(driven.problem?.reason == "wrong_code")
      #expect(driven.problem?.provider?.code == "3005")
      #expect(driven.problem?.provider?.name == BSAParts.name)
      driven.type()
      #expect(driven.problem == nil && driven.state == "verifying")
      driven.verified()
      #expect(driven.completion != nil)
    }
  }

  @Test("BSA rtCode 3006 for a typed code is the problem code_expired")
  func expiredThere() throws {
    var driven = try DrivenContact.verifying()
    driven.refused(3006)
    #expect(driven.state == "otpSent" && driven.problem?.reason == "code_expired")
    #expect(driven.problem?.provider?.code == "3006")
  }

  @Test("a code that has expired by the daemon's clock is not sent to BSA")
  func expiredHere() throws {
    var driven = try DrivenContact.sent()
    let end = now + .seconds(180)
    driven.type(at: end)
    #expect(driven.last == .proceed([]) && driven.state == "otpSent")
    #expect(driven.problem?.reason == "code_expired")
    #expect(driven.problem?.provider?.code == "3006")
    driven.type(at: end - .milliseconds(1))
    #expect(driven.calls.count == 1, "the code is still valid in its last millisecond")
  }

  @Test("a BSA code can be resent after 30 seconds and then gets new times")
  func resend() throws {
    var driven = try DrivenContact.sent()
    driven.say(.resend, at: now + .seconds(30) - .milliseconds(1500))
    #expect(driven.last == .proceed([]) && driven.state == "otpSent")
    #expect(driven.problem?.reason == "too_early")
    #expect(driven.problem?.retryAfterMs == 1500)
    #expect(driven.problem?.message.hasSuffix("in 2 s") == true)
    let later = now + .seconds(30)
    driven.say(.resend, at: later)
    #expect(driven.calls == [.send(BSAParts.contact())])
    #expect(driven.state == "sending" && driven.problem == nil)
    driven.said(at: later)
    #expect(driven.enterCode?.expiresAt == later + .seconds(180))
    #expect(driven.enterCode?.resendAt == later + .seconds(30))
    driven.type(at: later + .seconds(179))
    #expect(driven.calls.count == 1)
  }

  @Test("a BSA rtCode for a typed code is a problem, because the same code may be good later")
  func refused() throws {
    for entry in RTCode.table where ![0, 3005, 3006].contains(entry.code.number) {
      var driven = try DrivenContact.verifying()
      driven.refused(entry.code.number)
      let reason = entry.isRetryable ? "provider_busy" : "provider_rejected"
      #expect(driven.state == "otpSent" && driven.problem?.reason == reason)
      #expect(driven.problem?.provider?.code == String(entry.code.number))
      #expect(driven.problem?.message == entry.meaning)
    }
  }

  private static let unusable: [(JSONValue?, String)] = [
    (nil, "data.result"), ("text", "data.result"), ([true], "data.result"), ([:], "data.result"),
    (["result": "true"], "data.result"), (["result": 1], "data.result"),
    (["result": nil], "data.result"), (["result": true], "data.disposeToken"),
    (["result": true, "disposeToken": ""], "data.disposeToken"),
    (["result": true, "disposeToken": 7], "data.disposeToken"),
    (["result": true, "disposeToken": "a b"], "data.disposeToken"),
  ]

  @Test("a reply to a typed code without a usable result or disposeToken is a problem")
  func unusable() throws {
    for (data, member) in Self.unusable {
      var driven = try DrivenContact.verifying()
      driven.said(data)
      #expect(driven.state == "otpSent")
      #expect(driven.problem?.reason == "provider_protocol_error")
      #expect(driven.problem?.message.contains(member) == true)
    }
    for outcome in [BSAParts.failing(404), .unreadable(message: "a redirect")] {
      var sending = try DrivenContact()
      sending.answered(outcome)
      #expect(sending.end == End(.providerProtocolError))
      #expect(sending.failure?.retryable == false)
      var verifying = try DrivenContact.verifying()
      verifying.answered(outcome)
      #expect(verifying.state == "otpSent")
      #expect(verifying.problem?.reason == "provider_protocol_error")
    }
  }

  @Test("a finished BSA verifyContact ignores every event")
  func over() throws {
    var verified = try DrivenContact.verifying()
    verified.verified()
    var failed = try DrivenContact()
    failed.refused(2001)
    for var driven in [verified, failed] {
      #expect(driven.isWaiting && driven.problem == nil)
      for event: FlowEvent<BSACall> in [
        .resumed, .woken, .input(.resend), .input(.code(BSAParts.number, fields: [:])),
        .called(.send(BSAParts.contact()), BSAParts.said()),
        .called(
          .verify(BSAParts.contact(), number: BSAParts.number), BSAParts.said(["result": false])),
      ] {
        #expect(driven.receive(event) == .ignore)
      }
    }
  }
}

@Suite("Limits of a contact verification (BSA)")
struct ContactLimitTests {
  /// Returns a flow that has sent a code, with the operator's limits of five codes and guesses.
  private func limited() throws -> DrivenContact {
    var driven = try DrivenContact { ($0.maxCodes, $0.maxWrongCodes) = (5, 5) }
    driven.said()
    return driven
  }

  @Test("the wrong code of max_wrong_codes ends BSA verifyContact as attempts_exhausted")
  func guesses() throws {
    var driven = try limited()
    for _ in 1...4 {
      driven.type(Secret("000000"))
      driven.wrong()
      #expect(driven.problem?.reason == "wrong_code")
    }
    driven.type(Secret("000000"))
    driven.wrong()
    #expect(driven.end == End(.attemptsExhausted, "3005"))
    #expect(driven.failure?.retryable == true)
    #expect(driven.problem == nil)
  }

  @Test("the count of wrong BSA codes survives a resend, a lost reply and a restart")
  func guessesStay() throws {
    var driven = try limited()
    for _ in 1...2 {
      driven.type()
      driven.wrong()
    }
    driven.say(.resend, at: now + .seconds(30))
    driven.said()
    driven.type()
    driven.refused(3005)
    try driven.restart()
    driven.type()
    driven.answered(BSAParts.lost)
    driven.type()
    driven.wrong()
    #expect(driven.problem?.reason == "wrong_code")
    driven.type()
    driven.wrong()
    #expect(driven.end == End(.attemptsExhausted, "3005"))
  }

  @Test("expired BSA codes and lost replies do not count as wrong codes")
  func uncounted() throws {
    var driven = try limited()
    for round in 1...10 {
      driven.type()
      if round.isMultiple(of: 2) { driven.refused(3006) } else { driven.answered(BSAParts.lost) }
      #expect(driven.state == "otpSent")
    }
    driven.type()
    driven.wrong()
    #expect(driven.problem?.reason == "wrong_code")
  }

  @Test("BSA verifyContact sends at most max_codes codes, and the last can still be typed")
  func sendings() throws {
    var driven = try limited()
    var time = now
    for _ in 2...5 {
      time = time + .seconds(30)
      driven.say(.resend, at: time)
      #expect(driven.calls.count == 1)
      driven.said(at: time)
    }
    try driven.restart()
    driven.say(.resend, at: time)
    #expect(driven.problem?.reason == "sent_enough", "too many codes were sent")
    driven.say(.resend, at: time + .seconds(30))
    #expect(driven.last == .proceed([]) && driven.state == "otpSent")
    #expect(driven.problem?.reason == "sent_enough")
    driven.type(at: time + .seconds(31))
    driven.verified()
    #expect(driven.completion != nil)
  }
}
