import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Objects of other users are reported as `not_found`; the kernel identifies the caller.
@Suite(
  "Isolation of two users of one machine", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
struct IsolationTests {
  private let sandbox: SandboxUnderTest
  private let clock = MovableClock()
  private let daemon: DaemonUnderTest
  private let alice: OtherUser
  private let bob: OtherUser

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [access]
        group = "4242"
        [limits]
        live_flows_per_user = 3
        flow_starts_per_minute = 6

        """ + sandbox.provider(), clock: clock)
    alice = try OtherUser(4001, groups: "4242", at: daemon)
    bob = try OtherUser(4002, groups: "4242", at: daemon)
  }

  @Test("a flow of another user is answered like one that does not exist, and stays unchanged")
  func flows() throws {
    let mine = try alice.client()
    let flow = try mine.startFlow()
    let back = try #require(try Person.decide(at: flow.page()).location)
    let other = try bob.client()
    let calls: [(String, JSONValue)] = [
      ("flow.get", [:]), ("flow.cancel", [:]), ("flow.wait", ["revision": 0, "timeoutMs": 5000]),
      (
        "flow.submit",
        [
          "revision": flow["revision"] ?? .null,
          "input": ["type": "openURL", "redirectURL": .string(back)],
        ]
      ),
    ]
    for (method, params) in calls {
      try expectNothing(method, params, "flow", flow["id"], other)
    }
    #expect(try other.call("flow.list")["flows"] == [])
    #expect(try mine.call("flow.get", ["flow": flow["id"] ?? .null])["flow"] == flow)
    #expect(try alice.browse(back).status == 200)
    #expect(try mine.finished(flow)["status"] == "succeeded")
  }

  @Test(
    "accounts and tokens of another user are not found, and two users can use the same request id")
  func accounts() throws {
    let account = try alice.signIn()["result"]?["account"]
    let other = try bob.client()
    for method in ["account.get", "account.forget", "token.get", "token.revoke"] {
      try expectNothing(method, [:], "account", account, other)
    }
    try expectNothing(
      "flow.start", ["provider": "demo", "kind": "authorize"], "params.account", account, other)
    #expect(try other.call("account.list")["accounts"] == [])
    #expect(try other.call("token.list")["tokens"] == [])
    #expect(
      try other.reason(of: "token.get", ["provider": "demo"]) == "interaction_required")
    let start: JSONValue = [
      "provider": "demo", "kind": "authorize", "params": [:], "requestId": "r",
    ]
    _ = try alice.client().call("flow.start", start)
    _ = try other.call("flow.start", start)
    let token = try alice.client().call("token.get", ["provider": "demo"])
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
    // On the app socket, root is an ordinary user.
    #expect(try daemon.client().call("account.list")["accounts"] == [])
  }

  @Test("a subscriber gets no events of another user, not even with an earlier cursor")
  func events() throws {
    let topics: JSONValue = ["topics": ["flow", "account", "token", "confirm", "kyc"]]
    let (mine, other) = (try alice.client(), try bob.client())
    _ = try mine.call("events.subscribe", topics)
    let cursor = try other.call("events.subscribe", topics)["cursor"]
    let end = try alice.signIn()
    let first = try #require(try mine.receive())["params"]?["event"]
    #expect(first?["flow"] == end["id"])
    // Bob's first event is about his own flow: Alice's events were not delivered to him.
    let own = try bob.client().startFlow()
    let heard = try #require(try other.receive())["params"]?["event"]
    #expect(heard?["flow"] == own["id"])
    // A subscription from an earlier cursor gets no event of Alice, either.
    let late = try bob.client()
    _ = try late.call(
      "events.subscribe", ["topics": ["flow", "account"], "since": cursor ?? .null])
    let past = try #require(try late.receive())["params"]?["event"]
    #expect(past?["flow"] == own["id"])
  }

  @Test("the redirect listener refuses another user's browser, even with the right URL")
  func browser() throws {
    let client = try alice.client()
    let flow = try client.startFlow()
    // Bob signs in as himself at Alice's URL, and his browser follows the redirect.
    let intruding = try #require(
      try Person.decide(at: flow.page(), user: "bob").location)
    let refused = try bob.browse(intruding)
    #expect(refused.status == 403)
    #expect(refused.page.contains("another user of this machine"))
    #expect(try Web.get(intruding).status == 403, "the listener also refuses a browser of root")
    #expect(try client.call("flow.get", ["flow": flow["id"] ?? .null])["flow"] == flow)
    #expect(try sandbox.requests("token") == 0)
    let back = try #require(try Person.decide(at: flow.page()).location)
    #expect(try alice.browse(back).status == 200)
    let end = try client.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(
      try client.call("account.list")["accounts"]?.arrayValue?.first?["subject"] == "usr_alice")
    #expect(daemon.log.contains("another user's browser connected to a redirect listener"))
  }

  @Test("a user outside access.group gets system.status without providers, and no other method")
  func outsider() throws {
    let carol = try OtherUser(4003, groups: "4003", at: daemon)
    let outsider = try carol.client()
    let status = try outsider.call("system.status")
    #expect(status["ready"] == true)
    #expect(status["providers"] == [])
    let calls: [(String, JSONValue)] = [
      ("flow.start", ["provider": "demo", "kind": "authorize", "params": [:]]),
      ("flow.list", [:]), ("flow.get", ["flow": "flw_00000000000000000000000000"]),
      ("account.list", [:]), ("token.get", ["provider": "demo"]), ("token.list", [:]),
      ("provider.list", [:]),
    ]
    for (method, params) in calls {
      #expect(try outsider.reason(of: method, params) == "permission_denied", "\(method)")
    }
    withExtendedLifetime(carol) {}
  }

  @Test(
    "another user cannot connect to the admin socket, and the app socket has no credential.list")
  func admin() throws {
    #expect(try alice.connect(to: daemon.socketPath) == "connected")
    #expect(try alice.connect(to: daemon.adminSocketPath) == "EACCES")
    #expect(try alice.client().reason(of: "credential.list") == "method_not_found")
  }

  @Test("a user who has reached live_flows_per_user does not limit the flow starts of another user")
  func limits() throws {
    // The stopped clock allows no further flow start, however long the test takes.
    clock.stop()
    let (mine, other) = (try alice.client(), try bob.client())
    for _ in 0..<3 { _ = try mine.startFlow() }
    let start: JSONValue = ["provider": "demo", "kind": "authorize", "params": [:]]
    #expect(
      try mine.error(of: "flow.start", start)["data"]?["limit"] == "live_flows_per_user")
    for _ in 0..<6 {
      let flow = try other.startFlow()
      _ = try other.call("flow.cancel", ["flow": flow["id"] ?? .null])
    }
    let error = try other.error(of: "flow.start", start)
    #expect(error["data"]?["limit"] == "flow_starts_per_minute")
    #expect((error["data"]?["retryAfterMs"]?.integerValue ?? 0) > 0)
    let flows = try mine.call("flow.list")["flows"]?.arrayValue ?? []
    _ = try mine.call("flow.cancel", ["flow": flows.first?["id"] ?? .null])
    _ = try mine.startFlow()
  }

  /// Expects that the error for another user's object equals the one for an unknown id, except for
  /// the id.
  private func expectNothing(
    _ method: String, _ params: JSONValue, _ member: String, _ id: JSONValue?,
    _ client: RawClient
  ) throws {
    let real = try #require(id?.stringValue)
    let none = String(real.prefix(4)) + String(repeating: "0", count: real.count - 4)
    func said(_ id: String) throws -> String {
      var params = params
      if member == "params.account" {
        params["params"] = ["account": .string(id)]
      } else {
        params[member] = .string(id)
      }
      var error = try client.error(of: method, params)
      error["data"]?["correlationId"] = nil
      return error.text.replacing(id, with: "ID")
    }
    let aboutReal = try said(real)
    #expect(try aboutReal == said(none))
    #expect(aboutReal.contains("not_found"), "\(method): \(aboutReal)")
  }
}

extension OtherUser {
  /// Completes a sign-in with this user's browser.
  @discardableResult
  fileprivate func signIn() throws -> JSONValue {
    let client = try client()
    let flow = try client.startFlow()
    guard let back = try Person.decide(at: flow.page()).location else {
      throw TestError("the provider did not redirect")
    }
    let reply = try browse(back)
    try must(reply.status == 200, "the redirect listener answered \(reply.status)")
    let end = try client.finished(flow)
    try must(end["status"] == "succeeded", "the sign-in did not succeed: \(end.text)")
    return end
  }
}
