import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Calls are answered beside hundreds of idle connections, an unfinished line and thousands of
/// short-lived connections, and no descriptor stays open.
@Suite(
  "Many idle and short-lived connections", .mayBlock, .ownProcess, .serialized,
  .timeLimit(.minutes(10)))
struct CrowdTests {
  private static let silent = 500

  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient

  init() throws {
    OpenFiles.allow(3000)
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        connections_per_user = 600
        line_seconds = 300

        \(sandbox.provider())
        """, logLevel: "info")
    app = try daemon.client()
    try app.signIn()
  }

  private func descriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
  }

  /// Opens a connection and closes it before, during or after some calls, depending on `number`.
  private func visit(_ number: Int, _ token: JSONValue) throws {
    let visitor = try daemon.client()
    let call = WarmCall.line("\(number)")
    switch number % 6 {
    case 0: break
    case 1: try visitor.send(raw: Array(call.utf8.prefix(number % call.utf8.count)))
    case 2: try visitor.send("\(call)\n\(call)\n\(call)")
    case 3: try visitor.send("[\(call),\(call)]\n\(call.dropLast(5))")
    case 4:
      try visitor.send(call)
      visitor.finishSending()
      #expect(try visitor.next()["result"] == token)
      #expect(try visitor.isClosed())
    default:
      for _ in 1...3 { #expect(try visitor.call("token.get", ["provider": "demo"]) == token) }
    }
  }

  @Test(
    "500 idle connections, a half-sent line and 3000 short-lived connections block no call and leak no fd"
  )
  func crowd() throws {
    let token = try app.warm()
    for number in 0..<12 { try visit(number, token) }
    try eventually("only this connection is open") {
      try app.call("system.status")["connections"] == 1
    }
    let before = try descriptors()
    var silent: [RawClient] = []
    for _ in 0..<Self.silent {
      silent.append(try daemon.client())
      if silent.count % 3 == 0 { try silent.last?.warm() }
    }
    let half = try daemon.client()
    let call = WarmCall.line("\"whole\"")
    try half.send(raw: Array(call.utf8.dropLast(8)))
    try eventually("the daemon has accepted all idle connections") {
      try app.call("system.status")["connections"] == .integer(Int64(Self.silent + 2))
    }
    for number in 0..<3000 {
      try visit(number, token)
      if number % 10 == 0 { #expect(try app.call("token.get", ["provider": "demo"]) == token) }
    }
    // Every idle connection still works, and the half-sent line can be completed.
    for client in silent { #expect(try client.call("token.get", ["provider": "demo"]) == token) }
    try half.send(String(call.suffix(8)))
    let whole = try half.next()
    #expect(whole["id"] == "whole" && whole["result"] == token)
    try eventually("the short-lived connections are closed") {
      try app.call("system.status")["connections"] == .integer(Int64(Self.silent + 2))
    }
    silent = []
    half.finishSending()
    #expect(try half.isClosed())
    try eventually("the daemon has no more open descriptors than before") {
      try descriptors() <= before
    }
    #expect(try app.warm() == token)
  }
}
