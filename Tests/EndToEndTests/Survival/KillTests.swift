import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` at each step of a sign-in, as the power or the kernel would do it.
@Suite("kill -9 in the middle of a sign-in", .mayBlock, .ownProcess)
struct KillTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  @Test("where the port is taken meanwhile, there is a new page and a word about it")
  func portTaken() throws {
    let before = try daemon.client().startFlow()
    let old = try #require(before["step"]?["redirectURI"]?.stringValue)
    daemon.killAtOnce()
    let squatter = try Squatter(port: try #require(URLComponents(string: old)?.port))
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

  @Test("a code in flight is asked for again")
  func exchanging() throws {
    try hold("token")
    let before = try daemon.client().startFlow()
    try Person.signIn(at: before.page())
    let held = try daemon.client().flow(of: before) { $0["state"] == "exchanging" }
    daemon.killAtOnce()
    try letGo()
    try daemon.start()
    let client = try daemon.client()
    let again = try client.flow(of: held) { $0["step"]?["type"] == "openURL" }
    #expect(again["problem"]?["reason"] == "interrupted")
    #expect(again["step"]?["url"] != before["step"]?["url"])
    try Person.signIn(at: again.page())
    #expect(try client.finished(again)["status"] == "succeeded")
    try expectToken()
  }

  @Test("what has ended stays as it ended")
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

  private func hold(_ endpoint: String) throws {
    try sandbox.control(
      "POST", "faults", ["endpoint": .string(endpoint), "fault": ["delayMs": 60_000]])
  }

  private func letGo() throws { try sandbox.control("DELETE", "faults") }

  private func expectToken() throws {
    let token = try daemon.client().call("token.get", ["provider": "demo"])
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
  }
}

extension RawClient {
  /// Follows a flow until it is as wanted.
  func flow(
    of flow: JSONValue, until holds: (JSONValue) -> Bool
  ) throws -> JSONValue {
    var flow = flow
    for _ in 0..<20 where !holds(flow) {
      let result = try call(
        "flow.wait",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 10_000,
        ])
      flow = try self.flow(in: result)
    }
    try must(holds(flow), "the flow never gets there: \(flow.text)")
    return flow
  }

  func transitions(of flow: JSONValue) throws -> [JSONValue] {
    try call("flow.wait", ["flow": flow["id"] ?? .null, "revision": 0, "timeoutMs": 0])[
      "transitions"]?.arrayValue ?? []
  }

}

/// Sits on a port of the loopback.
private final class Squatter {
  private let descriptor: Int32

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var yes: Int32 = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    try must(bound == 0 && listen(descriptor, 1) == 0, "port \(port) cannot be taken")
  }

  deinit { close(descriptor) }
}
