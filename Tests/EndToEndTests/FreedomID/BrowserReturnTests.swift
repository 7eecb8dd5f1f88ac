import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The browser's way to Freedom's page and back. The partner API documents neither `state` nor
/// PKCE.
@Suite("Redirects of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct BrowserReturnTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.partner() }

  @Test("each redirect URI ends in 128 random bits, and the link has only Freedom's parameters")
  func path() throws {
    let flows = try (0..<3).map { _ in try fixture.authorize(["read.firstname"]) }
    for flow in flows {
      #expect(
        flow.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/callback\/[0-9a-f]{32}/) != nil,
        "\(flow.redirectURI)")
      let names = URLComponents(string: flow.url)?.queryItems?.map(\.name)
      #expect(names == ["track_id", "expire_at"])
    }
    #expect(Set(flows.map { $0.redirectURI.suffix(32) }).count == 3)
  }

  @Test("a redirect to another path never touches Freedom ID's flow")
  func otherPath() throws {
    let flow = try fixture.authorize(["read.firstname"])
    let back = try fixture.decide(at: flow.url)
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
    #expect(try fixture.flow(flow) == flow)
    #expect(try fixture.requests("token") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("if a fixed redirect port is in use, Freedom ID's flow completes by a pasted redirect URL")
  func portTaken() throws {
    let taken = try TestSocket(listeningAt: .loopback(port: 0))
    let fixture = try FreedomFixture.partner(
      "redirect = \"http://127.0.0.1:\(taken.port)/callback\"")
    let flow = try fixture.authorize(["read.firstname"])
    #expect(flow.completes == "submit", "\(flow.text)")
    #expect(flow.redirectURI.hasPrefix("http://127.0.0.1:\(taken.port)/callback/"))
    let end = try fixture.paste(fixture.decide(at: flow.url), to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    withExtendedLifetime(taken) {}
  }

  @Test("two Freedom ID flows with one fixed redirect port accept only the redirect to their path")
  func fixedPort() throws {
    let port = UInt16(try LoopbackPort.unused())
    let fixture = try FreedomFixture.partner("redirect = \"http://127.0.0.1:\(port)/callback\"")
    let flows = try [fixture.authorize(["read.firstname"]), fixture.authorize(["read.email"])]
    #expect(flows.map(\.completes) == ["loopback", "loopback"])
    let backs = try zip(flows, ["alice", "bob"]).map { try fixture.decide(at: $0.url, $1) }
    for (flow, other) in zip(flows, backs.reversed()) {
      #expect(
        try fixture.refusal(["type": "openURL", "redirectURL": .string(other)], to: flow)
          == ("invalid_input", "input.redirectURL"),
        "a flow refuses the redirect URL of another flow")
    }
    #expect(try Web.get(backs[1]).status == 200)
    #expect(try fixture.app.finished(flows[1]).profile == ["email": "bob@example.com"])
    #expect(try fixture.flow(flows[0]) == flows[0])
    #expect(try Web.get(backs[1]).status == 404, "the listener of an ended flow answers 404")
    #expect(try Web.get(backs[0]).status == 200)
    #expect(try fixture.app.finished(flows[0]).profile == ["firstname": "Alice"])
  }

  @Test("an expired Freedom ID link is replaced by a new one with the same redirect URI")
  func expired() throws {
    try fixture.set(["linkSeconds": 60])
    let flow = try fixture.authorize(["read.firstname"])
    try fixture.set(["linkSeconds": 600])
    try fixture.clock.advance(by: 61)
    let renewed = try fixture.anotherPage(than: flow)
    #expect(renewed.redirectURI == flow.redirectURI && renewed.state == "browser")
    #expect(renewed.problem == nil, "\(renewed.text)")
    #expect(try fixture.requests("link") == 2)
    try fixture.visit(renewed)
    #expect(try fixture.app.finished(renewed)["status"] == "succeeded")
  }
}

/// Redemption of the authorization code.
@Suite("Authorization codes of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct BrowserCodeTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.partner() }

  @Test("an invalid Freedom ID code ends the flow with 100101, and the browser's page says so")
  func notGood() throws {
    // While time stands still, the page waits for the outcome, however long it takes.
    fixture.clock.stop()
    try fixture.set(["wayBack": ["code": "spent-or-guessed"]])
    let flow = try fixture.authorize(["read.firstname"])
    let page = try fixture.visit(flow)
    #expect(!page.text.contains("Signed in") && page.text.contains("Not signed in"))
    let end = try fixture.app.finished(flow)
    #expect(end.failure == ["provider_rejected", "authError", "100101"], "\(end.text)")
    for text in [page.text, end.text, fixture.daemon.log] {
      #expect(!text.contains("spent-or-guessed"))
    }
    #expect(try fixture.accounts().isEmpty)
  }

  @Test("after a lost token answer, Freedom ID's flow opens a new page and redeems no code again")
  func lost() throws {
    try fixture.spoil("token", ["reset": true, "processed": true], times: 1)
    let flow = try fixture.authorize(["read.firstname"])
    try fixture.visit(flow)
    let again = try fixture.anotherPage(than: flow)
    #expect(again.problem == "provider_unreachable", "\(again.text)")
    #expect(again.redirectURI != flow.redirectURI)
    #expect(try fixture.requests("token") == 1, "the daemon redeems a code once")
    try fixture.visit(again)
    #expect(try fixture.app.finished(again)["status"] == "succeeded")
  }

  @Test("Freedom ID's code, token and client secret are in no event, log or file")
  func canary() throws {
    let listener = try PartnerListener(fixture.daemon.client())
    try fixture.set(["codeParameter": "authorization_code"])
    let flow = try fixture.authorize(["read.firstname"])
    let back = try fixture.decide(at: flow.url)
    let code = try #require(URLComponents(string: back)?.queryItems?.first?.value)
    #expect(try Web.get(back).status == 200)
    let end = try fixture.app.finished(flow)
    let token = try #require(try fixture.token()["accessToken"]?.stringValue)
    #expect(token.count == 128 && code.count == 43)
    let heard = try listener.events { $0["flow"] == flow["id"] && $0["status"] == "succeeded" }
    let told = heard.map(\.text).joined() + end.text
    let secrets = [code, token, FreedomFixture.clientSecret, String(flow.redirectURI.suffix(32))]
    for secret in secrets {
      #expect(!told.contains(secret), "a reply or an event contains \(secret)")
      let kept = fixture.daemon.place.everything()
        .filter { $0.bytes.range(of: Data(secret.utf8)) != nil }
      #expect(kept.isEmpty, "these files contain \(secret): \(kept.map(\.name))")
    }
  }
}
