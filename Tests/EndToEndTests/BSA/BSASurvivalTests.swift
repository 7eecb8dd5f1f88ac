import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle. What a flow does after a restart in each of its states is asserted by the
/// tests of its machine; here the daemon really dies.
@Suite("BSA and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct BSASurvivalTests {
  @Test("a number is not asked for again, a sign-up not repeated; what was done there stays done")
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
    // The person is registered, with a secret that nobody here knows.
    let again = try after.prove(after.registering())
    #expect(again.failure == ["provider_rejected", "2009", nil], "\(again.text)")
    #expect(try after.reregistered()["subject"] == "alice.01")
  }

  @Test("starting, completing, the token: it is asked again though it had been done")
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
      // The person has said yes to this site: it is not asked about again.
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
    "wherever it dies in a sign-in, nothing that was told is lost and the person gets in",
    arguments: failPoints)
  func deaths(point: String) async throws {
    try await aside {
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
          guard end["status"] == "succeeded" else { throw TestError("no: \(end.text)") }
          let seen = try fixture.atSite(visit ?? "")
          guard seen["state"] == "completed", seen["collected"] == true else {
            throw TestError("at the site: \(seen.text)")
          }
          let token = try fixture.token(of: end.account)["accessToken"]?.stringValue ?? ""
          guard try fixture.owner(of: token) == "alice.01" else { throw TestError("not hers") }
        }
      }
      // Begun, waiting site, person, channel, completed, token: at least.
      #expect((5..<29).contains(deaths), "it died so often: \(deaths)")
    }
  }
}
