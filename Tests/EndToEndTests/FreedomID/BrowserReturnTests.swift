import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The browser's way to Freedom's page and back, where neither `state` nor PKCE is documented.
@Suite("Freedom ID's partner API: the way back", .mayBlock, .timeLimit(.minutes(10)))
struct BrowserReturnTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.partner() }

  @Test("each flow's redirect URI ends in 128 random bits, and no parameter of ours is in the link")
  func path() throws {
    let flows = try (0..<3).map { _ in try scene.authorize(["read.firstname"]) }
    for flow in flows {
      #expect(
        flow.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/callback\/[0-9a-f]{32}/) != nil,
        "\(flow.redirectURI)")
      let names = URLComponents(string: flow.url)?.queryItems?.map(\.name)
      #expect(names == ["track_id", "expire_at"])
    }
    #expect(Set(flows.map { $0.redirectURI.suffix(32) }).count == 3)
  }

  @Test("a redirect to another path never touches the flow")
  func otherPath() throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    let secret = String(flow.redirectURI.suffix(32))
    let others = [
      "", String(secret.dropLast()), secret + "0", secret.uppercased() + "X", secret + "/",
      String(repeating: "0", count: 32), "../\(secret)", secret + "/x", "%2e/" + secret,
    ]
    for other in others {
      let url = back.replacingOccurrences(of: secret, with: other)
      #expect(try Web.get(url).status == 404, "\(url)")
    }
    #expect(try Web.get(back.replacingOccurrences(of: "/\(secret)", with: "")).status == 404)
    #expect(try scene.flow(flow) == flow)
    #expect(try scene.requests("token") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("only one GET to the right host is looked at, and the listener closes behind it")
  func requests() throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    for method in ["POST", "PUT", "HEAD", "DELETE"] {
      #expect(try Web.send(method, back, body: []).status == 405)
    }
    for host in ["evil.example.com", "localhost", "127.0.0.1", ""] {
      #expect(try Web.send("GET", back, headers: ["Host": host]).status == 400)
    }
    #expect(try scene.flow(flow) == flow)
    let page = try Web.get(back)
    #expect(page.status == 200 && page.text.contains("Signed in"))
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
    #expect(throws: TestTrouble.self) { try Web.get(back) }
    #expect(try scene.requests("token") == 1)
  }

  @Test("a parameter twice, code and authorization_code being one: the flow is untouched")
  func twice() throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    for more in ["&code=other", "&authorization_code=other", "&error_code=1&error_code=2"] {
      #expect(try Web.get(back + more).status == 400)
      #expect(
        try scene.refusal(["type": "openURL", "redirectURL": .string(back + more)], to: flow)
          == ["invalid_input", "input.redirectURL"])
    }
    #expect(try scene.flow(flow) == flow)
    #expect(try scene.paste(back, to: flow)["status"] == "succeeded")
  }

  @Test("two flows at once: neither takes the other's answer, and both end well")
  func twoFlows() throws {
    let flows = try [scene.authorize(["read.firstname"]), scene.authorize(["read.email"])]
    let backs = try zip(flows, ["alice", "bob"]).map { try scene.decide(at: $0.url, $1) }
    for (flow, other) in zip(flows, backs.reversed()) {
      #expect(
        try scene.refusal(["type": "openURL", "redirectURL": .string(other)], to: flow)
          == ["invalid_input", "input.redirectURL"])
      // The other's path, at this flow's port.
      let port = try #require(URLComponents(string: flow.redirectURI)?.port)
      var crossed = try #require(URLComponents(string: other))
      crossed.port = port
      #expect(try Web.get(try #require(crossed.string)).status == 404)
      #expect(try scene.flow(flow) == flow)
    }
    for back in backs { #expect(try Web.get(back).status == 200) }
    let ends = try flows.map { try scene.app.finished($0) }
    #expect(ends[0].profile == ["firstname": "Alice"])
    #expect(ends[1].profile == ["email": "bob@example.com"])
  }

  @Test("the URL that the browser ended at can be pasted, with blanks around it")
  func pasted() throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    for other in [
      "", "x", "https://evil.example.com/callback?code=1", "\(flow.redirectURI)0?code=1",
      flow.redirectURI.dropLast() + "?code=1", back.replacing("127.0.0.1", with: "127.0.0.2"),
      back.replacing("http:", with: "https:"),
    ] {
      #expect(
        try scene.refusal(["type": "openURL", "redirectURL": .string(String(other))], to: flow)
          == ["invalid_input", "input.redirectURL"], "\(other)")
    }
    #expect(try scene.flow(flow) == flow)
    let end = try scene.paste("  \(back)\n", to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try scene.refusal(["type": "openURL", "redirectURL": .string(back)], to: flow)[0]
        == "flow_finished")
  }

  @Test("where the port of a fixed redirect is taken, the URL is pasted")
  func portTaken() throws {
    let port = try TakenPort()
    let scene = try FreedomScene.partner(
      "redirect = \"http://127.0.0.1:\(port.number)/callback\"")
    let flow = try scene.authorize(["read.firstname"])
    #expect(flow.completes == "submit", "\(flow.text)")
    #expect(flow.redirectURI.hasPrefix("http://127.0.0.1:\(port.number)/callback/"))
    let end = try scene.paste(scene.decide(at: flow.url), to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    withExtendedLifetime(port) {}
  }

  @Test("two flows at one fixed port are both come back to, each at its own path")
  func fixedPort() throws {
    let port = UInt16(try LoopbackPort.unused())
    let scene = try FreedomScene.partner("redirect = \"http://127.0.0.1:\(port)/callback\"")
    let flows = try [scene.authorize(["read.firstname"]), scene.authorize(["read.email"])]
    #expect(flows.map(\.completes) == ["loopback", "loopback"])
    let backs = try zip(flows, ["alice", "bob"]).map { try scene.decide(at: $0.url, $1) }
    #expect(try Web.get(backs[1]).status == 200)
    #expect(try scene.app.finished(flows[1]).profile == ["email": "bob@example.com"])
    #expect(try scene.flow(flows[0]) == flows[0])
    #expect(try Web.get(backs[1]).status == 404, "that flow has ended")
    #expect(try Web.get(backs[0]).status == 200)
    #expect(try scene.app.finished(flows[0]).profile == ["firstname": "Alice"])
  }

  @Test("a link that is over: a new one stands in the step by itself, with the same redirect URI")
  func expired() throws {
    try scene.set(["linkSeconds": 4])
    let flow = try scene.authorize(["read.firstname"])
    try scene.set(["linkSeconds": 600])
    let renewed = try scene.anotherPage(than: flow)
    #expect(renewed.redirectURI == flow.redirectURI && renewed.state == "browser")
    #expect(renewed.problem == nil, "\(renewed.text)")
    #expect(try scene.requests("link") == 2)
    try eventually("the old link is over") {
      try !Web.get(flow.url).text.contains("id=\"login\"")
    }
    try scene.visit(renewed)
    #expect(try scene.app.finished(renewed)["status"] == "succeeded")
  }

  @Test("the provider is away when the link is over: the flow says so, and goes on when it is back")
  func expiredWhileAway() throws {
    try scene.set(["linkSeconds": 4])
    let flow = try scene.authorize(["read.firstname"])
    try scene.set(["linkSeconds": 600])
    try scene.spoil("link", ["status": 503], times: 1)
    let away = try scene.moved(flow, "tells of it") { $0.problem == "provider_unreachable" }
    let renewed = try scene.anotherPage(than: away)
    #expect(renewed.problem == nil && renewed.redirectURI == flow.redirectURI)
    try scene.visit(renewed)
    #expect(try scene.app.finished(renewed)["status"] == "succeeded")
  }

  @Test("who is back just when a new link is asked for has come in time")
  func backWhileAsking() throws {
    try scene.set(["linkSeconds": 4])
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    try scene.spoil("link", ["delayMs": 5000], times: 1)
    try eventually("a new one is asked for") { try scene.requests("link") == 2 }
    #expect(try Web.get(back).status == 200)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("a link that does not say how long it is good, or says something odd, is good for a while")
  func noEnd() throws {
    for end in ["", "&expire_at=", "&expire_at=x", "&expire_at=1", "&expire_at=-5"] {
      let track = try scene.authorize(["read.firstname"])
      let link = track.url.prefix { $0 != "&" } + end
      try scene.set(["linkReply": ["redirect_uri": .string(String(link))]])
      let flow = try scene.authorize(["read.firstname"])
      #expect(flow.url == link)
      try scene.set(["linkReply": [:]])
      #expect(try scene.flow(flow) == flow)
    }
  }
}

/// What becomes of the code.
@Suite("Freedom ID's partner API: the code", .mayBlock, .timeLimit(.minutes(10)))
struct BrowserCodeTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.partner() }

  @Test("one that is not good ends the flow: 100101", arguments: [false, true])
  func notGood(inside200: Bool) throws {
    try scene.set(["wayBack": ["code": "spent-or-guessed"], "errorsInside200": .bool(inside200)])
    let end = try scene.attempt(["read.firstname"])
    #expect(end.failure == ["provider_rejected", "authError", "100101"], "\(end.text)")
    #expect(!end.text.contains("spent-or-guessed"))
    #expect(!scene.daemon.log.contains("spent-or-guessed"))
    #expect(try scene.accounts().isEmpty)
  }

  @Test("the browser's page says that the sign-in failed when the provider refuses the code")
  func pageOfFailure() throws {
    try scene.set(["wayBack": ["code": "spent-or-guessed"]])
    let flow = try scene.authorize(["read.firstname"])
    let page = try scene.visit(flow)
    #expect(!page.text.contains("Signed in"), "\(page.text)")
    #expect(page.text.contains("Not signed in"))
    #expect(!page.text.contains("spent-or-guessed"))
    #expect(try scene.app.finished(flow)["status"] == "failed")
  }

  @Test(
    "the answer is lost: the person is sent to the browser again, at another path",
    arguments: [["reset": true, "processed": true], ["status": 503]] as [JSONValue])
  func lost(fault: JSONValue) throws {
    try scene.spoil("token", fault, times: 1)
    let flow = try scene.authorize(["read.firstname"])
    try scene.visit(flow)
    let again = try scene.anotherPage(than: flow)
    #expect(again.problem == "provider_unreachable", "\(again.text)")
    #expect(again.redirectURI != flow.redirectURI)
    #expect(try scene.requests("token") == 1, "a code is redeemed once")
    try scene.visit(again)
    #expect(try scene.app.finished(again)["status"] == "succeeded")
  }

  @Test("the third answer that is lost is the last")
  func lostThrice() throws {
    try scene.spoil("token", ["reset": true, "processed": true])
    var flow = try scene.authorize(["read.firstname"])
    for round in 1...3 {
      try scene.visit(flow)
      guard round < 3 else { break }
      flow = try scene.anotherPage(than: flow)
    }
    let end = try scene.app.finished(flow)
    #expect(
      end.failure == ["provider_unreachable", "networkError.streamError", nil], "\(end.text)")
    #expect(try scene.requests("token") == 3)
  }

  @Test("one that was certainly not looked at is redeemed again, and nobody is asked")
  func notSent() throws {
    try scene.spoil("token", ["status": 429], times: 1)
    try scene.signedIn()
    #expect(try scene.requests("token") == 2 && scene.requests("link") == 1)
  }

  @Test("the person's data is read again until it comes; the code is not redeemed twice")
  func data() throws {
    try scene.spoil("user", ["reset": true], times: 2)
    try scene.signedIn()
    #expect(try scene.requests("user") == 3 && scene.requests("token") == 1)
  }

  @Test("neither the code nor a token stands in the log, the events, or the database")
  func canary() throws {
    let listener = try PartnerListener(scene.daemon.client())
    try scene.set(["codeParameter": "authorization_code"])
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    let code = try #require(URLComponents(string: back)?.queryItems?.first?.value)
    #expect(try Web.get(back).status == 200)
    let end = try scene.app.finished(flow)
    let token = try #require(try scene.token()["accessToken"]?.stringValue)
    #expect(token.count == 128 && code.count == 43)
    let heard = try listener.events { $0["flow"] == flow["id"] && $0["status"] == "succeeded" }
    let told = heard.map(\.text).joined() + end.text
    let secrets = [code, token, FreedomScene.clientSecret, String(flow.redirectURI.suffix(32))]
    for secret in secrets {
      #expect(!told.contains(secret), "told")
      let kept = scene.daemon.place.everything()
        .filter { $0.bytes.range(of: Data(secret.utf8)) != nil }
      #expect(kept.isEmpty, "\(secret) is in \(kept.map(\.name))")
    }
  }
}
