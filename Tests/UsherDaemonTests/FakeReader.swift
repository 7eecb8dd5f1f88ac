import Logging
import Synchronization
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A fingerprint reader that the test controls.
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

  /// Enrols fingers. No user has fingers before.
  func enrol(_ fingers: String..., for user: String = "anna") {
    state.withLock { $0.fingers[user] = .success(fingers) }
  }

  func fail(_ problem: FingerprintError, for user: String = "anna") {
    state.withLock { $0.fingers[user] = .failure(problem) }
  }

  /// The number of scans that wait for a finger.
  var waiting: Int { state.withLock { $0.waiting.count } }
  /// The number of scans that ended and released the reader.
  var released: Int { state.withLock { $0.released } }
  /// The users of the scans so far, in order.
  var users: [String] { state.withLock { $0.users } }
  var limits: [Duration] { state.withLock { $0.limits } }
  /// The number of queries for enrolled fingers.
  var looks: Int { state.withLock { $0.looks } }

  func hint(_ hint: FingerprintHint) { state.withLock { $0.hint }?(hint) }

  /// Ends the waiting scan.
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
  /// A service with a low number of hash rounds, so that hashing is fast.
  static func fake(_ dependencies: Dependencies, _ store: Store, _ reader: FakeReader)
    -> LocalAuthService
  {
    LocalAuthService(
      dependencies: dependencies, repository: LocalAuthRepository(store: store), reader: reader,
      rounds: 16)
  }
}

extension LocalPerson {
  static let anna = LocalPerson(realm: "host", uid: 1000)
  static let bert = LocalPerson(realm: "host", uid: 1001)
}
