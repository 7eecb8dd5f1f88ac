import Synchronization
import UsherCore
import UsherFlows

/// Who has proved to be at this machine, in which way, when, and in whose flow.
///
/// In memory only: whoever ends the daemon is asked anew. Times are those of the clock that nobody sets
/// (``Clock/monotonicNow()``): no setting of the wall clock makes a proof younger.
final class LocalAuthMemory: Sendable {
  /// How many are remembered; then the oldest is forgotten.
  static let limit = 1024

  private struct Key: Hashable {
    let person: LocalPerson
    let client: String
    let method: LocalAuthType
    let insteadOf: LocalAuthType?
  }

  private let latest = Mutex<[Key: Timestamp]>([:])

  func remember(_ proof: LocalAuthProof, of person: LocalPerson, to client: String) {
    let key = Key(
      person: person, client: client, method: proof.method, insteadOf: proof.insteadOf)
    latest.withLock { latest in
      latest[key] = proof.at
      guard latest.count > Self.limit, let oldest = latest.min(by: { $0.value < $1.value }) else {
        return
      }
      latest[oldest.key] = nil
    }
  }

  /// A finger never takes a passcode's place.
  private static let kinds: [(LocalAuthType, insteadOf: LocalAuthType?)] =
    LocalAuthType.allCases.map { ($0, nil) } + [(.passcode, .biometric)]

  /// The last in each way, in any flow of that client.
  func proofs(of person: LocalPerson, to client: String) -> [LocalAuthProof] {
    latest.withLock { latest in
      Self.kinds.compactMap { method, insteadOf in
        let key = Key(person: person, client: client, method: method, insteadOf: insteadOf)
        return latest[key].map { LocalAuthProof(method: method, at: $0, insteadOf: insteadOf) }
      }
    }
  }

  /// Whatever the person has proved, in whichever way: as after too many wrong attempts.
  func forget(_ person: LocalPerson) {
    latest.withLock { latest in latest = latest.filter { $0.key.person != person } }
  }
}
