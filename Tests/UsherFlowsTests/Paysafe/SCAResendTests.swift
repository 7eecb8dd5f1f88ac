import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

/// The person holds a code; another one is asked for, and does not come.
@Suite("sca: a resend that fails")
struct SCAResendTests {
  private func resending() throws -> DrivenSCA {
    var driven = try DrivenSCA.challenged()
    driven.submit(.resend)
    return driven
  }

  /// The code of the first challenge is still taken.
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
    "a resend that the provider refuses leaves the code that was sent before",
    arguments: [
      (400, "INVALID_REQUEST"), (403, ""), (404, "NOT_FOUND"), (422, "OTHER"),
      (409, "CHALLENGE_REQUIRED"), (400, "VERIFICATION_NOT_AVAILABLE"),
    ])
  func refused(status: Int, code: String) throws {
    var driven = try resending()
    driven.answer(WalletReplies.refusal(status, code))
    expectEarlierCode(driven, "\(status) \(code)")
  }

  @Test("a resend that never reaches the provider leaves the code that was sent before")
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

  @Test("a resend whose answers are lost leaves the code that was sent before")
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

  @Test("a provider that does not tell how the event stands leaves the code that was sent before")
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

  @Test("an alternative that fails leads back to the PIN")
  func alternative() throws {
    for refusal in [WalletReplies.refusal(403, ""), WalletReplies.refusal(422, "OTHER")] {
      var driven = try DrivenSCA.withPIN(
        offering: [.init(method: "PIN"), .init(method: "OTP", channel: "SMS")])
      driven.submit(.alternative("OTP.SMS"))
      driven.answer(refusal)
      #expect(driven.failure == nil && driven.password?.purpose == "pin")
    }
  }

  @Test("a payment whose resend fails goes on with the code that was sent before")
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

  @Test("an event that is over, settled or out of attempts ends the flow all the same")
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
