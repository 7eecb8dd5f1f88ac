import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Redirects that do not answer their flow", .mayBlock, .timeLimit(.minutes(10)))
struct BadRedirectTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  @Test("a redirect with a wrong state or with two codes is refused, and the flow still succeeds")
  func untouched() throws {
    let flow = try fixture.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    let other = "state=A" + String(repeating: "b", count: 31)
    for bent in [back.replacing(/state=[^&]*/, with: other), back + "&code=ac_other"] {
      let page = try Web.get(bent)
      #expect(page.status == 400)
      #expect(!page.text.contains("Signed in"))
      let error = try fixture.app.error(of: "flow.submit", fixture.submission(bent, to: flow))
      #expect(error.data["reason"] == "invalid_input")
      #expect(error.data["field"] == "input.redirectURL")
      #expect(!error.hasSecret)
      #expect(try fixture.flow(flow) == flow)
    }
    #expect(try fixture.sandbox.requests("token") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test(
    "a redirect that is sent to another flow's listener is refused, and both flows still succeed")
  func otherFlow() throws {
    let flows = try [fixture.app.startFlow(), fixture.app.startFlow()]
    let answers = try zip(flows, ["alice", "bob"]).map { flow, user in
      try #require(try Person.decide(at: flow.url, user: user).location)
    }
    for (flow, answer) in zip(flows, answers.reversed()) {
      let query = try #require(answer.split(separator: "?").last)
      let crossed = "\(flow.redirectURI)?\(query)"
      #expect(try Web.get(crossed).status == 400)
      let reason = try fixture.app.reason(
        of: "flow.submit", fixture.submission(crossed, to: flow))
      #expect(reason == "invalid_input")
      #expect(try fixture.flow(flow) == flow)
    }
    for answer in answers { #expect(try Web.get(answer).status == 200) }
    for flow in flows { #expect(try fixture.app.finished(flow)["status"] == "succeeded") }
    #expect(try fixture.accounts.count == 2)
  }

  @Test("a redirect that arrives several times is redeemed once")
  func twice() async throws {
    let fixture = try OIDCFixture(provider: "request_timeout_seconds = 120")
    let gate = try fixture.tokenGate()
    gate.hold()
    let flow = try fixture.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    // The page waits for the end of the sign-in.
    async let first = BlockingThreads.run { try Web.get(back) }
    try eventually("the daemon redeems the code") { try fixture.sandbox.requests("token") == 1 }
    // The listener closes once the flow has moved on: further redirects are refused or ignored.
    let other = back.replacing(/code=[^&]*/, with: "code=ac_other")
    for url in [back, other, back] { _ = try? Web.get(url) }
    gate.release()
    let page = try await first
    #expect(page.status == 200)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(try fixture.sandbox.requests("token") == 1)
    try eventually("the redirect port is closed") { (try? Web.get(back)) == nil }
    #expect(
      try fixture.app.reason(of: "flow.submit", fixture.submission(back, to: flow))
        == "flow_finished")
    #expect(try fixture.token()["account"] == end["result"]?["account"])
  }

  @Test(
    "a redirect with an error or of another issuer ends the flow, and no code is redeemed",
    arguments: [
      (
        ["code": nil, "error": "invalid_scope", "error_description": "no \u{1b}[31mscope"],
        "provider_rejected", "invalid_scope"
      ),
      (["iss": "https://evil.example.com"], "provider_protocol_error", nil),
    ] as [(JSONValue, JSONValue, JSONValue)])
  func ends(_ answer: JSONValue, _ reason: JSONValue, _ code: JSONValue) throws {
    try fixture.set(["authorizeResponse": answer])
    let flow = try fixture.app.startFlow()
    #expect(try Person.signIn(at: flow.url).status == 200)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == reason)
    #expect(end.failure["provider"]?["code"] ?? .null == code)
    #expect(!end.text.contains("u001b"))
    #expect(!end.hasSecret)
    #expect(try fixture.sandbox.requests("token") == 0)
    #expect(try fixture.accounts.isEmpty)
    try eventually("the redirect port is closed") { (try? Web.get(flow.redirectURI)) == nil }
  }
}
