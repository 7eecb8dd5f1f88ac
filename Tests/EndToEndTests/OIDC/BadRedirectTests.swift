import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What happens to the answer of the provider on its way to the daemon.
struct BentRedirect: Sendable, CustomTestStringConvertible {
  typealias Fields = [(name: String, value: String)]

  let testDescription: String
  let bend: @Sendable (inout Fields) -> Void

  init(_ name: String, _ bend: @escaping @Sendable (inout Fields) -> Void) {
    testDescription = name
    self.bend = bend
  }

  func bent(_ url: String) throws -> String {
    var parts = try #require(URLComponents(string: url))
    var fields = (parts.queryItems ?? []).map { (name: $0.name, value: $0.value ?? "") }
    bend(&fields)
    let encoded = fields.map { "\($0.name)=\(FormText.escape($0.value))" }.joined(separator: "&")
    parts.percentEncodedQuery = fields.isEmpty ? nil : encoded
    return try #require(parts.string)
  }

  static func replace(_ name: String, _ value: String?) -> @Sendable (inout Fields) -> Void {
    { fields in
      fields.removeAll { $0.name == name }
      if let value { fields.append((name, value)) }
    }
  }
}

private enum FormText {
  static func escape(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }
}

@Suite(
  "redirects that are not the answer", .mayBlock, .timeLimit(.minutes(10)))
