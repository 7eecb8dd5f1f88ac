import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The step that hands an auth code out: who may answer it, when and how.
@Suite("The exchange of GoPay's credential", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayExchangeTests {
  private let scene: GoPayScene

  init() throws { scene = try GoPayScene() }

  @Test("pending, kill -9, restart: the same step, code and deadline; the answer succeeds")
  func pending() throws {
    let asked = try scene.verify(token: "alice-short-term")
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.flow(asked) == asked)
    // What is left of the deadline is what was: nothing begins anew.
    #expect(try after.flow(asked)["step"]?["deadline"] == asked["step"]?["deadline"])
    #expect(try scene.requests("authCode") == 1)
    let link = try scene.redeem(asked.authCode)
    let end = try after.handIn(after.submit(GoPayScene.exchanged(token: link), to: asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.codeStates() == ["redeemed"])
  }

  @Test(
    "the deadline runs on while the daemon is dead: GPE-2209 as soon as it is back", .ownProcess)
  func lateAfterwards() async throws {
    try await aside {
      let scene = try GoPayScene(provider: "exchange_seconds = 5")
      let asked = try scene.verify(token: "alice-short-term")
      scene.daemon.killAtOnce()
      try passed(asked["step"]?["deadline"]?.stringValue)
      try scene.daemon.start()
      let after = try scene.again()
      let end = try after.app.finished(asked, within: 30)
      #expect(end.failure == ["exchange_timed_out", "GPE-2209", nil], "\(end.text)")
      #expect(try after.refusal(GoPayScene.exchanged(), to: asked).0 == "flow_finished")
    }
  }

  @Test("until it is acknowledged it is told again to a program of the same client that comes back")
  func toldAgain() throws {
    let asked = try scene.verify(token: "alice-short-term", requestID: "req-1")
    let other = try scene.again()
    let error = try other.app.error(
      of: "flow.start", GoPayScene.start("exchange", "alice-short-term", "corr-5678", "req-1"))
    #expect(error["data"]?["reason"] == "request_id_reused")
    let found = try other.app.flow(
      in: other.app.call("flow.get", ["flow": error["data"]?["flow"] ?? .null]))
    #expect(found["step"] == asked["step"])
    #expect(try other.submit(GoPayScene.exchanged(), to: found).completes == "poll")
  }

  @Test("a list of flows has the step's type and not its code")
  func listed() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let list = try scene.app.call("flow.list", ["provider": "gopay"])
    #expect(list["flows"]?.arrayValue?.count == 1)
    #expect(!asked.authCode.isEmpty && !list.text.contains(asked.authCode))
  }

  @Test("an answer of another shape is refused by its field, and the step stands")
  func shapes() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let exchange: JSONValue = ["type": "exchangeCredential"]
    let token = "glt_canary with a blank"
    let shapes: [(JSONValue, String)] = [
      (["success": [:]], "input.success.userCorrelationId"),
      (["success": ["token": "glt_1"]], "input.success.userCorrelationId"),
      (
        ["success": ["userCorrelationId": "corr-5678", "accessToken": "glt_1"]],
        "input.success.accessToken"
      ),
      (
        ["success": ["userCorrelationId": "corr-5678", "token": .string(token)]],
        "input.success.token"
      ),
      (["success": ["userCorrelationId": "corr-5678", "token": ""]], "input.success.token"),
    ]
    for (shape, field) in shapes {
      let input = exchange + shape
      #expect(try scene.refusal(input, to: asked) == ("invalid_input", field), "\(shape.text)")
    }
    let unknown: [JSONValue] = [
      [:], ["success": "corr-5678"], ["success": ["userCorrelationId": ["a": 1]]],
      ["failure": [:]], ["failure": "no"], ["success": [:], "failure": ["reason": "both"]],
      ["answer": ["userCorrelationId": "corr-5678"]],
    ]
    for shape in unknown {
      let input = exchange + shape
      let reason = try scene.refusal(input, to: asked).0
      #expect(["invalid_input", "invalid_params"].contains(reason), "\(shape.text)")
    }
    for type in ["enterCode", "openURL"] {
      let input: JSONValue =
        type == "openURL"
        ? ["type": "openURL", "redirectURL": "http://127.0.0.1/"]
        : ["type": "enterCode", "code": "1"]
      #expect(try scene.refusal(input, to: asked).0 == "unexpected_input")
    }
    #expect(try scene.flow(asked) == asked)
    #expect(try scene.submit(GoPayScene.exchanged(), to: asked).completes == "poll")
  }

  @Test("a userCorrelationId unlike the request's is GPE-2214, be it the same to the eye")
  func otherPerson() throws {
    for answered in ["corr-5679", "CORR-5678", " corr-5678", "corr\u{2010}5678", ""] {
      let flow = try scene.verify(token: "alice-short-term")
      let end = try scene.submit(GoPayScene.exchanged(answered), to: flow)
      #expect(end.failure == ["provider_rejected", "GPE-2214", nil], "\(end.text)")
      #expect(end["failure"]?["title"] == "Security check")
      #expect(end["failure"]?["retryable"] == false)
    }
    #expect(try scene.submissions() == [] && scene.requests("temporaryToken") == 0)
  }

  @Test("so it is where the backend answers with another one")
  func otherPersonOfBackend() throws {
    let scene = try GoPayScene(.backend)
    try scene.set(["exchangeReply": ["userCorrelationId": "other"]])
    let end = try scene.verify(token: "alice-short-term")
    #expect(end.failure == ["provider_rejected", "GPE-2214", nil], "\(end.text)")
  }

  @Test("a flow that was cancelled takes no answer")
  func cancelled() throws {
    let asked = try scene.verify(token: "alice-short-term")
    let end = try scene.cancel(asked)
    #expect(end["status"] == "cancelled")
    #expect(end.failure == ["cancelled", "GPE-2207", nil])
    #expect(try scene.refusal(GoPayScene.exchanged(), to: asked).0 == "flow_finished")
    #expect(try scene.submissions() == [])
  }

  @Test("the backend's answer is lost: it is asked again with the same requestId, and is done once")
  func lostByBackend() throws {
    let scene = try GoPayScene(.backend)
    try scene.spoil("exchange", ["reset": true, "processed": true], times: 1)
    let page = try scene.verify(token: "alice-short-term")
    #expect(page.completes == "poll", "\(page.text)")
    #expect(try scene.requests("exchange") == 2)
    #expect(try scene.codeStates() == ["redeemed"])
    #expect(try scene.handIn(page)["status"] == "succeeded")
  }

  @Test("a binding's answer is lost: the conflict asks for another code, and the person is told")
  func lostBySnap() throws {
    let scene = try GoPayScene(.snap)
    try scene.spoil("binding", ["reset": true, "processed": true], times: 1)
    // Held here, the flow can be looked at.
    try scene.spoil("authCode", ["delayMs": 1500], times: 1, after: 1)
    let begun = try scene.verify(token: "alice-short-term", waitMs: 0)
    let asking = try scene.moved(begun, "asks for another code") {
      $0["state"] == "authCode" && $0.problem[0] != nil
    }
    #expect(asking.problem == ["provider_unreachable", "GPE-2208", "4090700"], "\(asking.text)")
    let page = try scene.moved(asking, "is at the capture page") { $0.completes == "poll" }
    #expect(page.problem == [nil, nil, nil])
    #expect(try scene.requests("binding") == 3)
    #expect(try scene.codeStates() == ["redeemed", "redeemed"])
    #expect(try scene.handIn(page)["status"] == "succeeded")
  }

  @Test("lost after a log-in, the person is asked to log in once more")
  func lostAfterLogIn() throws {
    let scene = try GoPayScene(.snap)
    try scene.spoil("binding", ["reset": true, "processed": true], times: 1)
    let first = try scene.verify()
    try GoPayPerson.logIn(at: first.url, scene.sandbox)
    let second = try scene.moved(first, "is at another log-in page") {
      $0["state"] == "login" && $0.url != first.url
    }
    #expect(second.problem == ["provider_unreachable", "GPE-2208", "4090700"], "\(second.text)")
    try GoPayPerson.logIn(at: second.url, scene.sandbox)
    let page = try scene.moved(second, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.handIn(page)["status"] == "succeeded")
  }

  @Test("an answer that never came and was not worked on is simply asked for again")
  func repeated() throws {
    let scene = try GoPayScene(.snap)
    try scene.spoil("binding", ["reset": true], times: 1)
    let page = try scene.verify(token: "alice-short-term")
    #expect(page.completes == "poll", "\(page.text)")
    #expect(try scene.requests("binding") == 2)
    #expect(try scene.codeStates() == ["redeemed"])
  }
}

