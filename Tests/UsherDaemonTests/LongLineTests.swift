import JSONRPC
import Testing
import UsherCore
import UsherTransport

@testable import UsherDaemon

@Suite("Long lines", .timeLimit(.minutes(10)))
struct LongLineTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  @Test("a request line above 16 KiB is parsed off the event loop, and a shorter one on it")
  func offTheLoop() async throws {
    let connection = try await harness.connect()
    for (bytes, isFree) in [(1000, true), (15_000, true), (17_000, false), (60_000, false)] {
      let after = try await connection.handler.loop.submit { [handler = connection.handler] in
        CallLine.hello(bytes).withUnsafeBytes { handler.value.received($0) }
        return handler.value.canRunCall
      }
      #expect(after == isFree, "\(bytes)")
      #expect(try await connection.line().contains("instanceId"))
    }
    await harness.end()
  }

  @Test(
    "a batch is worked on in slices and answered in one line, in order",
    arguments: [100, 20_000])
  func batch(length: Int) async throws {
    let connection = try await harness.connect()
    let other = try await harness.connect(as: 2000)
    let calls = (0..<64).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"system.status"}"# }
    let batch = "[\(calls.joined(separator: ","))]"
    let space = String(repeating: " ", count: max(0, length - batch.utf8.count))
    let lines = Array("\(batch)\(space)\n".utf8) + CallLine.hello(100, id: "100")
    let turns = try await connection.countTurnsWithBatch()
    try await connection.send(lines)
    let replies = try CallLine.parse(try await connection.line()).arrayValue ?? []
    #expect(replies.count == 64 && replies.allSatisfy { $0["result"] != nil })
    #expect(replies.map { $0["id"] } == (Int64(0)..<64).map { JSONValue.integer($0) })
    #expect(try CallLine.parse(try await connection.line())["id"] == 100)
    #expect(try await turns.loop.submit { turns.value.count } > 0)
    try await other.close()
    await harness.end()
  }

  @Test("long, short, malformed and batch lines of one connection are answered in order")
  func order() async throws {
    let long = String(repeating: " ", count: 20_000)
    let batch =
      #"[{"jsonrpc":"2.0","id":5,"method":"rpc.hello"},\#(long)7,"#
      + #"{"jsonrpc":"2.0","id":6,"method":"no.such"}]"#
    let notification = #"{"jsonrpc":"2.0",\#(long)"method":"rpc.hello"}"#
    let lines: [[UInt8]] = [
      CallLine.hello(20_000, id: "1"), CallLine.hello(100, id: "2"),
      CallLine.hello(30_000, id: "3"),
      Array("{]\(long)\n".utf8), CallLine.hello(100, id: "4"), Array("\(batch)\n".utf8),
      Array("\(notification)\n".utf8), CallLine.call("rpc.hello", "{}", id: #""a\u0062""#),
      CallLine.call("no.such", #"{"a":"\#(long)"}"#, id: "8"),
    ]
    let connection = try await harness.connect()
    let replies = try await connection.answers(8, to: [lines.flatMap { $0 }]).map {
      try CallLine.parse($0)
    }
    #expect(replies.map { $0["id"] ?? "batch" } == [1, 2, 3, .null, 4, "batch", "ab", 8])
    #expect(replies[3]["error"]?["code"] == -32700)
    let elements = replies[5].arrayValue ?? []
    #expect(elements.map { $0["id"] } == [5, .null, 6])
    #expect(elements.map { $0["error"]?["code"] } == [nil, -32600, -32601])
    #expect(replies[7]["error"]?["code"] == -32601)
    await harness.end()
  }
}

private final class TurnCount {
  var count = 0
}

extension HarnessConnection {
  /// Counts the turns of the loop at whose end a batch has unfinished calls.
  fileprivate func countTurnsWithBatch() async throws -> OnLoop<TurnCount> {
    try await handler.loop.submit { [handler] in
      let turns = TurnCount()
      handler.loop.atEndOfIteration { [weak handler = handler.value] in
        if handler?.batches.isEmpty == false { turns.count += 1 }
      }
      return OnLoop(turns, handler.loop)
    }
  }
}
