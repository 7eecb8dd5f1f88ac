import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Lost replies and restarts of Paysafe sca")
struct SCADoubtTests {
  /// Outcomes that do not tell what the provider did.
  private static let lost: [CallOutcome] = [
    WalletReplies.gone, .unreadable(message: "too long"), .reply(reply(text: "{")),
    .reply(reply([:])), .reply(reply(text: "", status: 500)), .reply(reply(text: "", status: 503)),
    .reply(WalletReplies.verdict("PENDING", ["eventId": "evt-2"])),
  ]

  @Test("Paysafe sca does not repeat an attempt with a lost reply; the event tells the outcome")
  func attempt() throws {
    for outcome in Self.lost {
      for standing: JSONValue in ["VERIFIED", "FAILED", "REJECTED", "PENDING"] {
        var driven = try DrivenSCA.challenged()
        driven.enter()
        driven.answer(outcome)
        #expect(driven.state == "inquiring")
        #expect(driven.flow.view.step.kind == .wait)
        #expect(driven.isAsking)
        driven.answer(WalletReplies.standing(standing, ["currentAttempts": 2]))
        switch standing {
        case "VERIFIED": #expect(driven.result?["status"] == "VERIFIED")
        case "FAILED": #expect(driven.failure?.reason == .attemptsExhausted)
        case "REJECTED": #expect(driven.failure?.reason == .denied)
        default:
          #expect(driven.problem?.reason == "interrupted")
          #expect(driven.code?.attemptsLeft == 1)
        }
      }
    }
  }

