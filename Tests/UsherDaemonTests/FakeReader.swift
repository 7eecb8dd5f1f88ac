import Logging
import Synchronization
import UsherCore
import UsherStore
import UsherSystem

@testable import UsherDaemon

/// A fingerprint reader in the test's hands.
final class FakeReader: FingerprintScanning {
  typealias Scan = Result<FingerprintVerdict, FingerprintError>

  private struct State {
    var fingers: [String: Result<[String], FingerprintError>] = [:]
    var waiting: [CheckedContinuation<Scan, Never>] = []
    var hint: (@Sendable (FingerprintHint) -> Void)?
    var users: [String] = []
    var looks = 0
    var limits: [Duration] = []
    var released = 0
  }

  private let state = Mutex(State())

  /// Nobody has fingers here until the test says so.
  func enrol(_ fingers: String..., for user: String = "anna") {
    state.withLock { $0.fingers[user] = .success(fingers) }
  }

  func fail(_ problem: FingerprintError, for user: String = "anna") {
    state.withLock { $0.fingers[user] = .failure(problem) }
  }

  /// How many scans wait for a finger.
  var waiting: Int { state.withLock { $0.waiting.count } }
  /// How many scans have ended, and let the reader go.
  var released: Int { state.withLock { $0.released } }
  /// Whose fingers were wanted, scan by scan.
  var users: [String] { state.withLock { $0.users } }
  var limits: [Duration] { state.withLock { $0.limits } }
  /// How often fingers were asked for without a scan.
  var looks: Int { state.withLock { $0.looks } }

  func hint(_ hint: FingerprintHint) { state.withLock { $0.hint }?(hint) }

  /// Ends the scan that waits.
  func answer(_ scan: Scan) async throws {
    try await reached("a scan") { waiting > 0 }
    state.withLock { $0.waiting.removeFirst() }.resume(returning: scan)
  }

  func enrolledFingers(of user: String) async throws(FingerprintError) -> [String] {
    try state.withLock { state in
      state.looks += 1
      return state.fingers[user] ?? .success([])
    }.get()
  }

  func verify(
    user: String, within limit: Duration, onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict {
    guard !Task.isCancelled else { throw .cancelled }
    let scan = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          state.users.append(user)
          state.limits.append(limit)
          state.hint = onHint
          state.waiting.append(continuation)
        }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for scan in waiting { scan.resume(returning: .failure(.cancelled)) }
    }
    state.withLock { $0.released += 1 }
    return try scan.get()
  }

  func close() {}
}

extension LocalAuthService {
  /// One that knows Anna and Bert, and whose hashes cost nothing.
  static func fake(_ dependencies: Dependencies, _ store: Store, _ reader: FakeReader)
    -> LocalAuthService
  {
    LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store), reader: reader,
      log: .silent, rounds: 16)
  }
}

extension LocalPerson {
  static let anna = LocalPerson(realm: "host", uid: 1000)
  static let bert = LocalPerson(realm: "host", uid: 1001)
}
