import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

/// Each code makes somebody's telephone ring.
@Suite("A code of Freedom ID that may have been sent")
struct DeviceResendTests {
  /// Answers after which nobody knows what the provider did.
  private static let lost: [CallOutcome] = [
    Driven.lost, .reply(reply([:], status: 500)), .reply(reply([:], status: 503)),
    .reply(reply([:], status: 408)),
  ]
  /// Answers to a code that was sent, which nobody can use.
  private static let unusable: [CallOutcome] = [
    .unreadable(message: "too long"), .reply(reply(text: "{")), .reply(reply([:])),
  ]

  private static let resendAt = now + .seconds(60)

  @Test("the first one is not asked for again by itself, and by the person a minute later")
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

  @Test("another way to sign in is open at once")
  func otherWay() throws {
    var driven = try Driven.named(.phoneOTP)
    driven.answered(Driven.lost)
    driven.say(.back(.fillForm))
    driven.say(.choice("phonePassword"))
    driven.say(.form(["phone": Driven.phone]))
    #expect(driven.step == .enterPassword(.init(purpose: "login")))
  }

  @Test("a first one whose answer cannot be used ends the flow, and says so")
  func unusable() throws {
    for outcome in Self.unusable {
      var driven = try Driven.named(.phoneOTP)
      driven.answered(outcome)
      #expect(driven.failure?.retryable == false)
      #expect(driven.failure?.message.hasSuffix("; an SMS may have been sent all the same") == true)
    }
  }

  @Test("another one leaves the code that was sent before, and waits a minute for a third")
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

  @Test(
    "a code that comes after its challenge's time is taken: the provider says whether it is good")
  func afterItsTime() throws {
    let late = now + .seconds(300)
    var driven = try Driven.coded()
    driven.say(.resend, at: late)
    driven.answered(Driven.lost, at: late)
    driven.say(.code(Driven.code, fields: [:]), at: late + .seconds(1))
    #expect(driven.calls.count == 1)
  }

  @Test("another one that is refused, or never reaches the provider, leaves the code sent before")
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

  @Test("is not asked for again by a restart, and is told where the flow is cancelled")
  func restart() throws {
    for start in [try Driven.named(.phoneOTP), try Driven.resending()] {
      #expect(start.flow.isOutcomeUnknown)
      #expect(start.flow.doubt == "a code may have been sent all the same")
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
