import NIOPosix
import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Uses a real listener on the loopback interface.
@Suite("Redirect listener for posted answers", .timeLimit(.minutes(10)))
struct RedirectPostTests {
  private static let form = "application/x-www-form-urlencoded"
  private static let good = "code=abc&state=our-state"

  private struct Request: Sendable {
    var method = "POST"
    var target = "/callback"
    var body: String? = good
    var type = form
    var headers: [String: String] = [:]
  }

  /// Sends requests to a listener at which one flow waits for a posted answer, and another flow,
  /// with the state `plain`, for one in the query.
  private func visit(
    _ requests: [Request]
  ) async throws -> (replies: [Web.Reply], answers: [AuthorizationResponse]) {
    let answers = Recorded<AuthorizationResponse>()
    let listeners = RedirectListeners(
      dependencies: .fake(sockets: .browsers(of: 1000)),
      group: MultiThreadedEventLoopGroup.singleton)
    var form = RedirectForm.oauth
    form.isPosted = true
    let listener = try await listeners.open(
      RedirectExpectation(
        host: "127.0.0.1", port: nil, path: "/callback", state: Secret("our-state"), form: form),
      for: 1000
    ) { answer in
      answers.add(answer)
      return nil
    }
    defer { listener.close() }
    let base = String(listener.redirectURI.dropLast("/callback".count))
    let port = try #require(base.split(separator: ":").last.flatMap { Int($0) })
    let plain = try await listeners.open(
      RedirectExpectation(
        host: "127.0.0.1", port: port, path: "/callback", state: Secret("plain")), for: 1000
    ) { answer in
      answers.add(answer)
      return nil
    }
    defer { plain.close() }
    var replies: [Web.Reply] = []
    for request in requests {
      replies.append(
        try await RedirectListenerFixture.offPool {
          try Web.send(
            request.method, base + request.target, body: request.body.map { Array($0.utf8) },
            type: request.type, headers: request.headers, within: 60)
        })
    }
    return (replies, answers.all)
  }

  @Test("a posted answer delivers code and issuer to the flow, with or without a charset")
  func arrived() async throws {
    let body = Self.good + "&iss=https%3A%2F%2Fid.example"
    let (replies, answers) = try await visit([
      Request(body: body), Request(body: body, type: "Application/X-WWW-Form-URLencoded;charset=x"),
    ])
    #expect(replies.map(\.status) == [200, 200])
    #expect(replies.allSatisfy { $0.headers["access-control-allow-origin"] == nil })
    let answer = AuthorizationResponse(code: Secret("abc"), iss: "https://id.example")
    #expect(answers == [answer, answer])
  }

  @Test("a posted error reaches the flow and gets the page Not signed in")
  func error() async throws {
    let (replies, answers) = try await visit([
      Request(body: "error=access_denied&state=our-state")
    ])
    #expect(replies[0].text.contains("Not signed in"))
    #expect(answers == [AuthorizationResponse(error: "access_denied")])
  }

  @Test(
    "a posted answer with a wrong path, type, host, state or size is refused, and so is the query")
  func refused() async throws {
    let long = Self.good + "&x=" + String(repeating: "a", count: RedirectParseResult.maxLength)
    let cases: [(Request, Int)] = [
      (Request(target: "/other"), 404), (Request(target: "/callback/"), 404),
      (Request(target: "/callback?state=our-state"), 400), (Request(target: "/callback?"), 400),
      (Request(type: "application/json"), 400), (Request(type: "text/plain"), 400),
      (Request(type: Self.form + "x"), 400), (Request(body: nil), 400),
      (Request(body: ""), 400), (Request(body: "code=abc"), 400),
      (Request(body: "code=abc&state=another"), 400),
      (Request(body: Self.good + "&state=our-state"), 400),
      (Request(body: Self.good + "&code=abd"), 400),
      (Request(body: "code=%ff&state=our-state"), 400),
      (Request(headers: ["Host": "evil.example"]), 400),
      (Request(headers: ["Host": "localhost:1"]), 400), (Request(body: long), 413),
      (Request(method: "PUT"), 405), (Request(method: "OPTIONS", body: nil), 405),
      // A flow that waits for a posted answer takes none from the query, and the other way round.
      (Request(method: "GET", target: "/callback?" + Self.good, body: nil), 405),
      (Request(body: "code=abc&state=plain"), 405),
    ]
    let (replies, answers) = try await visit(cases.map(\.0) + [Request()])
    for ((request, status), reply) in zip(cases, replies) {
      #expect(reply.status == status, "\(request)")
    }
    #expect(replies.last?.status == 200)
    #expect(answers.count == 1)
  }

  @Test("a posted answer without a length is refused as soon as it exceeds the limit")
  func chunked() async throws {
    let answers = Recorded<AuthorizationResponse>()
    let listeners = RedirectListeners(
      dependencies: .fake(sockets: .browsers(of: 1000)),
      group: MultiThreadedEventLoopGroup.singleton)
    var form = RedirectForm.oauth
    form.isPosted = true
    let listener = try await listeners.open(
      RedirectExpectation(
        host: "127.0.0.1", port: nil, path: "/callback", state: Secret("our-state"), form: form),
      for: 1000
    ) { answer in
      answers.add(answer)
      return nil
    }
    defer { listener.close() }
    let authority = listener.redirectURI.dropFirst("http://".count).dropLast("/callback".count)
    let port = try #require(authority.split(separator: ":").last.flatMap { UInt16($0) })
    let head =
      "POST /callback HTTP/1.1\r\nHost: \(authority)\r\nContent-Type: \(Self.form)\r\n"
      + "Transfer-Encoding: chunked\r\n\r\n"
    // The last chunk, which says that the body is complete, is missing: the limit counts before it.
    // One byte is too many, so the daemon has read all of them when it answers: a connection that
    // is closed with unread bytes is reset, which can lose the answer.
    let start = Self.good + "&x="
    let rest = RedirectParseResult.maxLength + 1 - start.utf8.count
    let body = start + String(repeating: "a", count: rest)
    let chunk = String(body.utf8.count, radix: 16) + "\r\n" + body
    let page = try await RedirectListenerFixture.offPool {
      let deadline = TestDeadline()
      let socket = try TestSocket(connectedTo: .loopback(port: port), by: deadline)
      try socket.send(Array((head + chunk).utf8), by: deadline)
      var bytes: [UInt8] = []
      while let more = try? socket.receive(by: deadline) { bytes += more }
      return String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
    }
    #expect(page.contains("413"))
    #expect(answers.all.isEmpty)
  }
}