  @Test("Paysafe sca keeps the caller's list of verifications after it asked the event")
  func callersList() throws {
    var driven = try DrivenSCA.withPIN(
      offering: [.init(method: "PIN"), .init(method: "OTP", channel: "EMAIL")])
    driven.submit(.password(Secret("1")))
    driven.answer(WalletReplies.gone)
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.password?.alternatives?.map(\.id) == ["OTP.EMAIL"])
  }

  @Test("Paysafe sca repeats the event request after a lost attempt five times, then fails")
  func inquiring() throws {
    for (outcome, reason) in [
      (WalletReplies.gone, .providerUnreachable), (WalletReplies.unsent, .providerUnreachable),
      (.reply(reply(text: "", status: 500)), .providerUnreachable),
      (.reply(reply(text: "", status: 429)), .providerUnreachable),
      (.reply(reply(text: "x")), .providerProtocolError),
    ] as [(CallOutcome, Failure.Reason)] {
      var driven = try DrivenSCA.challenged()
      driven.enter()
      driven.answer(WalletReplies.gone)
      driven.waitOutFive(outcome)
      driven.answer(outcome)
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test("Paysafe sca waits as long as Retry-After says before it asks for the event")
  func retryAfter() throws {
    let busy = reply(text: "", status: 503, headers: ["retry-after": "20"])
    var challenge = try DrivenSCA(wanting: .sms)
    challenge.answer(busy)
    #expect(challenge.wake == .seconds(20))
    var attempt = try DrivenSCA.challenged()
    attempt.enter()
    attempt.answer(WalletReplies.gone)
    attempt.answer(busy)
    #expect(attempt.wake == .seconds(20))
  }

  @Test("a refused event request after a lost attempt ends Paysafe sca")
  func inquiryRefused() throws {
    for (outcome, reason) in [
      (.reply(WalletReplies.refusal(410, "EVENT_EXPIRED")), .expired),
      (.reply(WalletReplies.refusal(404, "SCA_EVENT_NOT_FOUND")), .providerRejected),
      (.noToken(message: "dead"), .reauthenticationRequired),
    ] as [(CallOutcome, Failure.Reason)] {
      var driven = try DrivenSCA.challenged()
      driven.enter()
      driven.answer(WalletReplies.gone)
      driven.answer(outcome)
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test("Paysafe sca does not repeat a lost challenge that the event shows as open")
  func challengeKnown() throws {
    for outcome in Self.lost {
      var driven = try DrivenSCA(wanting: .sms)
      driven.answer(outcome)
      #expect(driven.state == "inquiring" && driven.wake == .seconds(1))
      driven.receive(.woken)
      #expect(driven.isAsking)
      driven.answer(
        WalletReplies.standing(
          "PENDING",
          [
            "challenge": WalletReplies.open([
              "method": "OTP", "channel": "SMS", "target": "+44 ••• 5",
            ])
          ]))
      #expect(driven.code?.maskedTarget == "+44 ••• 5")
      #expect(driven.code?.digits == 6)
      #expect(driven.code?.expiresAt == now + .seconds(300))
      #expect(driven.problem == nil)
    }
  }

  @Test("Paysafe sca repeats a lost SMS challenge once if the event shows that it was not sent")
  func challengeUnknown() throws {
    var driven = try DrivenSCA(wanting: .sms)
    let standing = WalletReplies.standing(
      "PENDING", ["challenge": WalletReplies.open(["method": "PIN"])])
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(standing)
    #expect(driven.challenge == .sms)
    driven.answer(WalletReplies.gone)
    #expect(driven.wake == .seconds(2))
    driven.receive(.woken)
    driven.answer(standing)
    #expect(driven.challenge == nil && driven.code != nil)
    #expect(driven.problem?.reason == "may_have_been_sent")
  }

  @Test("Paysafe sca repeats a lost PIN challenge up to five times, since it sends no message")
  func pinUnknown() throws {
    var driven = try DrivenSCA(wanting: .pin)
    for seconds in [1, 2, 4, 8, 16] {
      driven.answer(WalletReplies.gone)
      #expect(driven.wake == .seconds(seconds))
      driven.receive(.woken)
      driven.answer(WalletReplies.standing("PENDING", ["currentChallenges": nil]))
      #expect(driven.challenge == .pin)
    }
    driven.answer(WalletReplies.gone)
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test("Paysafe sca fails with provider_protocol_error if every challenge reply is unreadable")
  func unreadable() throws {
    var driven = try DrivenSCA(wanting: .pin)
    for _ in 0..<5 {
      driven.answer(reply(text: "x"))
      driven.receive(.woken)
      driven.answer(WalletReplies.standing("PENDING"))
    }
    driven.answer(reply(text: "x"))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test(
    "the event's count and expiry tell Paysafe sca whether a lost resend was sent",
    arguments: [
      (2, 300, .wentOut), (1, 400, .wentOut), (1, 300, .notSent), (0, 200, .unknown),
      (nil, 400, .wentOut), (nil, 300, .unknown), (nil, nil, .unknown), (2, nil, .wentOut),
    ] as [(Int64?, Int?, Fate)])
  func resend(count: Int64?, seconds: Int?, fate: Fate) throws {
    var driven = try DrivenSCA.challenged()
    driven.submit(.resend)
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    var open = WalletReplies.open(["method": "OTP", "channel": "SMS"], seconds: seconds ?? 0)
    if seconds == nil { open["expirationTime"] = nil }
    driven.answer(
      WalletReplies.standing(
        "PENDING",
        ["challenge": open, "currentChallenges": count.map { JSONValue.integer($0) }]))
    #expect((driven.challenge == .sms) == (fate == .notSent))
    switch fate {
    case .wentOut: #expect(driven.code != nil && driven.problem == nil)
    case .notSent: #expect(driven.state == "challenging")
    case .unknown: #expect(driven.code != nil && driven.problem?.reason == "may_have_been_sent")
    }
  }

  enum Fate { case wentOut, notSent, unknown }

  @Test("a lost change of verification in Paysafe sca was sent if the event shows it as open")
  func alternative() throws {
    var driven = try DrivenSCA.withPIN(
      offering: [.init(method: "PIN"), .init(method: "OTP", channel: "SMS")])
    driven.submit(.alternative("OTP.SMS"))
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(
      WalletReplies.standing(
        "PENDING", ["challenge": WalletReplies.open(["method": "OTP", "channel": "SMS"])]))
    #expect(driven.code?.channel == "sms")
  }

  @Test("Paysafe sca repeats a lost REDIRECT challenge if the event does not tell its page")
  func redirectWithoutPage() throws {
    for (action, isKnown) in [
      ([:], false), (["redirectUrl": .string(WalletReplies.page)], true),
    ] as [(JSONValue, Bool)] {
      var driven = try DrivenSCA(wanting: .redirect) { $0.returnUrl = WalletReplies.returnURL }
      driven.answer(WalletReplies.gone)
      driven.receive(.woken)
      driven.answer(
        WalletReplies.standing(
          "PENDING",
          [
            "challenge": WalletReplies.open([
              "method": "BIOMETRIC", "channel": "REDIRECT", "action": action,
            ])
          ]))
      #expect((driven.page?.url == WalletReplies.page) == isKnown)
      #expect((driven.challenge == .redirect) == !isKnown)
    }
  }

  @Test("a restored Paysafe sca asks for the event before it repeats what may have happened")
  func restarts() throws {
    var required = try DrivenSCA(wanting: nil)
    var challenging = try DrivenSCA(wanting: .sms)
    var attempting = try DrivenSCA.challenged()
    attempting.enter()
    var inquiring = try DrivenSCA.challenged()
    inquiring.enter()
    inquiring.answer(WalletReplies.gone)
    var polling = try DrivenSCA.pushed()
    polling.receive(.woken)
    var pushed = try DrivenSCA.pushed()
    var page = try DrivenSCA.redirected()
    var unsent = try DrivenSCA(wanting: .sms)
    unsent.answer(WalletReplies.unsent)
    for answer in [
      try required.restart(), try challenging.restart(), try attempting.restart(),
      try inquiring.restart(), try polling.restart(), try pushed.restart(), try page.restart(),
    ] {
      #expect(answer == .proceed([.call(.event(WalletReplies.event))]))
    }
    try unsent.restart()
    #expect(unsent.challenge == .sms)
    #expect(required.state == "required")
    #expect(challenging.state == "inquiring" && attempting.state == "inquiring")
    #expect(pushed.state == "challenged" && page.page != nil)

    attempting.answer(WalletReplies.standing("PENDING"))
    #expect(attempting.problem?.reason == "interrupted" && attempting.code != nil)
    challenging.answer(WalletReplies.standing("PENDING"))
    #expect(challenging.challenge == .sms)
    polling.answer(WalletReplies.standing("VERIFIED"))
    #expect(polling.result != nil)
  }

  @Test("a restored Paysafe sca that waits for the customer changes only its timer")
  func standing() throws {
    var choosing = try DrivenSCA(wanting: nil)
    choosing.answer(WalletReplies.standing("PENDING"))
    var code = try DrivenSCA.challenged()
    code.submit(.resend)
    code.answer(WalletReplies.refusal(429, "CHALLENGE_LIMIT", retryAfter: "60"))
    let views = [choosing.flow.view, code.flow.view]
    choosing.clock = now + .seconds(100)
    code.clock = now + .seconds(100)
    try choosing.restart()
    #expect(choosing.last == .proceed([.wake(after: .seconds(800))]))
    try code.restart()
    #expect(code.last == .proceed([.wake(after: .seconds(200))]))
    #expect([choosing.flow.view, code.flow.view] == views)
  }

  @Test("a Paysafe sca that is restored after the challenge's expiry reports it at once")
  func late() throws {
    var code = try DrivenSCA.challenged()
    code.clock = now + .seconds(400)
    try code.restart()
    #expect(code.last == .proceed([.wake(after: .zero)]))
    code.receive(.woken)
    #expect(code.problem?.reason == "challenge_expired")
  }
}
