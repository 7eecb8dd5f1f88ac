import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

/// The SDK ignores the reply to the update of the name (provider contract §1.3 item 3).
@Suite("Names that Truecaller refuses after a right code")
struct RefusedNameTests {
  @Test(
    "a name that Truecaller refuses does not undo a right code: verifyPhone succeeds and tells it",
    arguments: [
      (.reply(reply(["code": 4221, "message": "no such name"], status: 422)), "13"),
      (.reply(reply(["code": 4221, "message": "no such name"])), "13"),
      (.reply(reply(["code": 4011], status: 401)), "11"),
      (.reply(reply(text: "{\"code\":4221")), "10"), (.unreadable(message: "too long"), "10"),
    ] as [(CallOutcome, String)])
  func refused(outcome: CallOutcome, code: String) throws {
    var driven = try Phase.update.driven()
    #expect(driven.state == "verificationComplete")
    driven.answered(outcome)
    #expect(driven.state == "verificationComplete" && driven.problem == nil)
    #expect(driven.last == .proceed([.call(.profile(try phone(), accessToken: otpToken))]))
    try driven.restart()
    driven.answered(DrivenVerification.profile)
    let result = try #require(driven.completion?.result)
    #expect(result["profile"]?["firstName"] == "Asha")
    #expect(result["nameProblem"]?["reason"] == "name_not_written")
    #expect(result["nameProblem"]?["provider"]?["code"] == .string(code))
    #expect(driven.completion?.grant?.label == "Asha Rao")
  }

  @Test("the result names Truecaller's own code and sentence for a refused name")
  func told() throws {
    var driven = try Phase.update.driven()
    driven.answered(["code": 4221, "message": "no such thing"], status: 422)
    driven.answered(DrivenVerification.profile)
    #expect(
      driven.completion?.result["nameProblem"] == [
        "reason": "name_not_written", "title": "Name not written", "message": "no such thing",
        "provider": [
          "name": "truecaller", "code": "13", "error": "4221", "message": "no such thing",
        ],
      ])
  }

  @Test("a name server that stays unreachable does not undo a right Truecaller code")
  func away() throws {
    var driven = try Phase.update.driven()
    for seconds in [1, 2, 4, 8, 16] {
      driven.answered(.unreachable(message: "gone", sent: true))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.problem?.provider?.code == "9")
      driven.receive(.woken)
    }
    driven.answered(.unreachable(message: "gone", sent: true))
    #expect(driven.calls == [.profile(try phone(), accessToken: otpToken)])
    #expect(driven.problem == nil)
    driven.answered(DrivenVerification.profile)
    #expect(driven.completion?.result["nameProblem"]?["provider"]?["code"] == "9")
  }
}
