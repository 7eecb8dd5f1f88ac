import Synchronization
import UsherCore
import UsherFlows

/// Who has proved to be at this machine, in which way, when, and in whose flow.
///
/// In memory only: whoever ends the daemon is asked anew.
final class LocalAuthMemory: Sendable {
  /// How many are remembered; then the oldest is forgotten.
  static let limit = 1024

  private struct Key: Hashable {
    let person: LocalPerson
    let client: String
    let method: LocalAuthType
  }

  private let latest = Mutex<[Key: Timestamp]>([:])

  func remember(_ proof: LocalAuthProof, of person: LocalPerson, to client: String) {
    let key = Key(person: person, client: client, method: proof.method)
    latest.withLock { latest in
      latest[key] = proof.at
      guard latest.count > Self.limit, let oldest = latest.min(by: { $0.value < $1.value }) else {
        return
      }
      latest[oldest.key] = nil
    }
  }

  /// The last in each way, in any flow of that client.
  func proofs(of person: LocalPerson, to client: String) -> [LocalAuthProof] {
    latest.withLock { latest in
      LocalAuthType.allCases.compactMap { method in
        latest[Key(person: person, client: client, method: method)].map {
          LocalAuthProof(method: method, at: $0)
        }
      }
    }
  }

  /// Whatever the person has proved, in whichever way: as after too many wrong attempts.
  func forget(_ person: LocalPerson) {
    latest.withLock { latest in latest = latest.filter { $0.key.person != person } }
  }
}
