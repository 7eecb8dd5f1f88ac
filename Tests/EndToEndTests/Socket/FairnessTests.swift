import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// No connection can block another one: functional tests with wide deadlines, without measurements.
@Suite("Fairness between connections", .mayBlock, .timeLimit(.minutes(10)), .serialized)
struct FairnessTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        connections_per_user = 600
        line_seconds = 300
        unread_reply_seconds = 300

        \(sandbox.provider(more: "request_timeout_seconds = 120"))
        """, logLevel: "info")
    app = try daemon.client()
    try app.signIn()
  }

  /// Makes a hundred rounds of typical calls, and one call on a new connection; all must be
  /// answered.
  private func expectService(at location: SourceLocation = #_sourceLocation) throws {
    for _ in 0..<100 {
      let token = try app.call("token.get", ["provider": "demo"])
      #expect(token["accessToken"]?.stringValue?.isEmpty == false, sourceLocation: location)
      let status = try app.call("system.status")
      #expect(status["ready"] == true, sourceLocation: location)
    }
    let lateClient = try daemon.client()
    let token = try lateClient.call("token.get", ["provider": "demo"])
    #expect(token["accessToken"] != nil, sourceLocation: location)
  }

  @Test("half-sent lines, short and long, block no other connection and can be completed later")
  func halfLines() throws {
    let clients = try (0..<20).map { _ in try daemon.client() }
    for (number, client) in clients.enumerated() {
      try client.send(raw: Array(#"{"jsonrpc":"2.0","id":1,"method":"#.utf8))
      if number % 2 == 0 { _ = try client.sendWhatFits([UInt8](repeating: 0x20, count: 100_000)) }
    }
    try expectService()
    // A half-sent line can still be completed.
    try clients[1].send(#""system.status"}"#)
    #expect(try clients[1].next()["result"]?["ready"] == true)
  }

  @Test(
    "300 connections that close with unread replies block no call and grow memory by less than 64 MiB",
    .ownProcess)
  func leaving() throws {
    let before = try residentKilobytes()
    let flow = try app.startFlow()
    let id = flow["id"]?.stringValue ?? ""
    let wait =
      #"{"jsonrpc":"2.0","method":"flow.wait","params":{"flow":"\#(id)","revision":99,"#
      + #""timeoutMs":60000}}"# + "\n"
    let waits = Array(String(repeating: wait, count: 64).utf8)
    let asks = Array(
      String(repeating: #"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"# + "\n", count: 300)
        .utf8)
    let noHTTP = Array(("GET / HTTP/1.1\r\n" + String(repeating: "x\n", count: 20_000)).utf8)
    for _ in 0..<100 {
      for bytes in [waits, asks, noHTTP] { _ = try daemon.client().sendWhatFits(bytes) }
    }
    try expectService()
    #expect(daemon.isRunning)
    #expect(try residentKilobytes() - before < 64 * 1024)
  }

  @Test(
    "clients that never read their replies block no call and grow memory by less than 64 MiB",
    .ownProcess)
  func neverReading() throws {
    let before = try residentKilobytes()
    let clients = try (0..<8).map { _ in try daemon.client() }
    let call = #"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"# + "\n"
    let packet = Array(String(repeating: call, count: 100).utf8)
    var asked = 0
    for _ in 0..<20 {
      // The last line may be cut off: the daemon then has one more reply to write, an error.
      for client in clients { asked += try client.sendWhatFits(packet) }
      _ = try app.call("system.status")
    }
    #expect(asked > 100 * packet.count)
    try expectService()
    let growth = try residentKilobytes() - before
    #expect(growth < 64 * 1024, "memory grew by \(growth) kB for \(asked) bytes of requests")
  }

  @Test("calls that wait for a provider block no other call, not even on their own connection")
  func slowProvider() throws {
    try sandbox.hold("token", grantType: "refresh_token")
    for id: Int64 in 1...20 {
      try app.begin(
        .string("slow \(id)"), "token.get",
        ["provider": "demo", "forceRefresh": true])
    }
    // The provider has not answered yet.
    try expectService()
    try sandbox.release()
  }

  private func residentKilobytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(daemon.pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    let words = line?.split(whereSeparator: \.isWhitespace) ?? []
    guard words.count > 1, let size = Int(words[1]) else {
      throw TestError("/proc/PID/status has no VmRSS")
    }
    return size
  }
}
