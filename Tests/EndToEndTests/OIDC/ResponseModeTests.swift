import JSONRPC
import Testing
import UsherTestKit

@Suite("Answers that the provider posts", .mayBlock, .timeLimit(.minutes(10)))
struct FormPostTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture(provider: "response_mode = \"form_post\"") }

  @Test("a sign-in succeeds by a posted answer, which is accepted once and never from the query")
  func posted() throws {
    let flow = try fixture.app.startFlow()
    #expect(flow.url.contains("response_mode=form_post"))
    let page = try Person.decide(at: flow.url)
    #expect(page.location == nil)
    let answer = try Person.answer(in: page)
    #expect(answer.address == flow.redirectURI)
    let query = answer.fields.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    #expect(try Web.get("\(answer.address)?\(query)").status == 405)
    var wrong = answer.fields
    wrong["state"] = String(repeating: "A", count: 32)
    #expect(try Web.post(answer.address, form: wrong).status == 400)
    #expect(try fixture.flow(flow) == flow)
    #expect(try fixture.requests("token") == 0)
    #expect(try Web.post(answer.address, form: answer.fields).status == 200)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    _ = try? Web.post(answer.address, form: answer.fields)
    #expect(try fixture.requests("token") == 1)
  }

  @Test("a provider that does not offer the response mode is refused before its page is opened")
  func notOffered() throws {
    try fixture.set(["discovery": ["response_modes_supported": ["query"]]])
    let flow = try fixture.app.startFlow()
    #expect(flow["status"] == "failed")
    #expect(flow.failure["message"]?.stringValue?.contains("form_post") == true)
  }
}

@Suite("Answers that the provider signs (JARM)", .mayBlock, .timeLimit(.minutes(10)))
struct SignedAnswerTests {
  @Test(
    "a sign-in succeeds by a signed answer in each mode",
    arguments: ["query.jwt", "form_post.jwt"])
  func signed(mode: String) throws {
    let fixture = try OIDCFixture(provider: "response_mode = \"\(mode)\"")
    let flow = try fixture.app.startFlow()
    #expect(flow.url.contains("response_mode=\(mode)"))
    #expect(try Person.signIn(at: flow.url).status == 200)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    let denied = try fixture.attempt(allow: false)
    #expect(denied.failure["reason"] == "denied")
  }

  @Test("a signed answer with another state, or with parameters in place of it, is not accepted")
  func refused() throws {
    let fixture = try OIDCFixture(provider: "response_mode = \"jwt\"")
    let flow = try fixture.app.startFlow()
    try fixture.set(["signedResponse": ["claims": ["state": "another"]]])
    let back = try #require(try Person.decide(at: flow.url).location)
    #expect(!back.contains("code="))
    #expect(try Web.get(back).status == 400)
    #expect(try fixture.flow(flow) == flow)
    // With the right state beside it, the answer is the flow's own; its own state does not count
    // before its signature, and refuses it then.
    let state = try #require(flow.url.firstMatch(of: /[?&]state=([^&]*)/)?.1)
    #expect(try Web.get("\(back)&state=\(state)").status == 200)
    let end = try fixture.app.finished(flow)
    #expect(end.failure["message"]?.stringValue?.contains("state of the signed answer") == true)
    #expect(!end.hasSecret)
    #expect(try fixture.requests("token") == 0)
  }

  @Test("a signed answer is accepted once, and its code is redeemed once")
  func once() throws {
    let fixture = try OIDCFixture(provider: "response_mode = \"jwt\"")
    let flow = try fixture.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    #expect(try Web.get(back).status == 200)
    _ = try? Web.get(back)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.requests("token") == 1)
    let reason = try fixture.app.reason(of: "flow.submit", fixture.submission(back, to: flow))
    #expect(reason == "flow_finished")
  }
}

@Suite("Redirect paths of providers", .mayBlock, .timeLimit(.minutes(10)))
struct RedirectPathTests {
  @Test("a provider has a redirect path of its own, and an answer at another path is refused")
  func ownPath() throws {
    let fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "work"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher"
      redirect = "http://127.0.0.1/callback/work"

      """
    }
    let flows = try [fixture.app.startFlow("work"), fixture.app.startFlow()]
    #expect(flows[0].redirectURI.contains(/^http:\/\/127\.0\.0\.1:[0-9]+\/callback\/work$/))
    let answers = try flows.map { try #require(try Person.decide(at: $0.url).location) }
    for (answer, other) in [
      (answers[0], answers[0].replacing("/callback/work?", with: "/callback?")),
      (answers[1], answers[1].replacing("/callback?", with: "/callback/work?")),
    ] {
      #expect(try Web.get(other).status == 404)
      let query = try #require(answer.split(separator: "?").last)
      let target = answer == answers[0] ? flows[1].redirectURI : flows[0].redirectURI
      #expect(try Web.get("\(target)?\(query)").status == 400)
    }
    #expect(try fixture.requests("token") == 0)
    for (flow, answer) in zip(flows, answers) {
      #expect(try Web.get(answer).status == 200)
      #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    }
  }

  @Test("provider.check warns if two issuers share a redirect path and one does not name itself")
  func shared() throws {
    let fixture = try OIDCFixture { _ in
      """
      [[provider]]
      name = "other"
      type = "oidc"
      issuer = "https://other.example"
      client_id = "usher"

      """
    }
    let admin = try fixture.daemon.admin()
    func finding() throws -> JSONValue? {
      try admin.call("provider.check", ["provider": "demo"])["findings"]?.arrayValue?
        .first { $0["subject"] == "redirect" }
    }
    #expect(try finding() == nil)
    try fixture.set(["discovery": ["authorization_response_iss_parameter_supported": false]])
    let found = try finding()
    #expect(found?["fine"] == false)
    #expect(
      found?["message"]?.stringValue?.contains("redirect = \"http://127.0.0.1/callback/demo\"")
        == true)
  }
}
