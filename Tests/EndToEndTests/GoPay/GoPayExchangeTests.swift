import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The step `exchangeCredential`, which shows an auth code: who may answer it, when and how.
@Suite("GoPay's exchangeCredential step", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayExchangeTests {
  private let fixture: GoPayFixture

  init() throws { fixture = try GoPayFixture() }

  @Test("GoPay's exchangeCredential step keeps its code and deadline across a restart")
  func pending() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    try fixture.daemon.restart()
    let after = try fixture.again()
    #expect(try after.flow(asked) == asked)
    // The deadline does not start again.
    #expect(try after.flow(asked)["step"]?["deadline"] == asked["step"]?["deadline"])
    #expect(try fixture.requests("authCode") == 1)
    let link = try fixture.redeem(asked.authCode)
    let end = try after.handIn(after.submit(GoPayFixture.exchanged(token: link), to: asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.codeStates() == ["redeemed"])
  }

  @Test(
    "an exchange deadline that passes while the daemon is stopped ends GoPay verify with GPE-2209")
  func lateAfterwards() throws {
    let clock = MovableClock()
    let fixture = try GoPayFixture(clock: clock)
    let asked = try fixture.verify(token: "alice-short-term")
    try fixture.daemon.stop()
    try clock.advance(by: 60)
    try fixture.daemon.start()
    let after = try fixture.again()
    let end = try after.app.finished(asked)
    #expect(end.failure == ["exchange_timed_out", "GPE-2209", nil], "\(end.text)")
    #expect(try after.refusal(GoPayFixture.exchanged(), to: asked).0 == "flow_finished")
    #expect(try fixture.submissions() == [])
  }

  @Test("flow.list does not return the auth code of GoPay's exchangeCredential step")
  func listed() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    let list = try fixture.app.call("flow.list", ["provider": "gopay"])
    #expect(list["flows"]?.arrayValue?.count == 1)
    #expect(!asked.authCode.isEmpty && !list.text.contains(asked.authCode))
  }

  @Test("a GoPay exchange answer with an unknown member is refused by its field; the step stays")
  func shape() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    let input: JSONValue = [
      "type": "exchangeCredential",
      "success": ["userCorrelationId": "corr-5678", "accessToken": "glt_1"],
    ]
    #expect(
      try fixture.refusal(input, to: asked) == ("invalid_input", "input.success.accessToken"))
    #expect(try fixture.flow(asked) == asked)
    #expect(try fixture.submit(GoPayFixture.exchanged(), to: asked).completes == "poll")
  }

  @Test("a cancelled GoPay verify flow refuses an exchange answer with flow_finished")
  func cancelled() throws {
    let asked = try fixture.verify(token: "alice-short-term")
    let end = try fixture.cancel(asked)
    #expect(end["status"] == "cancelled")
    #expect(end.failure == ["cancelled", "GPE-2207", nil])
    #expect(try fixture.refusal(GoPayFixture.exchanged(), to: asked).0 == "flow_finished")
    #expect(try fixture.submissions() == [])
  }
}

/// Separation of two clients.
@Suite(
  "GoPay's exchangeCredential step with two clients of one user", .mayBlock,
  .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run a program in another group"))
struct GoPayOwnerTests {
  @Test("a client without permission for GoPay verify can neither see, answer nor cancel the flow")
  func clients() throws {
    let fixture = try GoPayFixture(
      more: """
        [access]
        group = "4242"

        [[client]]
        name = "other"
        match = { group = "4243" }
        allow = ["account.list"]

        """)
    let programs = try ["4242", "4242,4243"].map {
      try OtherUser(4001, groups: $0, at: fixture.daemon)
    }
    let (mine, other) = (fixture.at(try programs[0].client()), fixture.at(try programs[1].client()))
    let asked = try mine.verify(token: "alice-short-term")
    #expect(asked.stepType == "exchangeCredential", "\(asked.text)")
    #expect(try other.refusal(GoPayFixture.exchanged(), to: asked).0 != nil)
    for method in ["flow.get", "flow.cancel"] {
      let reply = try other.app.reply(to: method, ["flow": asked["id"] ?? .null])
      #expect(reply["error"] != nil && !reply.text.contains(asked.authCode), "\(reply.text)")
    }
    #expect(try mine.flow(asked) == asked)
    #expect(try mine.submit(GoPayFixture.exchanged(), to: asked).completes == "poll")
    withExtendedLifetime(programs) {}
  }
}
