import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// Outcomes that do not tell whether the provider carried out the call.
private let unknown: [CallOutcome] = [
  .unreachable(message: "gone", sent: true), .reply(HTTPReply(status: 500)),
  .reply(HTTPReply(status: 504)), .reply(HTTPReply(status: 408)),
]

@Suite("One-time codes whose sending has an unknown outcome")
struct UnknownOutcomeTests {
  @Test(
    "Truecaller verifyPhone fails without a second code if the reply to its code request is lost")
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

  @Test("BSA verifyContact asks for the code after a lost reply and does not send a second code")
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

  @Test("BSA verifyContact does not send a second code after a restart during the sending")
  func contactRestarted() throws {
    var driven = try DrivenContact()
    try driven.restart()
    #expect(driven.calls == [] && driven.pause == nil, "\(driven.last)")
    #expect(driven.problem?.reason == "may_have_been_sent")
  }

  @Test("BSA verifyContact stays at the code entry after a lost reply to a resend")
  func contactResent() throws {
    var driven = try DrivenContact.sent()
    driven.say(.resend, at: now + .seconds(30))
    driven.answered(BSAParts.lost)
    #expect(driven.calls == [] && driven.pause == nil, "\(driven.last)")
    #expect(driven.state == "otpSent")
    #expect(driven.problem?.reason == "may_have_been_sent")
  }
}
