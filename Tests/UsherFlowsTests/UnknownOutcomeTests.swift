import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// Of a call whose outcome is unknown nobody may assume that it was not made.
private let unknown: [CallOutcome] = [
  .unreachable(message: "gone", sent: true), .reply(HTTPReply(status: 500)),
  .reply(HTTPReply(status: 504)), .reply(HTTPReply(status: 408)),
]

@Suite("A message to a person whose sending has an unknown outcome")
struct UnknownOutcomeTests {
  @Test("Truecaller: a lost answer to the request for a code ends the flow; no second code is sent")
  func truecaller() throws {
    for outcome in unknown {
      var driven = try DrivenVerification()
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerUnreachable, "\(driven.last)")
      #expect(driven.failure?.retryable == false)
      #expect(
        driven.failure?.message.hasSuffix("whether a code was sent is not known") == true)
    }
  }

  @Test("BSA: after a lost answer the person is asked for the number; no second one is sent")
  func contact() throws {
    for outcome in unknown {
      var driven = try DrivenContact()
      driven.answered(outcome)
      #expect(driven.calls == [] && driven.pause == nil, "\(driven.last)")
      #expect(driven.state == "otpSent")
      #expect(driven.problem?.reason == "may_have_been_sent")
      driven.type()
      driven.verified()
      #expect(driven.completion != nil)
    }
  }

  @Test("BSA: a restart while the number is sent sends no second one")
  func contactRestarted() throws {
    var driven = try DrivenContact()
    try driven.restart()
    #expect(driven.calls == [] && driven.pause == nil, "\(driven.last)")
    #expect(driven.problem?.reason == "may_have_been_sent")
  }

  @Test("BSA: a lost answer to a resend leaves the step open; the person decides on another")
  func contactResent() throws {
    var driven = try DrivenContact.sent()
    driven.say(.resend, at: now + .seconds(30))
    driven.answered(BSAParts.lost)
    #expect(driven.calls == [] && driven.pause == nil, "\(driven.last)")
    #expect(driven.state == "otpSent")
    #expect(driven.problem?.reason == "may_have_been_sent")
  }
}
