import JSONRPC
import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// The reply cache of a connection must not change any reply.
@Suite("Equal lines on one connection and on many", .timeLimit(.minutes(10)))
struct ReplayTests {
  private static let rounds = 50

  @Test(
    "each request line gets the same reply as on a new connection, however its bytes are split",
    arguments: 0..<6)
  func replay(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let harness = try await ConnectionHarness()
    let lines = RandomLines(accounts: [try await harness.signIn().id])
    var cold: [[UInt8]: [String]] = [:]
    for _ in 0..<Self.rounds {
      let connection = try await Self.heard(harness)
      let sequence = lines.sequence(&random)
      for line in sequence where cold[line] == nil {
        cold[line] = try await Self.cold(line, harness)
      }
      let expected = sequence.flatMap { cold[$0] ?? [] }
      let pieces = lines.pieces(of: sequence, &random)
      let answers = try await connection.answers(expected.count, to: pieces)
      if answers != expected {
        let sent = sequence.map { String(decoding: $0, as: UTF8.self) }
        Issue.record(
          "\(sent)\nin pieces of \(pieces.map(\.count)):\n\(answers)\nnot\n\(expected)")
        return
      }
      try await connection.close()
    }
    #expect(cold.count > 150, "\(cold.count) lines")
    await harness.end()
  }

  /// Opens a connection and makes a call, because only a first line that is not JSON closes a
  /// connection.
  private static func heard(_ harness: ConnectionHarness) async throws -> HarnessConnection {
    let connection = try await harness.connect()
    let first = #"{"jsonrpc":"2.0","id":"first","method":"rpc.cancel","params":{"id":0}}"#
    _ = try await connection.answers(1, to: [Array(first.utf8) + [0x0A]])
    return connection
  }

  /// Returns the replies to the line on a separate connection.
  private static func cold(_ line: [UInt8], _ harness: ConnectionHarness) async throws -> [String] {
    let connection = try await heard(harness)
    let count = Scanner().scan(line).replyCount
    let answers = try await connection.answers(count, to: [line + [0x0A]])
    try await connection.close()
    return answers
  }

  @Test("every call of token.get is audited once, however its bytes are split", arguments: 0..<4)
  func audited(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed &+ 1000)
    let harness = try await ConnectionHarness()
    let record = try await harness.signIn()
    let lines = RandomLines(accounts: [record.id])
    var calls = 0
    for _ in 0..<40 {
      let connection = try await harness.connect()
      for _ in 0..<5 {
        let sequence = (0..<Int.random(in: 1...60, using: &random)).map { _ in
          lines.good(&random)
        }
        calls += sequence.count
        let pieces = lines.pieces(of: sequence, &random)
        let answers = try await connection.answers(sequence.count, to: pieces)
        #expect(answers.allSatisfy { $0.contains(#""accessToken":"access-1""#) })
        harness.clock.advance(by: .seconds(Int.random(in: 0...20, using: &random)))
      }
      try await connection.close()
    }
    #expect(try await harness.audited() == calls)
    await harness.end()
  }
}

/// Generates lines that are calls of `token.get`, almost such calls, or something else.
struct RandomLines {
  let accounts: [AccountID]

  /// A call of `token.get` that succeeds.
  func good(_ random: inout SeededGenerator) -> [UInt8] {
    let params = Self.goodParams + accounts.map { #"{"account":"\#($0)"}"# }
    return Array(call(Self.pick(Self.ids, &random), Self.pick(params, &random), &random).utf8)
  }

  /// Up to thirty lines, many of them repeated.
  func sequence(_ random: inout SeededGenerator) -> [[UInt8]] {
    let few = (0..<Int.random(in: 1...6, using: &random)).map { _ in line(&random) }
    return (0..<Int.random(in: 1...30, using: &random)).map { _ in
      switch Int.random(in: 0..<10, using: &random) {
      case 0: line(&random)
      case 1: Self.mutated(Self.pick(few, &random), &random)
      default: Self.pick(few, &random)
      }
    }
  }

  /// The lines with their ends, split at random: into bytes, into larger pieces, or not at all.
  func pieces(of lines: [[UInt8]], _ random: inout SeededGenerator) -> [[UInt8]] {
    let bytes = lines.reduce(into: [UInt8]()) { bytes, line in
      bytes += line + (Int.random(in: 0..<8, using: &random) == 0 ? [0x0D, 0x0A] : [0x0A])
    }
    let longest = Self.pick([3, 30, 300, 100_000], &random)
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...longest, using: &random))
      pieces.append(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }

  private func line(_ random: inout SeededGenerator) -> [UInt8] {
    switch Int.random(in: 0..<12, using: &random) {
    case 0...6: return good(&random)
    case 7: return Array(other(&random).utf8)
    case 8: return Self.mutated(good(&random), &random)
    case 9: return batch(&random)
    case 10: return Array(Self.pick(Self.junk, &random).utf8)
    default:
      let params = Self.pick(Self.badParams, &random)
      return Array(call(Self.pick(Self.ids, &random), params, &random).utf8)
    }
  }

