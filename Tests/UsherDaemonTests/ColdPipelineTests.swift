import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit
import UsherTransport

@testable import UsherDaemon

/// Replies on one connection while all accounts are on disk.
@Suite("Pipelined calls about accounts on disk", .timeLimit(.minutes(10)))
struct ColdPipelineTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private func answers(to lines: [String]) async throws -> [String] {
    let connection = try await harness.connect()
    let bytes = lines.flatMap { Array("\($0)\n".utf8) }
    defer { Task { try await connection.close() } }
    return try await connection.answers(lines.count, to: [bytes])
  }

  private func id(_ reply: String) throws -> Int? {
    try JSONValue(parsing: reply)["id"]?.integerValue.map(Int.init)
  }

  @Test(
    "1000 pipelined calls of token.get for an account on disk are answered in order",
    arguments: ["account", "provider"])
  func pipeline(named: String) async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let name = named == "account" ? record.id.rawValue : "work"
    let ids = (0..<1000).map { $0 % 7 }
    let replies = try await answers(
      to: ids.map { CallLine.line("token.get", #"{"\#(named)":"\#(name)"}"#, id: $0) })
    #expect(try replies.map { try id($0) } == ids)
    #expect(replies.allSatisfy { $0.contains("access-1") })
    #expect(try await harness.audited() == 1000)
    await harness.end()
  }

  @Test("a batch of 64 calls with one id about an account on disk is answered completely")
  func batch() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let one = CallLine.line("token.get", #"{"account":"\#(record.id.rawValue)"}"#)
    let batch = "[\(Array(repeating: one, count: 64).joined(separator: ","))]"
    let replies = try await answers(to: [batch, one])
    let elements = try #require(try JSONValue(parsing: replies[0]).arrayValue)
    #expect(elements.count == 64)
    #expect(elements.allSatisfy { $0["result"]?["accessToken"]?.stringValue == "access-1" })
    #expect(replies[1].contains("access-1"))
    #expect(try await harness.audited() == 65)
    await harness.end()
  }

  @Test(
    "pipelined calls behind one that reads the disk get the same replies, in order, as from memory")
  func order() async throws {
    let record = try await harness.signIn()
    let account = #"{"account":"\#(record.id.rawValue)"}"#
    let lines = [
      CallLine.line("account.list"), CallLine.line("rpc.hello"), CallLine.line("token.list"),
      CallLine.line("account.get", account),
      CallLine.line("account.get", #"{"account":"acc_none"}"#),
      CallLine.line("token.get", #"{"provider":"work"}"#), CallLine.line("consent.list"), "{]",
      CallLine.line("totp.list"), CallLine.line("account.list", #"{"provider":"work"}"#),
      CallLine.line("token.get", #"{"provider":"none"}"#), CallLine.line("token.list", account),
    ]
    // Read once, so that everything is in memory.
    _ = try await answers(to: lines)
    let warm = try await answers(to: lines)
    for _ in 0..<2 {
      try await harness.chill()
      #expect(try await answers(to: lines) == warm)
    }
    // Two calls in each of four rounds.
    #expect(try await harness.audited("account.get") == 8)
    await harness.end()
  }

  @Test("account.list with more accounts than memory holds is answered before the next call")
  func lists() async throws {
    for number in 0..<40 { try await harness.signIn(.sample("usr_\(number)")) }
    let services = try harness.lockController.services()
    _ = try services.repository.accounts(of: .anna)
    let none = ProviderName("none")
    _ = try services.repository.accounts(of: .anna, at: none)
    #expect(!services.repository.isInMemory(.list(nil), for: [.anna]))
    #expect(services.repository.isInMemory(.list(none), for: [.anna]))
    let replies = try await answers(
      to: [CallLine.line("account.list", id: 1), CallLine.line("rpc.hello", id: 2)])
    #expect(try replies.map { try id($0) } == [1, 2])
    let listed = try JSONValue(parsing: replies[0])["result"]?["accounts"]?.arrayValue
    #expect(listed?.count == 40)
    await harness.end()
  }

  @Test("a token.get that refreshes an account from disk does not hold up later calls")
  func refreshing() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let params = #"{"account":"\#(record.id.rawValue)","forceRefresh":true}"#
    let replies = try await answers(
      to: [
        CallLine.line("token.get", params, id: 5), CallLine.line("rpc.hello", id: 5),
        CallLine.line("rpc.hello", id: 6),
      ])
    #expect(replies[0].contains("is still in use"))
    #expect(replies[1].contains(#""id":6"#) && replies[1].contains("result"))
    #expect(replies[2].contains(#""id":5"#))
    await harness.end()
  }

  @Test("a second call of a batch with the id of a call that still waits is refused")
  func twin() async throws {
    let record = try await harness.signIn()
    let params = #"{"account":"\#(record.id.rawValue)","forceRefresh":true}"#
    // Both calls run in one time slice, so the first one waits while the second one is read.
    let connection = try await harness.connect(isAlone: true)
    let batch = [CallLine.line("token.get", params, id: 5), CallLine.line("rpc.hello", id: 5)]
    let replies = try CallLine.parse(
      try await connection.answer("[\(batch.joined(separator: ","))]")
    ).arrayValue
    #expect(replies?.map { $0["id"] } == [5, .null])
    #expect(replies?.last?["error"]?["code"] == -32600)
    await harness.end()
  }

  @Test("system.lock answers a waiting token.get and the calls behind it as locked")
  func locked() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let connection = try await harness.connect()
    let line = CallLine.line("token.get", #"{"account":"\#(record.id.rawValue)"}"#)
    try await connection.send(Array("\(line)\n\(line)\n".utf8))
    try await harness.lockController.lock()
    try await connection.send(Array("\(line)\n".utf8))
    var replies: [String] = []
    for _ in 1...3 { replies.append(try await connection.line()) }
    // The account may have been read before the lock.
    let given = replies.prefix { $0.contains("access-1") }
    #expect(given.count < 3 && replies[given.count...].allSatisfy { $0.contains("locked") })
    try await connection.close()
    await harness.end()
  }

  @Test("calls of a connection closed during a disk read are dropped after the first")
  func gone() async throws {
    let record = try await harness.signIn()
    try await harness.chill()
    let connection = try await harness.connect()
    let line = CallLine.line("token.get", #"{"account":"\#(record.id.rawValue)"}"#)
    let bytes = Array(String(repeating: "\(line)\n", count: 100).utf8)
    // Within one job of the event loop, so that the disk is not read meanwhile.
    let waiting = try await connection.handler.loop.submit { [handler = connection.handler] in
      bytes.withUnsafeBytes { handler.value.received($0) }
      let before = handler.value.waitingCalls
      handler.value.transport.close()
      return [before, handler.value.waitingCalls]
    }
    #expect(waiting[0].cold == 1 && waiting[0].bytes > 0)
    #expect(waiting[1].cold == 0 && waiting[1].bytes == 0)
    #expect(try await answers(to: [line]).first?.contains("access-1") == true)
    #expect((1...2).contains(try await harness.audited()))
    await harness.end()
  }
}

extension ConnectionHandler {
  /// The number of calls that wait for the disk, and the bytes of those behind them.
  fileprivate var waitingCalls: (cold: Int, bytes: Int) { (coldCalls.count, backlog.count) }
}