/// Whose step it is.
@Suite(
  "The exchange of GoPay's credential: two users of one machine", .mayBlock,
  .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can be two users; run this as root"))
struct GoPayOwnerTests {
  private static let access = """
    [access]
    group = "4242"
    """

  @Test("another user's step cannot be seen, answered or ended")
  func users() throws {
    let scene = try GoPayScene(more: Self.access)
    let alice = try OtherUser(4001, groups: "4242", at: scene.daemon)
    let bob = try OtherUser(4002, groups: "4242", at: scene.daemon)
    let (mine, other) = (scene.at(try alice.client()), scene.at(try bob.client()))
    let asked = try mine.verify(token: "alice-short-term")
    #expect(try other.refusal(GoPayScene.exchanged(), to: asked).0 == "not_found")
    for method in ["flow.get", "flow.cancel"] {
      #expect(try other.app.reason(of: method, ["flow": asked["id"] ?? .null]) == "not_found")
    }
    #expect(try other.app.call("flow.list")["flows"] == [])
    #expect(try mine.flow(asked) == asked)
    #expect(try mine.submit(GoPayScene.exchanged(), to: asked).completes == "poll")
    withExtendedLifetime((alice, bob)) {}
  }

  @Test("another client of the same user, whom no rule lets have such flows, neither")
  func clients() throws {
    let scene = try GoPayScene(
      more: """
        \(Self.access)

        [[client]]
        name = "other"
        match = { group = "4243" }
        allow = ["account.list"]

        """)
    let programs = try ["4242", "4242,4243"].map {
      try OtherUser(4001, groups: $0, at: scene.daemon)
    }
    let (mine, other) = (scene.at(try programs[0].client()), scene.at(try programs[1].client()))
    let asked = try mine.verify(token: "alice-short-term")
    #expect(asked.stepType == "exchangeCredential", "\(asked.text)")
    #expect(try other.refusal(GoPayScene.exchanged(), to: asked).0 != nil)
    for method in ["flow.get", "flow.cancel"] {
      let reply = try other.app.reply(to: method, ["flow": asked["id"] ?? .null])
      #expect(reply["error"] != nil && !reply.text.contains(asked.authCode), "\(reply.text)")
    }
    #expect(try mine.flow(asked) == asked)
    #expect(try mine.submit(GoPayScene.exchanged(), to: asked).completes == "poll")
    withExtendedLifetime(programs) {}
  }
}