struct BadRedirectTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  static let strangers = [
    BentRedirect(
      "another state", BentRedirect.replace("state", "A" + String(repeating: "b", count: 31))),
    BentRedirect("an empty state", BentRedirect.replace("state", "")),
    BentRedirect("no state", BentRedirect.replace("state", nil)),
    BentRedirect("two states") { $0.append(("state", "other")) },
    BentRedirect("the state twice") { fields in
      fields += fields.filter { $0.name == "state" }
    },
    BentRedirect("two codes") { $0.append(("code", "ac_other")) },
    BentRedirect("two issuers") { $0.append(("iss", "https://evil.example.com")) },
    BentRedirect("nothing at all") { $0 = [] },
    BentRedirect("an error with another state") {
      $0 = [("error", "access_denied"), ("state", "other")]
    },
  ]

  @Test("with what is not this flow's answer the flow stays as it is", arguments: strangers)
  func untouched(_ stranger: BentRedirect) throws {
    let flow = try scene.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    let bent = try stranger.bent(back)
    let page = try Web.get(bent)
    #expect(page.status == 400)
    #expect(!page.text.contains("Signed in"))
    let error = try scene.app.error(of: "flow.submit", scene.submission(bent, to: flow))
    #expect(error.data["reason"] == "invalid_input")
    #expect(error.data["field"] == "input.redirectURL")
    #expect(!error.hasSecret)
    #expect(try scene.flow(flow) == flow)
    #expect(try scene.sandbox.requests("token") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("two flows cannot take each other's answers")
  func otherFlow() throws {
    let flows = try [scene.app.startFlow(), scene.app.startFlow()]
    let answers = try zip(flows, ["alice", "bob"]).map { flow, user in
      try #require(try Person.decide(at: flow.url, user: user).location)
    }
    for (flow, answer) in zip(flows, answers.reversed()) {
      let query = try #require(answer.split(separator: "?").last)
      let crossed = "\(flow.redirectURI)?\(query)"
      #expect(try Web.get(crossed).status == 400)
      let reason = try scene.app.reason(
        of: "flow.submit", scene.submission(crossed, to: flow))
      #expect(reason == "invalid_input")
      #expect(try scene.flow(flow) == flow)
    }
    for answer in answers { #expect(try Web.get(answer).status == 200) }
    for flow in flows { #expect(try scene.app.finished(flow)["status"] == "succeeded") }
    #expect(try scene.accounts.count == 2)
  }

  @Test("only a GET of the right path at the right host is looked at")
  func requests() throws {
    let flow = try scene.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    let elsewhere = back.replacingOccurrences(of: "/callback?", with: "/callback/x?")
    #expect(try Web.get(elsewhere).status == 404)
    #expect(try Web.get(back.replacingOccurrences(of: "/callback?", with: "/?")).status == 404)
    for method in ["POST", "PUT", "HEAD", "DELETE", "OPTIONS"] {
      #expect(try Web.send(method, back, body: []).status == 405)
    }
    let port = try #require(URLComponents(string: back)?.port)
    for host in ["evil.example.com", "localhost:\(port)", "127.0.0.1", "127.0.0.1:1", ""] {
      #expect(try Web.send("GET", back, headers: ["Host": host]).status == 400)
    }
    #expect(try scene.flow(flow) == flow)
    #expect(try scene.sandbox.requests("token") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("an answer that comes twice is redeemed once")
  func twice() throws {
    try scene.spoil("token", ["delayMs": 300], times: 1)
    let flow = try scene.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    #expect(try Web.get(back).status == 200)
    // The listener closes once the flow has moved on: another answer finds it closed, or deaf.
    let other = try BentRedirect("", BentRedirect.replace("code", "ac_other")).bent(back)
    for url in [back, other, back] { _ = try? Web.get(url) }
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(try scene.sandbox.requests("token") == 1)
    #expect(throws: TestTrouble.self) { try Web.get(back) }
    #expect(
      try scene.app.reason(of: "flow.submit", scene.submission(back, to: flow))
        == "flow_finished")
    #expect(try scene.token()["account"] == end["result"]?["account"])
  }
}

@Suite("redirects with bad news", .mayBlock, .timeLimit(.minutes(10)))
struct FailingRedirectTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  struct BadNews: Sendable, CustomTestStringConvertible {
    var testDescription: String { name }
    let name: String
    let answer: JSONValue
    let reason: JSONValue
    var code: JSONValue = .null
  }

  static let news = [
    BadNews(
      name: "denied", answer: ["code": nil, "error": "access_denied"], reason: "denied",
      code: "access_denied"),
    BadNews(
      name: "a code beside the error", answer: ["error": "access_denied"], reason: "denied",
      code: "access_denied"),
    BadNews(
      name: "server error", answer: ["code": nil, "error": "server_error"],
      reason: "provider_unreachable", code: "server_error"),
    BadNews(
      name: "another error",
      answer: ["code": nil, "error": "invalid_scope", "error_description": "no \u{1b}[31mscope"],
      reason: "provider_rejected", code: "invalid_scope"),
    BadNews(
      name: "an empty error", answer: ["code": nil, "error": ""], reason: "provider_rejected",
      code: "unknown"),
    BadNews(name: "no code", answer: ["code": nil], reason: "provider_protocol_error"),
    BadNews(name: "an empty code", answer: ["code": ""], reason: "provider_protocol_error"),
    BadNews(
      name: "another issuer", answer: ["iss": "https://evil.example.com"],
      reason: "provider_protocol_error"),
    BadNews(name: "no issuer", answer: ["iss": nil], reason: "provider_protocol_error"),
    BadNews(
      name: "another issuer's denial",
      answer: ["code": nil, "error": "access_denied", "iss": "https://evil.example.com"],
      reason: "provider_protocol_error"),
  ]

  @Test("the flow ends with the provider's word, and no code is redeemed", arguments: news)
  func ends(_ news: BadNews) throws {
    try scene.set(["authorizeResponse": news.answer])
    let flow = try scene.app.startFlow()
    let page = try Person.signIn(at: flow.url)
    #expect(page.status == 200)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == news.reason)
    #expect(end.failure["provider"]?["code"] ?? .null == news.code)
    #expect(!end.text.contains("u001b"))
    #expect(!end.hasSecret)
    #expect(try scene.sandbox.requests("token") == 0)
    #expect(try scene.accounts.isEmpty)
    try eventually("nobody listens any more") {
      (try? Web.get(flow.redirectURI)) == nil
    }
  }

  @Test("pasted, they end the flow likewise")
  func pasted() throws {
    let flow = try scene.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url, allow: false).location)
    let end = try scene.submit(back, to: flow, waitMs: 10_000)
    #expect(end.failure["reason"] == "denied")
    #expect(end.failure["provider"]?["code"] == "access_denied")
  }

  @Test("a code the provider does not know ends the flow with its refusal")
  func unknownCode() throws {
    try scene.set(["authorizeResponse": ["code": "ac_made_up"]])
    let end = try scene.attempt()
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_rejected")
    #expect(end.failure["provider"]?["code"] == "invalid_grant")
  }
}
