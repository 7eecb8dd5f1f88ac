import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Attempts of Paysafe sca")
struct SCAAttemptTests {
  @Test(
    "a right code completes Paysafe sca with the scaDetails for the retry",
    arguments: [200, 201])
  func verified(status: Int) throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    #expect(driven.calls == [.attempt(WalletReplies.event, .sms, value: Secret("123456"))])
    #expect(driven.state == "attempting" && driven.flow.view.step.kind == .wait)
    driven.answer(WalletReplies.verdict("VERIFIED", status: status))
    #expect(
      driven.result == [
        "eventId": "evt-1", "walletOperationId": "wop-1", "status": "VERIFIED",
        "statusReason": "BECAUSE",
      ])
    var silent = try DrivenSCA.challenged()
    silent.enter()
    silent.answer(WalletReplies.verdict("VERIFIED", ["statusReason": nil]))
    #expect(silent.result?["statusReason"] == nil)
  }

  @Test("a wrong code leaves Paysafe sca at its step with the server's number of attempts left")
  func wrong() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter("000000")
    driven.answer(WalletReplies.verdict("FAILED"))
    #expect(driven.state == "challenged")
    #expect(driven.problem?.reason == "wrong_code")
    #expect(driven.problem?.provider?.message == "BECAUSE")
    #expect(driven.code?.attemptsLeft == 2)
    #expect(driven.wake == .seconds(300))
    driven.enter()
    #expect(driven.problem == nil)
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.result != nil)
  }

  @Test("Paysafe sca follows the server's attempt counters and shows none if they make no sense")
  func counters() throws {
    var driven = try DrivenSCA.challenged()
    let told: [(JSONValue?, JSONValue?, Int?)] = [
      (1, 9, 8), (7, 9, 2), (2, nil, 7), (nil, nil, nil), (4, nil, 5), (nil, 20, nil),
      (-1, 3, nil), ("1", "3", nil), (1.0, 3.0, 2), (0, 1, 1),
    ]
    for (current, allowable, left) in told {
      driven.enter("000000")
      driven.answer(
        WalletReplies.verdict(
          "FAILED", ["currentAttempts": current, "allowableAttempts": allowable]))
      #expect(driven.code?.attemptsLeft == left, "\(String(describing: current))")
    }
  }

  @Test("a wrong code at the attempt limit ends Paysafe sca with dataError")
  func exhausted() throws {
    for current: JSONValue in [3, 4] {
      var driven = try DrivenSCA.challenged()
      driven.enter("000000")
      driven.answer(WalletReplies.verdict("FAILED", ["currentAttempts": current]))
      #expect(driven.failure?.reason == .attemptsExhausted)
      #expect(driven.failure?.provider?.code == "dataError")
      #expect(driven.failure?.provider?.message == "BECAUSE")
      #expect(driven.failure?.retryable == false)
    }
  }

  @Test("an attempt that the customer rejected ends Paysafe sca as denied")
  func rejected() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.verdict("REJECTED"))
    #expect(driven.failure?.reason == .denied)
    #expect(driven.failure?.provider?.code == "REJECTED")
  }

  @Test("Paysafe sca does not show a provider text that repeats the typed code, however short")
  func echoed() throws {
    for status in ["FAILED", "REJECTED", "VERIFIED"] {
      var driven = try DrivenSCA.challenged()
      driven.enter("334455")
      driven.answer(
        WalletReplies.verdict(.string(status), ["statusReason": "you typed 334455, dear"]))
      let told = driven.problem?.provider ?? driven.failure?.provider
      #expect(told?.code == (status == "VERIFIED" ? nil : status))
      #expect(told?.message == nil && driven.result?["statusReason"] == nil)
    }
    var driven = try DrivenSCA.challenged()
    driven.enter("334455")
    driven.answer(WalletReplies.refusal(400, "BAD 334455", message: "334455 is bad"))
    #expect(driven.failure?.provider?.code == "http_400")
    #expect(driven.failure?.provider?.message == nil)
    #expect(driven.failure?.message.contains("334455") == false)
  }

  @Test("a typed password that is part of Paysafe's error code does not hide the code")
  func echoedWord() throws {
    var driven = try DrivenSCA.withPIN()
    driven.submit(.password(Secret("E")))
    driven.answer(WalletReplies.refusal(409, "CHALLENGE_REQUIRED"))
    #expect(driven.problem?.reason == "challenge_expired")
  }

  @Test("Paysafe sca refuses an impossible code without a call")
  func impossible() throws {
    var driven = try DrivenSCA.challenged()
    let before = driven.flow
    for code in ["", "12345", "1234567", "12345a", "１２３４５６", " 123456", "123 456", "12345\n"] {
      driven.enter(code)
      #expect(driven.refusedField == "input.code", "\(code)")
      #expect(driven.flow == before)
    }
    driven.submit(.code(Secret("123456"), fields: ["name": Secret("x")]))
    #expect(driven.refusedField == "input.fields.name" && driven.flow == before)

    driven = try DrivenSCA.challenged(["digits": nil])
    for code in ["", " ", "1 2", "é", "a\u{0}", String(repeating: "1", count: 65)] {
      driven.enter(code)
      #expect(driven.refusedField == "input.code", "\(code)")
    }
    driven.enter("AB-12")
    #expect(driven.calls.count == 1)
  }

  @Test("Paysafe sca sends a password as it was typed and refuses an empty or too long one")
  func passwords() throws {
    for bad in ["", String(repeating: "x", count: 1025)] {
      var driven = try DrivenSCA.withPIN()
      driven.submit(.password(Secret(bad)))
      #expect(driven.refusedField == "input.password")
    }
    for good in [" ", "24 68 é\n", String(repeating: "x", count: 1024)] {
      var driven = try DrivenSCA.withPIN()
      driven.submit(.password(Secret(good)))
      #expect(driven.calls == [.attempt(WalletReplies.event, .pin, value: Secret(good))])
    }
  }

  @Test("Paysafe sca makes no call for a code after the challenge's expiry and allows a resend")
  func expired() throws {
    var driven = try DrivenSCA.challenged()
    driven.clock = now + .seconds(300)
    var typed = driven
    typed.enter()
    driven.receive(.woken)
    for flow in [typed, driven] {
      #expect(flow.calls.isEmpty)
      #expect(flow.problem?.reason == "challenge_expired")
      #expect(flow.state == "challenged")
      #expect((flow.code?.resendAt ?? .latest) <= flow.clock)
    }
    driven.enter()
    #expect(driven.calls.isEmpty && driven.problem?.reason == "challenge_expired")
    #expect(driven.receive(.woken) == .ignore)
    driven.submit(.resend)
    driven.answer(
      WalletReplies.challenge(["expirationTime": .string((now + .seconds(600)).description)]))
    #expect(driven.problem == nil)
    driven.enter()
    #expect(driven.calls.count == 1)
  }

  @Test("an expired PIN challenge of Paysafe sca offers the PIN again as an alternative")
  func expiredPIN() throws {
    var driven = try DrivenSCA.withPIN(offering: [.init(method: "PIN")])
    driven.clock = now + .seconds(300)
    driven.receive(.woken)
    #expect(driven.problem?.reason == "challenge_expired")
    #expect(driven.password?.alternatives?.map(\.id) == ["PIN"])
    driven.submit(.alternative("PIN"))
    #expect(driven.challenge == .pin)
  }

  @Test("Paysafe sca reports an attempt without an open challenge as challenge_expired")
  func noChallenge() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.refusal(409, "CHALLENGE_REQUIRED"))
    #expect(driven.state == "challenged")
    #expect(driven.problem?.reason == "challenge_expired")
    #expect(driven.code?.expiresAt == now)
    driven.enter()
    #expect(driven.calls.isEmpty)
  }

  @Test("an attempt at a completed event makes Paysafe sca ask for the event's status (trap 4)")
  func completed() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.refusal(409, "EVENT_COMPLETED"))
    #expect(driven.state == "inquiring" && driven.isAsking)
    driven.answer(WalletReplies.standing("REJECTED"))
    #expect(driven.failure?.reason == .denied)
  }

  @Test("Paysafe sca completes without another call after VERIFIED (trap 4)")
  func verifiedForGood() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.result != nil && driven.calls.isEmpty)
  }

  @Test(
    "a refused attempt ends Paysafe sca with the server's error code",
    arguments: [
      (404, "SCA_EVENT_NOT_FOUND", .providerRejected, "SCA_EVENT_NOT_FOUND"),
      (400, "INVALID_REQUEST", .providerRejected, "INVALID_REQUEST"),
      (401, "", .providerRejected, "http_401"), (410, "EVENT_EXPIRED", .expired, "EVENT_EXPIRED"),
      (422, "ATTEMPTS_EXHAUSTED", .attemptsExhausted, "dataError"),
    ] as [(Int, String, Failure.Reason, String)])
  func refused(status: Int, code: String, reason: Failure.Reason, word: String) throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.refusal(status, code))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.provider?.code == word)
  }

  @Test("a rate-limited attempt leaves Paysafe sca at its step, and the code may be entered again")
  func tooMany() throws {
    var driven = try DrivenSCA.challenged()
    for (header, milliseconds) in [("7", 7000), (nil, nil)] as [(String?, Int?)] {
      driven.enter()
      driven.answer(WalletReplies.refusal(429, "", retryAfter: header))
      #expect(driven.state == "challenged")
      #expect(driven.problem?.reason == "rate_limited")
      #expect(driven.problem?.retryAfterMs == milliseconds)
    }
    driven.enter()
    #expect(driven.calls.count == 1)
  }

  @Test("Paysafe sca leaves it to the customer to repeat an attempt that was not sent")
  func unsent() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(WalletReplies.unsent)
    #expect(driven.state == "challenged" && driven.calls.isEmpty)
    #expect(driven.problem?.reason == "provider_unreachable")
    #expect(driven.code?.attemptsLeft == 3)
  }

  @Test("a missing access token at an attempt ends Paysafe sca with a retryable failure")
  func noToken() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    driven.answer(.noToken(message: "dead"))
    #expect(
      driven.failure?.reason == .reauthenticationRequired && driven.failure?.retryable == true)
  }

  @Test("Paysafe sca ignores replies to other attempts and does not trust one about another event")
  func unrelatedEvents() throws {
    var driven = try DrivenSCA.challenged()
    driven.enter()
    let other = PaysafeCall.Event(
      account: AccountID("acc_1"), id: "evt-2", walletOperationID: "wop-1")
    let verified = CallOutcome.reply(WalletReplies.verdict("VERIFIED"))
    for call in [
      PaysafeCall.attempt(other, .sms, value: Secret("123456")),
      .attempt(WalletReplies.event, .pin, value: Secret("123456")), .event(WalletReplies.event),
    ] {
      #expect(driven.receive(.called(call, verified)) == .ignore)
    }
    driven.answer(WalletReplies.verdict("VERIFIED", ["eventId": "evt-2"]))
    #expect(driven.state == "inquiring")
  }
}
