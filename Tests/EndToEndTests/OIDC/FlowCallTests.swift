import JSONRPC
import Testing
import UsherTestKit

@Suite("Methods about flows", .mayBlock, .timeLimit(.minutes(10)))
struct FlowCallTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  @Test("flow.wait returns every transition of a sign-in in order")
  func transitions() throws {
    let started =
      try fixture.app.call(
        "flow.start", ["provider": "demo", "kind": "authorize", "params": [:]])["flow"] ?? .null
    #expect(started["revision"] == 1)
    #expect(started["state"] == "discovering")
    #expect(started["step"]?["type"] == "wait")
    let shown = try fixture.moved(started, "shows a page") { !$0.url.isEmpty }
    try Person.signIn(at: shown.url)
    let end = try fixture.app.finished(shown)
    let whole = try fixture.app.call(
      "flow.wait", ["flow": end["id"] ?? .null, "revision": 0, "timeoutMs": 0])
    let transitions = whole["transitions"]?.arrayValue ?? []
    #expect(
      transitions.compactMap { $0["state"]?.stringValue } == [
        "discovering", "preparing", "authorizing", "exchanging", "verifying", "userinfo",
        "userinfo",
      ])
    #expect(transitions.compactMap { $0["revision"]?.integerValue } == Array(1...7))
    #expect(transitions.compactMap { $0["at"]?.stringValue?.last } == Array("ZZZZZZZ"))
    #expect(end["revision"] == 7)
  }

  @Test("flow.wait returns the unchanged flow at its time-out, and refuses to wait over one minute")
  func timeOut() throws {
    let clock = MovableClock()
    let fixture = try OIDCFixture(clock)
    let flow = try fixture.app.startFlow()
    clock.stop()
    let wait: JSONValue = [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 50_000,
    ]
    try fixture.app.send(
      (["jsonrpc": "2.0", "id": "wait", "method": "flow.wait", "params": wait] as JSONValue).text)
    try clock.endWait(ofSeconds: 50)
    let waited = try #require(try fixture.app.receive()?["result"])
    #expect(waited["flow"] == flow)
    #expect(waited["transitions"] == [])
    for field in ["waitMs", "timeoutMs"] {
      var params: JSONValue = ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null]
      if field == "waitMs" { params["input"] = ["type": "openURL", "redirectURL": "x"] }
      params[field] = 60_001
      let error = try fixture.app.error(
        of: field == "waitMs" ? "flow.submit" : "flow.wait", params)
      #expect(error.data["reason"] == "invalid_params")
      #expect(error.data["field"] == .string(field))
    }
  }

  @Test(
    "flow.cancel ends the flow and closes its listener, and a second flow.cancel changes nothing")
  func cancel() throws {
    let flow = try fixture.app.startFlow()
    #expect(try Web.get(flow.redirectURI).status == 400)
    let cancelled = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(cancelled?["status"] == "cancelled")
    #expect(cancelled?["failure"]?["reason"] == "cancelled")
    #expect(cancelled?["step"] == .null)
    try eventually("the redirect port is closed") { (try? Web.get(flow.redirectURI)) == nil }
    let again = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(again == cancelled)
    let error = try fixture.app.error(
      of: "flow.submit", fixture.submission("http://127.0.0.1/callback", to: flow))
    #expect(error["code"] == 1201)
    #expect(error.data["reason"] == "flow_finished")
    #expect(error.data["flow"] == flow["id"])
  }

  @Test("tokens that arrive after flow.cancel are revoked, and no account is stored")
  func cancelledWhileExchanging() throws {
    let fixture = try OIDCFixture(provider: "request_timeout_seconds = 120")
    let gate = try fixture.tokenGate()
    gate.hold()
    let flow = try fixture.app.startFlow()
    // The app submits the redirect, because a browser's page would wait for the end of the sign-in.
    let back = try #require(try Person.decide(at: flow.url).location)
    let moved = try fixture.submit(back, to: flow)
    #expect(moved["state"] == "exchanging" && moved["step"]?["type"] == "wait")
    try eventually("the daemon redeems the code") { try fixture.sandbox.requests("token") == 1 }
    let cancelled = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(cancelled?["status"] == "cancelled")
    gate.release()
    try eventually("the daemon revokes the tokens") { try fixture.revocations > 0 }
    #expect(try fixture.accounts.isEmpty)
    #expect(try fixture.flow(flow) == cancelled)
  }

  @Test("flow.submit with an older revision gets conflict and changes nothing")
  func stale() throws {
    let flow = try fixture.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    var params = fixture.submission(back, to: flow)
    params["revision"] = 1
    let error = try fixture.app.error(of: "flow.submit", params)
    #expect(error["code"] == 1002)
    #expect(error.data["reason"] == "conflict")
    #expect(try fixture.flow(flow) == flow)
    #expect(try fixture.app.finished(fixture.submit(back, to: flow))["status"] == "succeeded")
  }

  @Test("flow.list filters by provider, kind and status, and shows neither step nor result")
  func list() throws {
    let done = try fixture.app.signIn()
    let live = try fixture.app.startFlow()
    let all = try fixture.app.call("flow.list", [:])["flows"]?.arrayValue ?? []
    #expect(all.prefix(2).map { $0["id"] } == [live["id"], done["id"]])
    #expect(all.allSatisfy { $0["step"] == .null && $0["result"] == .null })
    for (filter, isLive, isDone) in [
      (["status": "active"], true, false), (["status": "succeeded"], false, true),
      (["kind": "authorize"], true, true), (["kind": "device"], false, false),
      (["provider": "demo"], true, true), (["provider": "other"], false, false),
    ] as [(JSONValue, Bool, Bool)] {
      let ids = try fixture.app.call("flow.list", filter)["flows"]?.arrayValue?.map { $0["id"] }
      #expect(ids?.contains(live["id"]) == isLive)
      #expect(ids?.contains(done["id"]) == isDone)
    }
  }

  @Test("flow.submit refuses a malformed input, or one for another step, by its field")
  func inputs() throws {
    let flow = try fixture.app.startFlow()
    let refused: [(input: JSONValue, reason: JSONValue, field: JSONValue)] = [
      (["type": "enterCode", "code": "123456"], "unexpected_input", "input.type"),
      (["type": "openURL"], "invalid_input", "input.redirectURL"),
      (["type": "openURL", "redirectURL": 7], "invalid_input", "input.redirectURL"),
      (["type": "openURL", "redirectURL": ""], "invalid_input", "input.redirectURL"),
      (
        ["type": "openURL", "redirectURL": "https://example.com/callback?code=1"],
        "invalid_input", "input.redirectURL"
      ),
      (
        ["type": "openURL", "redirectURL": "http://x", "more": true], "invalid_input",
        "input.more"
      ),
      (["type": "openURL", "back": true], "invalid_input", "input.back"),
      (["type": "dance"], "invalid_input", "input.type"),
      (["redirectURL": "http://x"], "invalid_input", "input.type"),
      ("openURL", "invalid_input", "input"),
    ]
    for (input, reason, field) in refused {
      var params = fixture.submission("", to: flow)
      params["input"] = input
      let error = try fixture.app.error(of: "flow.submit", params)
      #expect(error.data["reason"] == reason && error.data["field"] == field, "\(error.text)")
    }
    #expect(try fixture.flow(flow) == flow)
  }

  @Test("flow.start refuses a used requestId, also after a restart, and names the flow that has it")
  func requestID() throws {
    var params: JSONValue = [
      "provider": "demo", "kind": "authorize", "params": [:], "requestId": "r-1",
    ]
    let flow = try fixture.app.call("flow.start", params)["flow"]
    #expect(flow?["requestId"] == "r-1")
    let error = try fixture.app.error(of: "flow.start", params)
    #expect(error["code"] == 1003)
    #expect(error.data["reason"] == "request_id_reused")
    #expect(error.data["flow"] == flow?["id"])
    let live = try fixture.app.call("flow.list", ["status": "active"])["flows"]
    #expect(live?.arrayValue?.count == 1)
    _ = try fixture.app.call("flow.cancel", ["flow": flow?["id"] ?? .null])
    #expect(try fixture.app.reason(of: "flow.start", params) == "request_id_reused")
    try fixture.daemon.restart()
    let app = try fixture.daemon.client()
    let again = try app.error(of: "flow.start", params)
    #expect(again.data["reason"] == "request_id_reused" && again.data["flow"] == flow?["id"])
    for other in ["r-2", "R-1", "r-1x", "r-"] {
      params["requestId"] = .string(other)
      #expect(try app.call("flow.start", params)["flow"]?["status"] == "active", "\(other)")
    }
  }

  @Test("flow.start refuses bad parameters by name and starts no flow")
  func strictness() throws {
    let refused: [(change: JSONValue, reason: JSONValue, field: JSONValue?)] = [
      (["provider": "nobody"], "not_found", "provider"),
      (["kind": "dance"], "invalid_params", "kind"),
      (["params": ["colour": "red"]], "invalid_params", "params.colour"),
      (["params": ["scope": 7]], "invalid_params", "params.scope"),
      (["params": ["scope": "a\"b"]], "invalid_params", "params.scope"),
      (["params": ["loginHint": ""]], "invalid_params", "params.loginHint"),
      (["params": ["maxAgeSeconds": -1]], "invalid_params", "params.maxAgeSeconds"),
      (["params": ["keepAlive": "yes"]], "invalid_params", "params.keepAlive"),
      (["params": ["account": "acc_of_somebody_else"]], "not_found", nil),
      (["params": []], "invalid_params", "params"),
      (["requestId": ""], "invalid_params", "requestId"),
      (["colour": "red"], "invalid_params", "colour"),
      (["waitMs": 1.5], "invalid_params", "waitMs"),
    ]
    for (change, reason, field) in refused {
      var params: JSONValue = ["provider": "demo", "kind": "authorize", "params": [:]]
      for (name, value) in change.objectValue ?? [:] { params[name] = value }
      let error = try fixture.app.error(of: "flow.start", params)
      #expect(error.data["reason"] == reason, "\(error.text)")
      if let field { #expect(error.data["field"] == field, "\(error.text)") }
    }
    #expect(try fixture.app.call("flow.list", ["status": "active"])["flows"] == [])
  }
}