  private func batch(_ random: inout SeededGenerator) -> [UInt8] {
    let calls = (0..<Int.random(in: 0...4, using: &random)).map { _ in
      String(decoding: good(&random), as: UTF8.self)
    }
    let more = Self.pick(["", ",1", ",[]", ",{}", ","], &random)
    return Array("[\(calls.joined(separator: ","))\(more)]".utf8)
  }

  private func other(_ random: inout SeededGenerator) -> String {
    let methods = ["token.list", "account.list", "token.gets", "token.get ", "provider.list"]
    let method = Self.pick(methods, &random)
    return #"{"jsonrpc":"2.0","id":5,"method":"\#(method)"}"#
  }

  private func call(_ id: String, _ params: String, _ random: inout SeededGenerator) -> String {
    var members = [
      Self.pick([#""jsonrpc":"2.0""#, #""jsonrpc": "2.0""#, #""jsonrpc":"2\u002e0""#], &random),
      #""id":\#(id)"#,
      Self.pick([#""method":"token.get""#, #""m\u0065thod":"token\u002eget""#], &random),
      #""params":\#(params)"#,
    ]
    switch Int.random(in: 0..<6, using: &random) {
    case 0: members.shuffle(using: &random)
    case 1: members.append(#""note":{"a":[1,{"b":null}]}"#)
    default: break
    }
    return "{\(members.joined(separator: Self.pick([",", " , "], &random)))}"
  }

  private static func mutated(_ line: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var line = line
    for _ in 0...Int.random(in: 0...2, using: &random) {
      let at = Int.random(in: 0...line.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0 where at < line.count: line[at] = UInt8.random(in: 0...255, using: &random)
      case 1 where at < line.count: line.remove(at: at)
      case 2: line.insert(contentsOf: Array(pick(fragments, &random).utf8), at: at)
      default: line.insert(contentsOf: line.prefix(at), at: at)
      }
    }
    // A line feed would make two lines of one, and the comparison is per line.
    return line.filter { $0 != 0x0A }
  }

  private static func pick<Element>(
    _ list: [Element], _ random: inout SeededGenerator
  ) -> Element { list[Int.random(in: 0..<list.count, using: &random)] }

  private static let ids = [
    "1", "0", "-0", "1.0", "1e2", "9007199254740993", "18446744073709551616", "null", #""""#,
    #""x""#, #""a\u0041""#, #""\ud83d\ude00""#, "\"é😀\"", #""},\"result\":{""#,
  ]

  /// More parameters than the reply cache of a connection has room for.
  private static let goodParams = [
    #"{"provider":"work"}"#, #"{ "provider":"work"}"#, #"{"provider": "work"}"#,
    #"{"provider":"w\u006frk"}"#, #"{"p\u0072ovider":"work"}"#,
    #"{"provider":"work","scope":null}"#,
    #"{"provider":"work","minValidSeconds":0}"#, #"{"provider":"work","minValidSeconds":86400}"#,
    #"{"minValidSeconds":5,"provider":"work"}"#, #"{"provider":"work","scope":"openid"}"#,
    #"{"provider":"work","forceRefresh":false}"#, #"{"provider":"work","audience":null}"#,
  ]

  private static let badParams = [
    "{}", "[]", "null", "7", #"{"provider":"none"}"#, #"{"provider":"work","provider":"work"}"#,
    #"{"provider":"work","scope":"openid email"}"#, #"{"provider":"work","minValidSeconds":60.0}"#,
    #"{"provider":"work","minValidSeconds":86401}"#, #"{"provider":"work","colour":1}"#,
    #"{"account":"acc_none"}"#, #"{"provider":"work",}"#, #"{"provider":"\ud800"}"#,
    #"{"provider":"work","minValidSeconds":60.5}"#, #"{"provider":"work","minValidSeconds":-1}"#,
    #"{"provider":"work","forceRefresh":0}"#, #"{"provider":"work","audience":"x"}"#,
    #"{"provider":"work","account":"acc_none"}"#, #"{"Provider":"work"}"#, #"{"provider":1}"#,
  ]

  private static let junk = [
    "", " ", "\t\r", "GET / HTTP/1.1", "\u{FEFF}{}", "{}", "[]", "null", "7", #""x""#, "{]",
    #"{"jsonrpc":"2.0","method":"token.get","params":{"provider":"work"}}"#,
    #"{"jsonrpc":"2.0","id":{},"method":"token.get","params":{"provider":"work"}}"#,
  ]

  private static let fragments = [
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0061", "0", "1", ".", "e", "-", " ", "null",
    "\"id\":2,", "\u{FEFF}", "é", "\u{0}", "\"params\":{},",
  ]
}
