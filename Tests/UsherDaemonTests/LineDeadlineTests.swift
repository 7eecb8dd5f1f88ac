import NIOCore
import Testing
import UsherTransport

@testable import UsherDaemon

@Suite("Deadlines of lines (line_seconds)", .timeLimit(.minutes(10)))
struct LineDeadlineTests {
  private let call = Array(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#.utf8)

  private func deadline(_ connection: HarnessConnection) async throws -> NIODeadline? {
    try await connection.handler.loop.submit { [handler = connection.handler] in
      handler.value.lineTimer?.deadline
    }
  }

  @Test(
    "a request line that arrives in pieces keeps its deadline, and the next line gets a new one")
  func lines() async throws {
    let harness = try await ConnectionHarness()
    let connection = try await harness.connect()
    #expect(try await deadline(connection) == nil)
    try await connection.send(Array(call[..<20]))
    let first = try #require(try await deadline(connection))
    try await connection.send(Array(call[20..<30]))
    #expect(try await deadline(connection) == first)
    // The end of the line and the start of the next one arrive together.
    try await connection.send(Array(call[30...]) + [0x0A] + Array(call[..<20]))
    let second = try #require(try await deadline(connection))
    #expect(second > first)
    #expect(second <= .now() + .seconds(300))
    try await connection.send(Array(call[20...]) + [0x0A])
    #expect(try await deadline(connection) == nil)
    await harness.end()
  }
}
