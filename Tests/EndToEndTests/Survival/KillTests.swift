import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle of a sign-in, which has the effect of a power failure or an OOM kill.
@Suite("kill -9 in the middle of a sign-in, and restarts", .mayBlock, .timeLimit(.minutes(10)))
struct KillTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  @Test(
    "a flow whose redirect port was taken after kill -9 gets a new page and the problem interrupted",
    .ownProcess)
  func portTaken() throws {
    var (before, old): (JSONValue, String) = (.null, "")
    var squatter: TestSocket?
    // If another program gets the port first, the next flow has another port.
    try eventually("the test gets the redirect port of a flow") {
      if !daemon.isRunning { try daemon.start() }
      before = try daemon.client().startFlow()
      old = try #require(before["step"]?["redirectURI"]?.stringValue)
      daemon.killAtOnce()
      let port = try #require(URLComponents(string: old)?.port)
      squatter = try? TestSocket(listeningAt: .loopback(port: UInt16(port)))
      return squatter != nil
    }
    try daemon.start()
    let client = try daemon.client()
    let renewed = try client.flow(of: before) { $0["problem"]?["reason"] == "interrupted" }
    let open = try client.flow(of: renewed) { $0["step"]?["type"] == "openURL" }
    #expect(open["problem"]?["reason"] == "interrupted")
    #expect(open["step"]?["redirectURI"]?.stringValue != old)
    try Person.signIn(at: open.page())
    #expect(try client.finished(open)["status"] == "succeeded")
    withExtendedLifetime(squatter) {}
  }

  @Test(
    "after kill -9 during the code exchange a flow asks for a new sign-in, and then succeeds",
    .ownProcess)
  func exchanging() throws {
    try sandbox.hold("token")
    let before = try daemon.client().startFlow()
    try Person.signIn(at: before.page())
    let held = try daemon.client().flow(of: before) { $0["state"] == "exchanging" }
    daemon.killAtOnce()
    try sandbox.release()
    try daemon.start()
    let client = try daemon.client()
    let again = try client.flow(of: held) { $0["step"]?["type"] == "openURL" }
    #expect(again["problem"]?["reason"] == "interrupted")
    #expect(again["step"]?["url"] != before["step"]?["url"])
    try Person.signIn(at: again.page())
    #expect(try client.finished(again)["status"] == "succeeded")
    try expectToken()
  }

  @Test("a restart changes no ended flow, account or token, and causes no refresh")
  func ended() throws {
    let client = try daemon.client()
    let cancelled = try client.startFlow()
    _ = try client.call("flow.cancel", ["flow": cancelled["id"] ?? .null])
    try client.signIn()
    let token = try client.call("token.get", ["provider": "demo"])
    let flows = try client.call("flow.list")
    let accounts = try client.call("account.list")
    try daemon.restart()
    let again = try daemon.client()
    #expect(try again.call("flow.list") == flows)
    #expect(try again.call("account.list") == accounts)
    #expect(try again.call("token.get", ["provider": "demo"]) == token)
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 0)
  }

  private func expectToken() throws {
    let token = try daemon.client().call("token.get", ["provider": "demo"])
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
  }
}

extension RawClient {
  /// Waits for changes of a flow until it meets a condition.
  func flow(
    of flow: JSONValue, until holds: (JSONValue) -> Bool
  ) throws -> JSONValue {
    var flow = flow
    let deadline = TestDeadline(within: 120)
    while !holds(flow), !deadline.isOver {
      let result = try call(
        "flow.wait",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 10_000,
        ])
      flow = try self.flow(in: result)
    }
    try must(holds(flow), "the flow does not reach the expected state: \(flow.text)")
    return flow
  }
}
