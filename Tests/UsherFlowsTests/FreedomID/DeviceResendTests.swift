import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

/// Every code goes to a real phone, so no code may be requested twice by mistake.
@Suite("Freedom ID codes whose sending has an unknown outcome")
struct DeviceResendTests {
  /// Outcomes that do not tell whether the provider sent the code.
  private static let lost: [CallOutcome] = [
    Driven.lost, .reply(reply([:], status: 500)), .reply(reply([:], status: 503)),
    .reply(reply([:], status: 408)),
  ]
  /// Replies to a code request that the flow cannot use, although the code may have been sent.
  private static let unusable: [CallOutcome] = [
    .unreadable(message: "too long"), .reply(reply(text: "{")), .reply(reply([:])),
  ]

  private static let resendAt = now + .seconds(60)

  @Test("a Freedom ID code request with a lost reply waits for the user, and for at least a minute")
  func first() throws {
    for outcome in Self.lost {
      var driven = try Driven.named(.phoneOTP)
      #expect(driven.answered(outcome) == .proceed([]))
      #expect(driven.problem?.reason == "may_have_been_sent", "\(outcome)")
      #expect(driven.problem?.message.contains("an SMS may have come") == true)
      #expect(driven.problem?.provider != nil)
      #expect(driven.step == (try Driven.form(.phoneOTP)).step)

      let phone = FlowInput.form(["phone": Driven.phone])
      driven.say(phone, at: now + .seconds(59))
      #expect(driven.calls.isEmpty && driven.problem?.reason == "too_early")
      #expect(driven.problem?.retryAfterMs == 1000)
      try driven.restart(at: now + .seconds(59))
      driven.say(.back(.fillForm), at: now + .seconds(59))
      driven.say(.choice("phoneOTP"), at: now + .seconds(59))
      driven.say(phone, at: now + .seconds(59))
      #expect(driven.calls.isEmpty && driven.problem?.reason == "too_early")
      driven.say(phone, at: now + .seconds(60))
      #expect(driven.calls.count == 1)
      driven.answered(Driven.challenge(), at: now + .seconds(60))
      #expect(driven.codeStep != nil && driven.problem == nil)
    }
  }

  @Test("another Freedom ID sign-in method is open at once after a lost code request")
  func otherWay() throws {
    var driven = try Driven.named(.phoneOTP)
    driven.answered(Driven.lost)
    driven.say(.back(.fillForm))
    driven.say(.choice("phonePassword"))
    driven.say(.form(["phone": Driven.phone]))
    #expect(driven.step == .enterPassword(.init(purpose: "login")))
  }

  @Test("an unusable reply to the first Freedom ID code request fails and mentions a possible SMS")
  func unusable() throws {
    for outcome in Self.unusable {
      var driven = try Driven.named(.phoneOTP)
      driven.answered(outcome)
      #expect(driven.failure?.retryable == false)
      #expect(driven.failure?.message.hasSuffix("; an SMS may have been sent all the same") == true)
    }
  }

  @Test("a lost Freedom ID resend keeps the earlier code and blocks a third one for a minute")
  func again() throws {
    for outcome in Self.lost + Self.unusable {
      var driven = try Driven.resending()
      #expect(driven.answered(outcome, at: Self.resendAt) == .proceed([]), "\(outcome)")
      #expect(driven.problem?.reason == "may_have_been_sent", "\(outcome)")
      #expect(driven.codeStep?.resendAt == Self.resendAt + .seconds(60))
      driven.say(.resend, at: Self.resendAt + .seconds(59))
      #expect(driven.calls.isEmpty && driven.problem?.reason == "too_early")
      driven.say(.code(Driven.code, fields: [:]), at: Self.resendAt + .seconds(59))
      #expect(driven.calls.count == 1)
      driven.answered(Driven.login())
      #expect(driven.kept != nil)
    }
  }

  @Test("a Freedom ID code is sent to the provider even after its expiry if a resend was lost")
  func afterItsTime() throws {
    let late = now + .seconds(300)
    var driven = try Driven.coded()
    driven.say(.resend, at: late)
    driven.answered(Driven.lost, at: late)
    driven.say(.code(Driven.code, fields: [:]), at: late + .seconds(1))
    #expect(driven.calls.count == 1)
  }

  @Test("a refused or unsent Freedom ID resend keeps the earlier code")
  func notSent() throws {
    for (status, code) in [
      (401, 100_001), (403, 100_301), (404, nil), (400, 7), (401, 100_004),
    ] as [(Int, Int?)] {
      var driven = try Driven.resending()
      driven.refused(status, code, "never")
      #expect(driven.failure == nil && driven.codeStep != nil)
      #expect(driven.problem?.reason == "not_sent" && driven.problem?.message == "never")
    }
    var driven = try Driven.resending()
    for _ in 0..<5 {
      driven.answered(Driven.gone)
      driven.receive(.woken)
    }
    driven.answered(Driven.gone)
    #expect(driven.failure == nil && driven.codeStep != nil)
    #expect(driven.problem?.reason == "provider_unreachable")
  }

  @Test("a restored Freedom ID flow does not request the code again and reports may_have_been_sent")
  func restart() throws {
    for start in [try Driven.named(.phoneOTP), try Driven.resending()] {
      #expect(start.flow.isOutcomeUnknown)
      #expect(start.flow.unknownOutcome == "a code may have been sent all the same")
      var driven = start
      driven.answered(Driven.gone)
      #expect(!driven.flow.isOutcomeUnknown)
      driven = start
      try driven.restart()
      #expect(driven.calls.isEmpty && !driven.flow.isOutcomeUnknown)
      #expect(driven.problem?.reason == "may_have_been_sent")
    }
    #expect(!(try Driven.checking()).flow.isOutcomeUnknown)
    #expect(!(try Driven.coded()).flow.isOutcomeUnknown)
  }
}
