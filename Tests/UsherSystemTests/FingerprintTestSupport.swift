import Synchronization
import Testing
import UsherTestKit

@testable import UsherSystem

let noFprintd: Comment = "SKIPPED, NOT PROVEN: fprintd, dbus-daemon or python3-dbusmock is missing"

/// A user at the virtual reader with one enrolled and one unknown finger.
struct Alice {
  let fprintd: FprintdUnderTest
  let reader: FingerprintReader

  static let known = "SCAN alice-index"
  static let unknown = "SCAN mallory-thumb"

  init(
    _ kind: FprintdUnderTest.Kind = .comparing, callLimit: Duration = .seconds(60)
  ) async throws {
    fprintd = try await FprintdUnderTest.start(kind)
    try await fprintd.enrol(user: "alice", finger: "right-index-finger", print: "alice-index")
    reader = FingerprintReader(address: fprintd.busAddress, callLimit: callLimit)
  }

  /// Starts a scan and returns once fprintd has asked for the finger again.
  func scan(_ user: String = "alice", within limit: Duration = .seconds(90)) async throws -> Scan {
    let scan = Scan(reader, user, within: limit)
    try await fprintd.script("RETRY 0")
    #expect(await scan.firstHint() == .retryScan)
    return scan
  }

  func verdict(_ commands: String...) async throws -> FingerprintVerdict {
    let scan = Scan(reader, "alice", within: .seconds(90))
    for command in commands { try await fprintd.script(command) }
    return try await scan.outcome.get()
  }
}

/// A running `verify` call and its hints.
struct Scan {
  let task: Task<Result<FingerprintVerdict, FingerprintError>, Never>
  private let hints: AsyncStream<FingerprintHint>

  init(_ reader: FingerprintReader, _ user: String, within limit: Duration) {
    let (hints, given) = AsyncStream<FingerprintHint>.makeStream()
    self.hints = hints
    task = Task {
      let outcome = await attempted { () throws(FingerprintError) in
        try await reader.verify(user: user, within: limit) { given.yield($0) }
      }
      given.finish()
      return outcome
    }
  }

  var outcome: Result<FingerprintVerdict, FingerprintError> {
    get async { await task.value }
  }

  /// Returns the first hint; nil if the scan ended without one.
  func firstHint() async -> FingerprintHint? { await hints.first { _ in true } }

  /// Returns all hints after the scan has ended.
  func allHints() async -> [FingerprintHint] {
    await hints.reduce(into: []) { $0.append($1) }
  }
}

func attempted<Value>(
  _ body: () async throws(FingerprintError) -> Value
) async -> Result<Value, FingerprintError> {
  do {
    return .success(try await body())
  } catch {
    return .failure(error)
  }
}
