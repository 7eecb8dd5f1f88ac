import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("The bytes that a connection makes the daemon hold", .timeLimit(.minutes(2)))
struct HeldBytesTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private static let discover = CallLine.line("rpc.discover")

  /// The replies to one batch, and how many bytes their line has.
  private func batch(
    _ calls: [String], on connection: HarnessConnection
  ) async throws -> (replies: [JSONValue], bytes: Int) {
    let line = try await connection.answer("[\(calls.joined(separator: ","))]")
    // The correlation ids, which come first in an error's data, are cut out.
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

  @Test("a batch stops to be answered at unread_reply_bytes, and the connection goes on")
  func batch() async throws {
    let connection = try await harness.connect()
    let (replies, bytes) = try await batch(
      Array(repeating: Self.discover, count: 64), on: connection)
    #expect(replies.count == 64)
    // One reply begins below the limit.
    #expect(bytes < 1_048_576 + 128_000)
    #expect(replies.count { $0["result"] != nil } > 8)
    expectFull(replies, isRetryable: true)
    #expect(try await connection.answer(Self.discover).contains("openrpc"))
    await harness.end()
  }

  @Test("the filled places of a batch count while one of its calls waits")
  func waitingBatch() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let connection = try await harness.connect()
    let waits = CallLine.line("token.get", #"{"account":"\#(record.id.rawValue)"}"#)
    let (replies, bytes) = try await batch(
      [waits] + Array(repeating: Self.discover, count: 63), on: connection)
    #expect(replies.first?["result"]?["accessToken"] == "access-1")
    #expect(bytes < 1_048_576 + 128_000)
    expectFull(replies, isRetryable: true)
    await harness.end()
  }

  @Test("batches of a caller that reads late are answered in full")
  func lateReader() async throws {
    try harness.reload { $0.limits.unreadReplyBytes = 100_000 }
    let connection = try await harness.connect()
    // The replies to a few of them are all that the kernel and the limit have room for.
    let batch = "[\(Self.discover),\(Self.discover)]\n"
    try await connection.send(Array(String(repeating: batch, count: 30).utf8))
    for _ in 0..<30 {
      let line = try await connection.line().replacing("{,", with: "{")
      let replies = try #require(try JSONValue(parsing: line).arrayValue)
      #expect(replies.count == 2 && replies.allSatisfy { $0["result"] != nil })
    }
    await harness.end()
  }

  @Test("a long reply that comes when too much is held is dropped, and the error says that")
  func lateReplies() async throws {
    for number in 0..<40 { try await harness.signIn(.sample("usr_\(number)")) }
    try await harness.chill()
    try harness.reload { $0.limits.unreadReplyBytes = 8192 }
    // All calls have to be made before the first reply comes.
    let connection = try await harness.connect(isAlone: true)
    let (replies, bytes) = try await batch(
      Array(repeating: CallLine.line("account.list"), count: 8), on: connection)
    #expect(replies.count { $0["result"] != nil } == 1)
    #expect(bytes < 8192 + 40_000)
    // The calls were made: nobody is to make them again without thinking.
    expectFull(replies, isRetryable: false)
    await harness.end()
  }
}
