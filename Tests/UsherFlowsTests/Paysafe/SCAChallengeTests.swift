import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Challenges of Paysafe sca")
struct SCAChallengeTests {
  private let operation = Operation(summary: "Pay", amount: "120.00 EUR", payee: "Bakery")

  @Test(
    "Paysafe sca asks for a code with everything that the server tells about the challenge",
    arguments: [200, 201])
  func code(status: Int) throws {
    var driven = try DrivenSCA(wanting: .sms) {
      $0.operation = operation
      $0.availableVerifications = [.init(method: "OTP", channel: "SMS"), .init(method: "PIN")]
    }
    driven.answer(WalletReplies.challenge(status: status))
    #expect(driven.state == "challenged")
    #expect(
      driven.code
        == Step.EnterCode(
          purpose: .sca, channel: "sms", maskedTarget: "+44 ••• 123", digits: 6,
          expiresAt: now + .seconds(300), resendAt: now, attemptsLeft: 3, alsoAsk: [],
          alternatives: [StepOption(id: "PIN", label: "PIN")], operation: operation,
          operationId: "wop-1"))
    #expect(driven.wake == .seconds(300))
  }

  @Test(
    "the code step of Paysafe sca names the channel of the code",
    arguments: [("EMAIL", "email"), ("AUTHENTICATOR", "authenticator")])
  func channel(channel: String, shown: String) throws {
    var driven = try DrivenSCA(wanting: .init(method: "OTP", channel: channel))
    driven.answer(
      WalletReplies.challenge(["verification": ["method": "OTP", "channel": .string(channel)]]))
    #expect(driven.code?.channel == shown)
  }

  @Test("Paysafe sca does not invent the challenge members that the server leaves out")
  func bare() throws {
    let bare: [String: JSONValue?] = [
      "verification": nil, "digits": nil, "expirationTime": nil,
      "currentAttempts": nil, "allowableAttempts": nil,
      "currentChallenges": nil, "allowableChallenges": nil,
    ]
    let driven = try DrivenSCA.challenged(bare)
    #expect(driven.code?.maskedTarget == "")
    #expect(driven.code?.digits == nil && driven.code?.attemptsLeft == nil)
    #expect(driven.code?.expiresAt == now + .seconds(300))
    #expect(driven.last == .proceed([]))
    for digits: JSONValue in [0, 33, -1, 6.5, "6", nil] {
      #expect(try DrivenSCA.challenged(["digits": digits]).code?.digits == nil)
    }
    #expect(try DrivenSCA.challenged(["digits": 6.0]).code?.digits == 6)
  }

  @Test("Paysafe sca shows the event's expiry if the challenge has no valid expiry of its own")
  func eventsExpiry() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING"))
    driven.submit(.choice("OTP.SMS"))
    driven.answer(WalletReplies.challenge(["expirationTime": "2001-01-01T00:00:00Z"]))
    #expect(driven.code?.expiresAt == now + .seconds(900))
    #expect(driven.wake == .seconds(900))
  }

  @Test(
    "Paysafe sca asks for a PIN or a password and offers the other verifications",
    arguments: [("PIN", "pin"), ("PASSWORD", "password")])
  func password(method: String, purpose: String) throws {
    var driven = try DrivenSCA(wanting: .init(method: method)) {
      $0.operation = operation
      $0.availableVerifications = [
        .init(method: method), .init(method: "OTP", channel: "SMS"), .init(method: "PASSKEYS"),
      ]
    }
    driven.answer(WalletReplies.challenge(["verification": ["method": .string(method)]]))
    #expect(driven.password?.purpose == purpose)
    #expect(driven.password?.alternatives?.map(\.id) == ["OTP.SMS"])
    #expect(driven.password?.operation == operation)
    let alone = try DrivenSCA.withPIN(offering: [.init(method: "PIN")])
    #expect(alone.password?.alternatives == nil)
    let unknown = try DrivenSCA.withPIN()
    #expect(unknown.password?.alternatives?.map(\.id).contains("OTP.EMAIL") == true)
  }

  @Test("an alternative makes Paysafe sca start another challenge, unless it is not offered")
  func alternative() throws {
    var driven = try DrivenSCA.withPIN(
      offering: [.init(method: "PIN"), .init(method: "OTP", channel: "SMS")])
    let before = driven.flow
    for id in ["PIN", "OTP.EMAIL", ""] {
      driven.submit(.alternative(id))
      #expect(driven.refusedField == "input.alternative" && driven.flow == before)
    }
    driven.submit(.alternative("OTP.SMS"))
    #expect(driven.challenge == .sms)
    driven.answer(WalletReplies.challenge())
    #expect(driven.code?.channel == "sms")
  }

  @Test("after an unavailable alternative, Paysafe sca asks for the PIN and offers only that")
  func lostAlternative() throws {
    var driven = try DrivenSCA.withPIN(
      offering: [.init(method: "PIN"), .init(method: "OTP", channel: "SMS")])
    driven.submit(.alternative("OTP.SMS"))
    driven.answer(WalletReplies.refusal(400, "VERIFICATION_NOT_AVAILABLE"))
    #expect(driven.password?.purpose == "pin")
    #expect(driven.password?.alternatives == nil)
    #expect(driven.problem?.reason == "verification_unavailable")
    #expect(driven.problem?.provider?.code == "VERIFICATION_NOT_AVAILABLE")
  }

  @Test("Paysafe sca sends the language with a challenge, and the returnUrl only for REDIRECT")
  func instructions() throws {
    for (verification, url) in [
      (PaysafeCall.Verification.sms, nil), (.redirect, WalletReplies.returnURL),
    ] {
      let driven = try DrivenSCA(wanting: verification) {
        $0.language = "de"
        $0.returnUrl = WalletReplies.returnURL
      }
      let instructions = PaysafeCall.Instructions(language: "de", returnURL: url)
      #expect(driven.calls == [.challenge(WalletReplies.event, verification, instructions)])
    }
  }

  @Test("a resend of Paysafe sca is a new challenge with its own expiry, digits and target")
  func resend() throws {
    var driven = try DrivenSCA.challenged()
    driven.clock = now + .seconds(60)
    driven.submit(.resend)
    #expect(driven.challenge == .sms && driven.state == "challenging")
    driven.answer(
      WalletReplies.challenge([
        "verification": ["method": "OTP", "channel": "SMS", "target": "+44 ••• 999"],
        "expirationTime": .string((now + .seconds(400)).description), "digits": 8,
        "currentAttempts": 2,
      ]))
    #expect(driven.code?.maskedTarget == "+44 ••• 999")
    #expect(driven.code?.expiresAt == now + .seconds(400))
    #expect(driven.code?.digits == 8 && driven.code?.attemptsLeft == 1)
    #expect(driven.code?.resendAt == now + .seconds(60))
  }

  @Test("a resend over the challenge limit keeps the old code of Paysafe sca valid")
  func limited() throws {
    var driven = try DrivenSCA.challenged()
    driven.submit(.resend)
    driven.answer(WalletReplies.refusal(429, "CHALLENGE_LIMIT", retryAfter: "60"))
    #expect(driven.problem?.reason == "rate_limited")
    #expect(driven.problem?.retryAfterMs == 60_000)
    #expect(driven.problem?.provider?.code == "CHALLENGE_LIMIT")
    #expect(driven.code?.resendAt == now + .seconds(60))
    driven.clock = now + .seconds(45)
    driven.submit(.resend)
    #expect(driven.last == .proceed([]))
    #expect(driven.problem?.retryAfterMs == 15_000)
    var old = driven
    old.enter()
    #expect(old.calls.count == 1 && old.problem == nil)
    driven.clock = now + .seconds(60)
    driven.submit(.resend)
    #expect(driven.challenge == .sms)
  }

  @Test("a challenge limit without a time blocks the next resend of Paysafe sca for a minute")
  func limitWithoutTime() throws {
    var driven = try DrivenSCA.challenged()
    driven.submit(.resend)
    driven.answer(reply(text: "slow down", status: 429))
    #expect(driven.problem?.retryAfterMs == 60_000)
  }

  @Test(
    "a challenge limit at the first challenge of Paysafe sca lets the customer choose again later")
  func limitedAtFirst() throws {
    for verification in [PaysafeCall.Verification?.none, .sms] {
      var driven = try DrivenSCA(wanting: verification) {
        $0.availableVerifications =
          verification.map { _ in nil } ?? [
            .init(method: "OTP", channel: "SMS")
          ]
      }
      driven.answer(WalletReplies.refusal(429, "CHALLENGE_LIMIT", retryAfter: "10"))
      #expect(driven.options == ["OTP.SMS"])
      #expect(driven.problem?.retryAfterMs == 10_000)
      driven.clock = now + .seconds(9)
      driven.submit(.choice("OTP.SMS"))
      #expect(driven.calls.isEmpty && driven.problem?.retryAfterMs == 1000)
      driven.clock = now + .seconds(10)
      driven.submit(.choice("OTP.SMS"))
      #expect(driven.challenge == .sms && driven.problem == nil)
    }
  }

  @Test("a verification that the event lacks leads Paysafe sca to the event's other verifications")
  func unavailable() throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.answer(WalletReplies.refusal(400, "VERIFICATION_NOT_AVAILABLE"))
    #expect(driven.isAsking && driven.state == "required")
    driven.answer(.unreachable(message: "gone", sent: true))
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.options == ["PIN"])
    #expect(driven.problem?.reason == "verification_unavailable")

    driven = try DrivenSCA(wanting: nil) { $0.availableVerifications = [.init(method: "PIN")] }
    driven.answer(WalletReplies.refusal(400, "VERIFICATION_NOT_AVAILABLE"))
    #expect(driven.failure?.reason == .providerRejected)
  }

  @Test(
    "any other refused challenge ends Paysafe sca with the server's error code",
    arguments: [
      (400, "INVALID_REQUEST", .providerRejected),
      (400, "RETURN_URL_NOT_ALLOWED", .providerRejected),
      (401, "", .providerRejected), (403, "", .providerRejected), (405, "", .providerRejected),
      (404, "SCA_EVENT_NOT_FOUND", .providerRejected), (410, "EVENT_EXPIRED", .expired),
      (422, "OTHER", .providerRejected), (409, "CHALLENGE_REQUIRED", .providerRejected),
    ] as [(Int, String, Failure.Reason)])
  func refused(status: Int, code: String, reason: Failure.Reason) throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.answer(WalletReplies.refusal(status, code))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.provider?.code == (code.isEmpty ? "http_\(status)" : code))
  }

  @Test("exhausted attempts at a challenge end Paysafe sca with dataError and the server's code")
  func exhausted() throws {
    for code in ["ATTEMPTS_EXHAUSTED", ""] {
      var driven = try DrivenSCA(wanting: .sms)
      driven.answer(WalletReplies.refusal(422, code))
      #expect(driven.failure?.reason == .attemptsExhausted)
      #expect(driven.failure?.provider?.code == "dataError")
      #expect(driven.failure?.provider?.error == (code.isEmpty ? "http_422" : code))
    }
  }

  @Test("a challenge at a completed event makes Paysafe sca ask for the event's status (trap 4)")
  func completed() throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.answer(WalletReplies.refusal(409, "EVENT_COMPLETED"))
    #expect(driven.state == "inquiring" && driven.isAsking)
    var verified = driven
    verified.answer(WalletReplies.standing("VERIFIED"))
    #expect(verified.result?["status"] == "VERIFIED")
    // A provider that contradicts itself is asked a limited number of times.
    for _ in 0..<5 {
      driven.answer(WalletReplies.standing("PENDING"))
      driven.receive(.woken)
      #expect(driven.isAsking)
    }
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("Paysafe sca repeats an unsent challenge after 1, 2, 4, 8 and 16 seconds, then fails")
  func unsent() throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.waitOutFive(WalletReplies.unsent)
    driven.answer(WalletReplies.unsent)
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test("a missing access token at a challenge ends Paysafe sca with a retryable failure")
  func noToken() throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.answer(.noToken(message: "dead"))
    #expect(
      driven.failure?.reason == .reauthenticationRequired && driven.failure?.retryable == true)
  }

  @Test("Paysafe sca expires with the event, even if it waits for a code")
  func eventExpiry() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(
      WalletReplies.standing(
        "PENDING", ["expirationTime": .string((now + .seconds(200)).description)]))
    driven.submit(.choice("OTP.SMS"))
    driven.answer(WalletReplies.challenge())
    #expect(driven.wake == .seconds(200))
    driven.clock = now + .seconds(200)
    driven.receive(.woken)
    #expect(driven.failure?.reason == .expired)
  }
}
