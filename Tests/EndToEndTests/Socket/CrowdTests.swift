import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Hundreds that are silent, one that does not end its line, and many that come and go: whoever asks
/// is answered meanwhile, and nothing of them is left.
@Suite("A crowd at the real socket", .mayBlock, .ownProcess, .serialized, .timeLimit(.minutes(10)))
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

  /// One that comes, and leaves in the middle of something, or after it.
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

  @Test("five hundred silent ones, half a line, and three thousand who come and go hold up nobody")
  func crowd() throws {
    let token = try app.warm()
    for number in 0..<12 { try visit(number, token) }
    try eventually("they are gone") { try app.call("system.status")["connections"] == 1 }
    let before = try descriptors()
    var silent: [RawClient] = []
    for _ in 0..<Self.silent {
      silent.append(try daemon.client())
      if silent.count % 3 == 0 { try silent.last?.warm() }
    }
    let half = try daemon.client()
    let call = WarmCall.line("\"whole\"")
    try half.send(raw: Array(call.utf8.dropLast(8)))
    try eventually("all are in") {
      try app.call("system.status")["connections"] == .integer(Int64(Self.silent + 2))
    }
    for number in 0..<3000 {
      try visit(number, token)
      if number % 10 == 0 { #expect(try app.call("token.get", ["provider": "demo"]) == token) }
    }
    // Of those who were silent each is heard, and what was begun can be ended.
    for client in silent { #expect(try client.call("token.get", ["provider": "demo"]) == token) }
    try half.send(String(call.suffix(8)))
    let whole = try half.next()
    #expect(whole["id"] == "whole" && whole["result"] == token)
    try eventually("who left is gone") {
      try app.call("system.status")["connections"] == .integer(Int64(Self.silent + 2))
    }
    silent = []
    half.finishSending()
    #expect(try half.isClosed())
    try eventually("no more descriptors are open than before") { try descriptors() <= before }
    #expect(try app.warm() == token)
  }
}
