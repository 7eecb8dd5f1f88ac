import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// The customer has a code and requests another one, which does not arrive.
@Suite("Failed resends of Paysafe sca")
struct SCAResendTests {
  private func resending() throws -> DrivenSCA {
    var driven = try DrivenSCA.challenged()
    driven.submit(.resend)
    return driven
  }

  /// Expects that the flow still accepts the code of the first challenge.
  private func expectEarlierCode<Machine: FlowMachine>(
    _ driven: DrivenWallet<Machine>, _ comment: Comment
  ) {
    var driven = driven
    #expect(driven.failure == nil, comment)
    #expect(driven.code?.maskedTarget == "+44 ••• 123", comment)
    #expect(driven.problem != nil, comment)
    driven.enter()
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.failure == nil && driven.state != "challenged", comment)
  }

  @Test(
    "a refused resend of Paysafe sca keeps the earlier code",
    arguments: [
      (400, "INVALID_REQUEST"), (403, ""), (404, "NOT_FOUND"), (422, "OTHER"),
      (409, "CHALLENGE_REQUIRED"), (400, "VERIFICATION_NOT_AVAILABLE"),
    ])
  func refused(status: Int, code: String) throws {
    var driven = try resending()
    driven.answer(WalletReplies.refusal(status, code))
    expectEarlierCode(driven, "\(status) \(code)")
  }

  @Test("an unsent resend of Paysafe sca keeps the earlier code")
  func unsent() throws {
    var driven = try resending()
    for _ in 0..<5 {
      driven.answer(WalletReplies.unsent)
      driven.receive(.woken)
    }
    driven.answer(WalletReplies.unsent)
    #expect(driven.problem?.reason == "provider_unreachable")
    expectEarlierCode(driven, "unsent")
  }

  @Test("a resend of Paysafe sca with lost replies keeps the earlier code")
  func lost() throws {
    var driven = try resending()
    for _ in 0..<5 {
      driven.answer(WalletReplies.gone)
      driven.receive(.woken)
      driven.answer(
        WalletReplies.standing(
          "PENDING", ["challenge": WalletReplies.open(["method": "OTP", "channel": "SMS"])]))
    }
    driven.answer(WalletReplies.gone)
    expectEarlierCode(driven, "lost")
  }

  /// The open challenge in the event of a server that reports no counters: a challenge without an
  /// expiry, or none.
  private static let silent: [JSONValue?] = [
    ["verification": ["method": "OTP", "channel": "SMS"]], nil,
  ]

  private func standing(_ challenge: JSONValue?) -> HTTPReply {
    WalletReplies.standing(
      "PENDING",
      ["challenge": challenge, "currentChallenges": nil, "allowableChallenges": nil])
  }

  @Test("a lost resend of Paysafe sca is not repeated if the server has no counters")
  func silentServer() throws {
    for outcome in [
      WalletReplies.gone, .unreadable(message: "long"), .reply(reply(text: "", status: 503)),
    ] {
      for challenge in Self.silent {
        var driven = try DrivenSCA.challenged(["currentChallenges": nil, "expirationTime": nil])
        driven.submit(.resend)
        driven.answer(outcome)
        driven.receive(.woken)
        driven.answer(standing(challenge))
        #expect(driven.challenge == nil)
        #expect(driven.problem?.reason == "may_have_been_sent")
        #expect(driven.problem?.message.contains("an SMS may have come") == true)
        expectEarlierCode(driven, "\(outcome)")
      }
    }
  }

  @Test("Paysafe sca asks for the answer to a first challenge that may have been sent")
  func silentFirst() throws {
    for (verification, message) in [
      (.sms, "an SMS"), (.init(method: "OTP", channel: "EMAIL"), "an e-mail"),
      (.push, "a notification"),
    ] as [(PaysafeCall.Verification, String)] {
      for isRestarted in [true, false] {
        var driven = try DrivenSCA(wanting: verification)
        if isRestarted {
          try driven.restart()
        } else {
          driven.answer(WalletReplies.gone)
          driven.receive(.woken)
        }
        driven.answer(standing(nil))
        #expect(driven.challenge == nil && driven.failure == nil && driven.state == "challenged")
        #expect(driven.problem?.reason == "may_have_been_sent")
        #expect(driven.problem?.message.contains("\(message) may have come") == true)
      }
    }
  }

  @Test("a Paysafe payment whose first challenge may have been sent asks for the answer to it")
  func silentOperation() throws {
    var driven = try DrivenOperation.payment()
    driven.answer(SCADemandTests.byHeader)
    while driven.choice != nil { driven.submit(.choice("OTP.SMS")) }
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(reply(["eventId": "evt-1", "status": "PENDING"]))
    #expect(driven.code != nil && driven.problem?.reason == "may_have_been_sent")
  }

  @Test("Paysafe sca asks for the answer to a lost first challenge if the event request fails too")
  func nobodyTells() throws {
    for outcome in [WalletReplies.gone, .reply(WalletReplies.refusal(404, ""))] {
      var driven = try DrivenSCA(wanting: .sms)
      driven.answer(WalletReplies.gone)
      for _ in 0..<6 where driven.code == nil {
        driven.receive(.woken)
        driven.answer(outcome)
      }
      #expect(driven.code != nil && driven.problem?.reason == "may_have_been_sent")
      driven.submit(.resend)
      #expect(driven.challenge == .sms)
    }
  }

  @Test("a lost first challenge ends Paysafe sca as not retryable if the sign-in has ended")
  func noToken() throws {
    var driven = try DrivenSCA(wanting: .sms)
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(.noToken(message: "dead"))
    #expect(driven.failure?.retryable == false)
    #expect(driven.failure?.message.contains("an SMS may have been sent") == true)
  }

  @Test("Paysafe sca sends a code even after its expiry if a resend may have been sent")
  func afterItsTime() throws {
    var driven = try DrivenSCA.challenged()
    driven.clock = now + .seconds(300)
    driven.receive(.woken)
    #expect(driven.problem?.reason == "challenge_expired")
    driven.submit(.resend)
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(standing(nil))
    expectEarlierCode(driven, "after its time")
  }

  @Test("a lost resend of Paysafe sca keeps the earlier code if the event request fails too")
  func unknownStanding() throws {
    for outcome in [
      WalletReplies.gone, WalletReplies.unsent, .reply(reply(text: "x")),
      .reply(WalletReplies.refusal(404, "")), .reply(WalletReplies.refusal(405, "")),
    ] {
      var driven = try resending()
      driven.answer(WalletReplies.gone)
      for _ in 0..<6 where driven.code == nil && driven.failure == nil {
        driven.receive(.woken)
        driven.answer(outcome)
      }
      expectEarlierCode(driven, "\(outcome)")
    }
  }

  @Test("a refused alternative leads Paysafe sca back to the PIN")
  func alternative() throws {
    for refusal in [WalletReplies.refusal(403, ""), WalletReplies.refusal(422, "OTHER")] {
      var driven = try DrivenSCA.withPIN(
        offering: [.init(method: "PIN"), .init(method: "OTP", channel: "SMS")])
      driven.submit(.alternative("OTP.SMS"))
      driven.answer(refusal)
      #expect(driven.failure == nil && driven.password?.purpose == "pin")
    }
  }

  @Test("a Paysafe payment whose resend fails continues with the earlier code")
  func operation() throws {
    for isRefused in [true, false] {
      var driven = try DrivenOperation.payment()
      driven.answer(SCADemandTests.byHeader)
      driven.answer(WalletReplies.challenge())
      driven.submit(.resend)
      for _ in 0..<6 where driven.code == nil && driven.failure == nil {
        driven.answer(isRefused ? .reply(WalletReplies.refusal(403, "")) : WalletReplies.unsent)
        driven.receive(.woken)
      }
      expectEarlierCode(driven, "refused: \(isRefused)")
      #expect(driven.failure == nil)
    }
  }

  @Test("a resend for an expired or exhausted event ends Paysafe sca; a completed event is queried")
  func over() throws {
    for (status, code, reason) in [
      (410, "EVENT_EXPIRED", .expired), (422, "ATTEMPTS_EXHAUSTED", .attemptsExhausted),
    ] as [(Int, String, Failure.Reason)] {
      var driven = try resending()
      driven.answer(WalletReplies.refusal(status, code))
      #expect(driven.failure?.reason == reason)
    }
    var settled = try resending()
    settled.answer(WalletReplies.refusal(409, "EVENT_COMPLETED"))
    #expect(settled.isAsking)
  }
}
