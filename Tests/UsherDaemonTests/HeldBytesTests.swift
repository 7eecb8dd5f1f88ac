import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Held bytes of a connection", .timeLimit(.minutes(10)))
struct HeldBytesTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private static let discover = CallLine.line("rpc.discover")

  /// Returns the replies to one batch and the length of their line in bytes.
  private func discoverBytes() async throws -> Int {
    try await harness.connect().answer(Self.discover).utf8.count
  }

  private func batch(
    _ calls: [String], on connection: HarnessConnection
  ) async throws -> (replies: [JSONValue], bytes: Int) {
    let line = try await connection.answer("[\(calls.joined(separator: ","))]")
    // Correlation ids, which come first in an error's data, were removed by `line()`.
    let whole = line.replacing("{,", with: "{")
    return (try #require(try JSONValue(parsing: whole).arrayValue), line.utf8.count)
  }

  private func expectFull(
    _ replies: [JSONValue], isRetryable: Bool, at location: SourceLocation = #_sourceLocation
  ) {
    let errors = replies.compactMap { $0["error"]?["data"] }
    #expect(!errors.isEmpty, sourceLocation: location)
    for error in errors {
      #expect(error["reason"] == "overloaded", sourceLocation: location)
      #expect(error["limit"] == "unread_reply_bytes", sourceLocation: location)
      #expect(error["retryable"] == .bool(isRetryable), sourceLocation: location)
    }
  }

  @Test("a batch gets overloaded errors beyond unread_reply_bytes, and the connection stays usable")
  func batch() async throws {
    let size = try await discoverBytes()
    let connection = try await harness.connect()
    let (replies, bytes) = try await batch(
      Array(repeating: Self.discover, count: 64), on: connection)
    #expect(replies.count == 64)
    // One reply may begin below the limit and exceed it.
    #expect(bytes < 1_048_576 + size + 48_000)
    #expect(replies.count { $0["result"] != nil } >= 1_048_576 / size)
    expectFull(replies, isRetryable: true)
    #expect(try await connection.answer(Self.discover).contains("openrpc"))
    await harness.end()
  }

  @Test("replies of a batch count as held bytes while one of its calls waits")
  func waitingBatch() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let size = try await discoverBytes()
    let connection = try await harness.connect()
    let waits = CallLine.line("token.get", #"{"account":"\#(record.id.rawValue)"}"#)
    let (replies, bytes) = try await batch(
      [waits] + Array(repeating: Self.discover, count: 63), on: connection)
    #expect(replies.first?["result"]?["accessToken"] == "access-1")
    #expect(bytes < 1_048_576 + size + 48_000)
    expectFull(replies, isRetryable: true)
    await harness.end()
  }

  @Test("all batches of a caller that reads late are answered completely")
  func lateReader() async throws {
    let size = try await discoverBytes()
    try harness.reload { $0.limits.unreadReplyBytes = size + size / 2 }
    let connection = try await harness.connect()
    // The kernel buffers and the limit have room for the replies to a few batches only.
    let batch = "[\(Self.discover),\(Self.discover)]\n"
    try await connection.send(Array(String(repeating: batch, count: 30).utf8))
    for _ in 0..<30 {
      let line = try await connection.line().replacing("{,", with: "{")
      let replies = try #require(try JSONValue(parsing: line).arrayValue)
      #expect(replies.count == 2 && replies.allSatisfy { $0["result"] != nil })
    }
    await harness.end()
  }

  @Test("a long reply beyond unread_reply_bytes is replaced by an error that is not retryable")
  func lateReplies() async throws {
    for number in 0..<40 { try await harness.signIn(.sample("usr_\(number)")) }
    try await harness.chill()
    try harness.reload { $0.limits.unreadReplyBytes = 8192 }
    // All calls must be made before the first reply is ready.
    let connection = try await harness.connect(isAlone: true)
    let (replies, bytes) = try await batch(
      Array(repeating: CallLine.line("account.list"), count: 8), on: connection)
    #expect(replies.count { $0["result"] != nil } == 1)
    #expect(bytes < 8192 + 40_000)
    // The calls were carried out, so the error must not invite a retry.
    expectFull(replies, isRetryable: false)
    await harness.end()
  }
}
