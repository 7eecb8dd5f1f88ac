import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What callers observe while the daemon stops (Service.md, "Stopping, and starting again").
@Suite("Stopping usherd during calls", .mayBlock, .timeLimit(.minutes(10)))
struct DrainTests {
  @Test(
    "usherd answers all calls sent before its stop, even if the client reads the replies later",
    arguments: [false, true])
  func sentBefore(readsLate: Bool) throws {
    let daemon = try DaemonUnderTest(
      config: """
        [limits]
        drain_seconds = 300
        unread_reply_bytes = 4096
        unread_reply_seconds = 300
        """)
    let client = try daemon.client()
    // The daemon has accepted the connection: without systemd, pending connections end with the
    // socket.
    _ = try client.call("system.status")
    let calls = (1...500).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"system.status"}"# }
    try client.send(calls.joined(separator: "\n"))
    daemon.beginStop()
    if readsLate { try expectDeaf(client) }
    var answered: Set<JSONValue> = []
    while let reply = try client.receive() {
      #expect(reply["result"] != nil, "\(reply.text)")
      if let id = reply["id"] { answered.insert(id) }
    }
    #expect(answered.count == 500)
    #expect(try daemon.stop() == 0)
  }

  @Test(
    "after SIGTERM no call can be sent, and a refresh in flight is answered and stored",
    .ownProcess)
  func sentLater() throws {
    let fixture = try HeldRefresh()
    let client = try fixture.begin()
    kill(fixture.daemon.pid, SIGTERM)
    try expectDeaf(client)
    for signal in [SIGTERM, SIGINT, SIGTERM] { kill(fixture.daemon.pid, signal) }
    try fixture.sandbox.release()
    let answer = try #require(try client.receive())
    let token = try #require(answer["result"]?["accessToken"], "\(answer.text)")
    #expect(try client.receive() == nil)
    #expect(try fixture.daemon.stop() == 0)
    try fixture.daemon.start()
    let again = try fixture.daemon.client().call("token.get", ["provider": "demo"])
    #expect(again["accessToken"] == token)
    #expect(try fixture.sandbox.requests("token", grantType: "refresh_token") == 1)
  }

  @Test("a call that usherd does not answer within drain_seconds gets shutting_down")
  func tooSlow() throws {
    let fixture = try HeldRefresh()
    let client = try fixture.begin()
    let answer = try fixture.receiveAfterDrain(client)
    #expect(answer["error"]?["data"]?["reason"] == "shutting_down", "\(answer.text)")
    #expect(try client.receive() == nil)
    try fixture.sandbox.release()
    #expect(try fixture.daemon.stop() == 0)
  }

  @Test(
    "after drain_seconds each call sent before the stop has its result or gets shutting_down")
  func unheard() throws {
    let limits = "unread_reply_bytes = 4096\nunread_reply_seconds = 300"
    let fixture = try HeldRefresh(limits: limits)
    let (waiting, client) = (try fixture.begin(), try fixture.daemon.client())
    _ = try client.call("system.status")
    // The long replies stay unread, so the daemon does not read most of the calls.
    let calls = (1...500).map { #"{"jsonrpc":"2.0","id":"c\#($0)","method":"rpc.discover"}"# }
    try client.send(calls.joined(separator: "\n"))
    let over = try fixture.receiveAfterDrain(waiting)
    #expect(over["error"]?["data"]?["reason"] == "shutting_down", "\(over.text)")
    var (answered, refused): (Set<JSONValue>, Set<JSONValue>) = ([], [])
    while let reply = try client.receive() {
      let id = try #require(reply["id"])
      if reply["result"] != nil {
        answered.insert(id)
      } else {
        #expect(reply["error"]?["data"]?["reason"] == "shutting_down", "\(reply.text)")
        refused.insert(id)
      }
    }
    #expect(answered.count + refused.count == 500 && !refused.isEmpty)
    #expect(answered.isDisjoint(with: refused))
    try fixture.sandbox.release()
    #expect(try fixture.daemon.stop() == 0)
  }

  @Test("a stop of usherd waits for unread replies as long as the reloaded limits say")
  func ownPatience() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(
      config: "[limits]\nunread_reply_bytes = 4096\nunread_reply_seconds = 300", clock: clock)
    let client = try daemon.client()
    _ = try client.call("system.status")
    let limits = "[limits]\ndrain_seconds = 1\nunread_reply_seconds = 1"
    try daemon.place.write(limits, to: "usherd.toml")
    #expect(try daemon.admin().call("system.reload")["problems"] == [])
    let calls = (1...500).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"rpc.discover"}"# }
    try client.send(calls.joined(separator: "\n"))
    daemon.beginStop()
    // With the first limits the daemon would wait for 300 s. The clock is advanced by 30 s, and the
    // test waits for 150 s at most, on the slowest machine that `TestDeadline` allows for.
    try eventually(within: 30, "the daemon has ended", moving: clock, atMost: 30) {
      !daemon.isRunning
    }
    #expect(try daemon.stop() == 0)
    #expect(try client.receive() != nil, "replies sent before the stop can still be read")
  }

  @Test("a half-sent call, a subscription and an idle connection do not delay a stop of usherd")
  func nothingUnderWay() throws {
    let daemon = try DaemonUnderTest(config: "[limits]\ndrain_seconds = 300\nline_seconds = 300")
    let (half, subscriber, silent) = try (daemon.client(), daemon.client(), daemon.client())
    try half.send(raw: Array(#"{"jsonrpc":"2.0","id":1,"method":"sys"#.utf8))
    _ = try subscriber.call("events.subscribe", ["topics": ["flow"]])
    daemon.beginStop()
    for client in [half, subscriber, silent] { #expect(try client.receive() == nil) }
    #expect(try daemon.stop() == 0)
  }

  /// Waits until the daemon reads no more from the connection.
  private func expectDeaf(_ client: RawClient) throws {
    try eventually("sending to the daemon fails") {
      (try? client.send(raw: [0x20])) == nil
    }
  }
}

extension DaemonUnderTest {
  /// Asks the daemon to stop, without waiting for its end.
  fileprivate func beginStop() { Thread.detachNewThread { [self] in _ = try? stop() } }
}

/// A refresh whose answer the sandbox holds until the test releases it.
private struct HeldRefresh {
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  private let clock = MovableClock()

  init(limits: String = "") throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: "[limits]\ndrain_seconds = 100\n\(limits)\n"
        + sandbox.provider(more: "request_timeout_seconds = 120"),
      clock: OwnProcess.isAsked ? nil : clock)
    try daemon.client().signIn()
    try sandbox.hold("token", times: 1)
  }

  /// Asks the daemon to stop, lets `drain_seconds` pass, and returns the connection's next message.
  func receiveAfterDrain(_ client: RawClient) throws -> JSONValue {
    clock.stop()
    daemon.beginStop()
    try clock.endWait(ofSeconds: 100)
    return try #require(try client.receive())
  }

  /// Starts the refresh, and returns the connection that waits for it.
  func begin() throws -> RawClient {
    let client = try daemon.client()
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"demo","forceRefresh":true}}"#)
    try eventually("the refresh request has reached the provider") {
      try sandbox.requests("token", grantType: "refresh_token") == 1
    }
    return client
  }
}
