import Logging
import NIOPosix
import Testing
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Uses a real listener on the loopback interface. The test sets the user of each connection.
@Suite("Redirect listener", .timeLimit(.minutes(10)))
struct RedirectListenerTests {
  private struct Request: Sendable {
    var method = "GET"
    var target: String
    var headers: [String: String] = [:]
  }

  /// Sends requests and returns the pages and the answers that the flow received.
  private func visit(
    _ requests: [Request], asUser uid: UInt32? = 1000, path: String = "/callback",
    form: RedirectForm = .oauth
  ) async throws -> (replies: [Web.Reply], answers: [AuthorizationResponse]) {
    let answers = Recorded<AuthorizationResponse>()
    let listeners = RedirectListeners(
      dependencies: .fake(sockets: .browsers(of: uid)),
      group: MultiThreadedEventLoopGroup.singleton)
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: nil, path: path, state: Secret("our-state"), form: form)
    let listener = try await listeners.open(expectation, for: 1000) { answer in
      answers.add(answer)
      return nil
    }
    defer { listener.close() }
    let base = String(listener.redirectURI.dropLast(path.count))
    var replies: [Web.Reply] = []
    for request in requests {
      replies.append(
        try await RedirectListenerFixture.offPool {
          try Web.send(
            request.method, base + request.target, headers: request.headers, within: 60)
        })
    }
    return (replies, answers.all)
  }

  @Test("a redirect listener that would use the last descriptors is refused as overloaded")
  func noDescriptors() async throws {
    let listeners = RedirectListeners(
      dependencies: .fake(descriptors: DescriptorBudget(limit: 0)),
      group: MultiThreadedEventLoopGroup.singleton)
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: nil, path: "/callback", state: Secret("our-state"), form: .oauth)
    do throws(RedirectListenError) {
      _ = try await listeners.open(expectation, for: 1000) { _ in nil }
      Issue.record("a listener was opened")
    } catch {
      guard case .noDescriptors(let error) = error else {
        Issue.record("the listener was refused for another reason: \(error)")
        return
      }
      #expect(error.reason == .overloaded && error.detail.limit == "LimitNOFILE")
    }
  }

  @Test("a redirect delivers code and issuer to the flow, and the page does not say Signed in yet")
  func arrived() async throws {
    let target = "/callback?code=abc&state=our-state&iss=https%3A%2F%2Fid.example"
    let (replies, answers) = try await visit([Request(target: target)])
    #expect(replies[0].status == 200)
    #expect(!replies[0].text.contains("Signed in") && replies[0].text.contains("Almost done"))
    #expect(answers == [AuthorizationResponse(code: Secret("abc"), iss: "https://id.example")])
  }

  @Test("a redirect with neither code nor error gets the page Not signed in")
  func neither() async throws {
    let (replies, answers) = try await visit([Request(target: "/callback?state=our-state")])
    #expect(replies[0].text.contains("Not signed in"))
    #expect(answers == [AuthorizationResponse()])
  }

  @Test("a redirect with an error reaches the flow and gets the page Not signed in")
  func refused() async throws {
    let target = "/callback?error=access_denied&error_description=no&state=our-state"
    let (replies, answers) = try await visit([Request(target: target)])
    #expect(replies[0].status == 200)
    #expect(replies[0].text.contains("Not signed in"))
    #expect(answers == [AuthorizationResponse(error: "access_denied", errorDescription: "no")])
  }

  @Test("requests with a wrong path, method, host or state are refused and do not end the listener")
  func others() async throws {
    let good = "/callback?code=abc&state=our-state"
    let cases: [(Request, Int)] = [
      (Request(target: "/"), 404), (Request(target: "/favicon.ico"), 404),
      (Request(target: "/callback/?code=abc&state=our-state"), 404),
      (Request(target: "/Callback?code=abc&state=our-state"), 404),
      (Request(target: "/%63allback?code=abc&state=our-state"), 404),
      (Request(method: "POST", target: good), 405), (Request(method: "HEAD", target: good), 405),
      (Request(method: "PUT", target: good), 405), (Request(method: "DELETE", target: good), 405),
      (Request(target: good, headers: ["Host": "evil.example"]), 400),
      (Request(target: good, headers: ["Host": "localhost:1"]), 400),
      (Request(target: good, headers: ["Host": "127.0.0.1"]), 400),
      (Request(target: good, headers: ["Host": ""]), 400),
      (Request(target: "/callback"), 400), (Request(target: "/callback?code=abc"), 400),
      (Request(target: "/callback?code=abc&state="), 400),
      (Request(target: "/callback?code=abc&state=another"), 400),
      (Request(target: "/callback?code=abc&state=our-stat"), 400),
      (Request(target: "/callback?code=abc&state=our-state0"), 400),
      (Request(target: "/callback?code=abc&state=our-state&state=our-state"), 400),
      (Request(target: "/callback?code=abc&code=abd&state=our-state"), 400),
    ]
    let (replies, answers) = try await visit(cases.map(\.0) + [Request(target: good)])
    for ((request, status), reply) in zip(cases, replies) {
      #expect(reply.status == status, "\(request)")
    }
    #expect(replies.last?.status == 200)
    #expect(answers.count == 1)
  }

  @Test("a redirect URI with the host localhost is served at 127.0.0.1, under that host name only")
  func localhost() async throws {
    let answers = Recorded<AuthorizationResponse>()
    let listeners = RedirectListeners(
      dependencies: .fake(sockets: .browsers(of: 1000)),
      group: MultiThreadedEventLoopGroup.singleton)
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: nil, path: "/callback", state: Secret("our-state"),
      isLocalhost: true)
    let listener = try await listeners.open(expectation, for: 1000) { answer in
      answers.add(answer)
      return nil
    }
    defer { listener.close() }
    let url = listener.redirectURI
    #expect(url.hasPrefix("http://localhost:") && url.hasSuffix("/callback"))
    let port = url.dropFirst("http://localhost:".count).prefix { $0 != "/" }
    let target = "http://127.0.0.1:\(port)/callback?code=abc&state=our-state"
    for (host, status) in [("127.0.0.1:\(port)", 400), ("localhost:\(port)", 200)] {
      let reply = try await RedirectListenerFixture.offPool {
        try Web.send("GET", target, headers: ["Host": host], within: 60)
      }
      #expect(reply.status == status, "\(host)")
    }
    #expect(answers.all.count == 1)
  }

  @Test("with a secret path instead of a state, every other path gets the same 404 page")
  func byPath() async throws {
    let path = "/callback/4f1e"
    let good = path + "?authorization_code=abc"
    let cases: [(String, Int)] = [
      ("/callback?code=abc", 404), ("/callback/?code=abc", 404), ("/callback/4f1?code=abc", 404),
      ("/callback/4f1f?code=abc", 404), ("/callback/4F1E?code=abc", 404),
      ("/callback/%34f1e?code=abc", 404), ("/callback/4f1e/?code=abc", 404),
      ("/4f1e?code=abc", 404), ("/callback?code=abc&state=our-state", 404),
      (path + "?code=abc&authorization_code=abc", 400),
      (path + "?error_code=1&error_code=1", 400), (good, 200),
    ]
    let (replies, answers) = try await visit(
      cases.map { Request(target: $0.0) }, path: path, form: .freedom)
    for ((target, status), reply) in zip(cases, replies) {
      #expect(reply.status == status, "\(target)")
      #expect(!reply.text.contains("4f1e") && !reply.text.contains("abc"))
    }
    #expect(Set(replies.filter { $0.status == 404 }.map(\.text)).count == 1)
    #expect(answers == [AuthorizationResponse(code: Secret("abc"))])
    let (elsewhere, none) = try await visit(
      [Request(target: good)], asUser: 1001, path: path, form: .freedom)
    #expect(elsewhere[0].status == 403 && none.isEmpty)
  }

  @Test("a redirect by a browser of another or an unknown user gets 403", arguments: [1001, nil])
  func otherUser(uid: UInt32?) async throws {
    let (replies, answers) = try await visit(
      [Request(target: "/callback?code=abc&state=our-state")], asUser: uid)
    #expect(replies[0].status == 403)
    #expect(answers.isEmpty)
  }

  @Test("redirect pages forbid caching, referrer and scripts, and contain neither code nor state")
  func headers() async throws {
    let (replies, _) = try await visit([
      Request(target: "/callback?code=abc&state=our-state"), Request(target: "/none"),
    ])
    for reply in replies {
      #expect(reply.headers["cache-control"] == "no-store")
      #expect(reply.headers["referrer-policy"] == "no-referrer")
      #expect(reply.headers["x-content-type-options"] == "nosniff")
      #expect(reply.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
      #expect(!reply.text.contains("abc") && !reply.text.contains("our-state"))
    }
  }
}
