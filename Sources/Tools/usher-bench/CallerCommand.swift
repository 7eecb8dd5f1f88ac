import ArgumentParser
import Glibc

/// A helper process that makes one call at a time, and writes the duration of each.
struct CallerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "caller", abstract: "Makes the calls that are measured.", shouldDisplay: false)

  @Option var socket: String
  @Option var user: UInt32
  /// The number of calls of each kind.
  @Option var calls: Int

  static let kinds = [
    ("system.status", Calls.status), ("account.list", Calls.accounts),
    ("flow.get", Calls.unknownFlow),
  ]

  func run() throws {
    try switchUser(user)
    let client = try BlockingClient(socket)
    for _ in 0..<200 { for (_, line) in Self.kinds { _ = try client.time(line) } }
    var times: [UInt64] = []
    times.reserveCapacity((calls + 100) * Self.kinds.count)
    for _ in 0..<calls { for (_, line) in Self.kinds { times.append(try client.time(line)) } }
    // New connections, each with one call.
    for _ in 0..<Self.newcomers(calls) {
      let start = BlockingClient.now()
      _ = try BlockingClient(socket).time(Calls.status)
      times.append(BlockingClient.now() - start)
      // At most 200 per second: the daemon refuses a user that connects faster than its limit while
      // others wait to connect.
      poll(nil, 0, 5)
    }
    try times.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = write(1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        guard count > 0 else { throw BenchError("cannot write the times: the reader is gone") }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// The number of new connections. 500 are enough for a 99th percentile.
  private static func newcomers(_ calls: Int) -> Int { min(calls, 500) }

  /// Returns the times that a caller wrote, by kind. The last kind is a new connection with one
  /// call.
  static func read(_ bytes: [UInt8], calls: Int) throws -> [Timings] {
    let times = bytes.withUnsafeBytes { whole in
      (0..<whole.count / 8).map { whole.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
    }
    guard times.count == calls * kinds.count + newcomers(calls) else {
      throw BenchError("a caller did not get all its replies")
    }
    let byKind = kinds.indices.map { kind in
      Timings((0..<calls).map { times[$0 * kinds.count + kind] })
    }
    return byKind + [Timings(Array(times.suffix(newcomers(calls))))]
  }
}
