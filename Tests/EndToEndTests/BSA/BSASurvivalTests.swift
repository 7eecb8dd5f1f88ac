import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Kills the daemon's process in the middle of a flow. The tests of the flows' state machines cover
/// a restart in each state.
@Suite("BSA flows when the daemon is killed", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct BSASurvivalTests {
  @Test("after kill -9, the daemon repeats neither the request for an OTP nor the sign-up at BSA")
  func registration() throws {
    let fixture = try BSAFixture()
    let alice = BSAPerson.alice
    let sent = try fixture.holding("mail", processed: true) {
      try fixture.begin("verifyContact", ["sendType": "email", "sendTarget": .string(alice.email)])
    }
    var after = try fixture.restarted()
    let asked = try after.moved(sent, "asks for the number") { $0.state == "otpSent" }
    #expect(asked.problem == ["may_have_been_sent", nil], "\(asked.text)")
    #expect(try fixture.requests("mail") == 1)
    #expect(try after.enter(fixture.number(), to: asked)["status"] == "succeeded")

    let flow = try after.registering()
    _ = try after.holding("users", processed: true) { try after.prove(flow, waitMs: 0) }
    after = try after.restarted()
    let end = try after.app.finished(flow)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("may be registered") && message.contains("reregisterDevice"))
    #expect(end["failure"]?["retryable"] == false)
    #expect(try fixture.requests("users") == 1 && after.accounts().isEmpty)
    // The person is registered at BSA, but the TOTP secret of the lost answer is not known here.
    let again = try after.prove(after.registering())
    #expect(again.failure == ["provider_rejected", "2009", nil], "\(again.text)")
    #expect(try after.reregistered()["subject"] == "alice.01")
  }

  @Test("after kill -9, a BSA sign-in repeats the request that was in flight, and succeeds")
  func signIn() throws {
    let fixture = try BSAFixture()
    try fixture.set(["authSeconds": 300])
    try fixture.registered()
    for endpoint in ["auth", "authComplete", "authResult"] {
      let before = try fixture.again()
      let (asked, visit) = try before.pushed()
      let count = try fixture.requests(endpoint)
      let flow = try before.holding(endpoint, processed: true) {
        try before.prove(asked, waitMs: 0)
      }
      let after = try fixture.restarted()
      // The person's approval of this site was stored, so there is no second localAuth step.
      let end = try after.app.finished(after.flow(flow))
      #expect(end["status"] == "succeeded", "\(endpoint): \(end.text)")
      let token = try after.token(of: end.account)["accessToken"]?.stringValue ?? ""
      #expect(try after.owner(of: token) == "alice.01")
      let seen = try after.atSite(visit)
      #expect(seen["state"] == "completed" && seen["collected"] == true, "\(seen.text)")
      #expect(try fixture.requests(endpoint) == count + 2, "\(endpoint)")
    }
  }

  @Test(
    "a BSA sign-in succeeds wherever the daemon dies, and no reported state is lost",
    arguments: failPoints)
  func deaths(point: String) throws {
    let fixture = try BSAFixture()
    try fixture.set(["authSeconds": 300])
    try fixture.registered()
    let deaths = try fixture.deaths(at: point) { number in
      let story = FlowStory<BSAFixture>([
        "provider": "bsa", "kind": "authenticate", "params": ["by": "push"],
        "requestId": .string("req-\(number)"),
      ])
      var visit: String?
      return { fixture in
        let end = try story.run(fixture) { flow in
          if visit == nil { visit = try fixture.visit() }
          guard flow.stepType == "localAuth" else { return nil }
          return try fixture.prove(flow, waitMs: 0)
        }
        guard end["status"] == "succeeded" else {
          throw TestError("the sign-in did not succeed: \(end.text)")
        }
        let seen = try fixture.atSite(visit ?? "")
        guard seen["state"] == "completed", seen["collected"] == true else {
          throw TestError("the site has no completed sign-in: \(seen.text)")
        }
        let token = try fixture.token(of: end.account)["accessToken"]?.stringValue ?? ""
        guard try fixture.owner(of: token) == "alice.01" else {
          throw TestError("the access token is not of alice.01")
        }
      }
    }
    // At least these transitions: begun, pending, localAuth, channel opened, completed, token.
    #expect((5..<29).contains(deaths), "the daemon died \(deaths) times")
  }
}
