import Testing
import UsherConfig
import UsherTestKit

@testable import UsherDaemon

@Suite("Peers that do not speak JSON", .timeLimit(.minutes(10)))
struct FirstLineTests {
  private static let hello = #"{"jsonrpc":"2.0","id":1,"method":"rpc.hello"}"#

  @Test(
    "a connection whose first line is not JSON gets one error and is closed",
    arguments: [
      "PROPFIND / HTTP/1.1", "GET / HTTP/1.1", "EHLO localhost", "*1", "", "{",
    ])
  func otherProtocol(line: String) async throws {
    let harness = try await ConnectionHarness()
    let connection = try await harness.connect()
    try await connection.send(Array("\(line)\r\nHost: localhost\r\n\r\n\(Self.hello)\n".utf8))
    let replies = try await connection.linesUntilClosed()
    #expect(replies.count == 1)
    #expect(replies.first?.contains(#""error""#) == true)
    await harness.end()
  }

  @Test("a connection whose first line is too long gets one error and is closed")
  func tooLong() async throws {
    let harness = try await ConnectionHarness()
    try harness.reload { $0.limits.maxLineBytes = 4096 }
    let connection = try await harness.connect()
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: 5000)
    try await connection.send(long + Array("\nHost: localhost\n\(Self.hello)\n".utf8))
    let replies = try await connection.linesUntilClosed()
    #expect(replies.count == 1)
    #expect(replies.first?.contains("message_too_large") == true)
    await harness.end()
  }

  @Test("a connection whose malformed line follows a line of JSON gets an error and stays open")
  func later() async throws {
    let harness = try await ConnectionHarness()
    let connection = try await harness.connect()
    #expect(try await connection.answer("1").contains("invalid_request"))
    #expect(try await connection.answer("PROPFIND / HTTP/1.1").contains("parse_error"))
    #expect(try await connection.answer(Self.hello).contains("result"))
    await harness.end()
  }
}
