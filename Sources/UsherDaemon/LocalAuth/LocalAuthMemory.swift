import Synchronization
import UsherCore
import UsherFlows

/// Each user's last proofs of presence: the method, the time, and the client whose flow asked for
/// the proof.
///
/// In memory only, so a restart of the daemon forgets all proofs. Times are monotonic
/// (``Clock/monotonicNow()``): setting the wall clock does not make a proof newer.
final class LocalAuthMemory: Sendable {
  /// The maximum number of proofs of all users together; beyond it the oldest is forgotten.
  static let limit = 1024

  private struct Key: Hashable {
    let person: LocalPerson
    let client: String
    let method: LocalAuthType
    let insteadOf: LocalAuthType?
  }

  private let latest = Mutex<[Key: Timestamp]>([:])

  func record(_ proof: LocalAuthProof, of person: LocalPerson, to client: String) {
    let key = Key(person: person, client: client, method: proof.method, insteadOf: proof.insteadOf)
    latest.withLock { latest in
      latest[key] = proof.at
      guard latest.count > Self.limit, let oldest = latest.min(by: { $0.value < $1.value }) else {
        return
      }
      latest[oldest.key] = nil
    }
  }

  /// The kinds of proofs: each method by itself, and a passcode that was accepted instead of a
  /// fingerprint. A fingerprint is never accepted instead of a passcode.
  private static let kinds: [(LocalAuthType, insteadOf: LocalAuthType?)] =
    LocalAuthType.allCases.map { ($0, nil) } + [(.passcode, .biometric)]

  /// Returns the user's last proof of each kind in any flow of the client.
  func proofs(of person: LocalPerson, to client: String) -> [LocalAuthProof] {
    latest.withLock { latest in
      Self.kinds.compactMap { method, insteadOf in
        let key = Key(person: person, client: client, method: method, insteadOf: insteadOf)
        return latest[key].map { LocalAuthProof(method: method, at: $0, insteadOf: insteadOf) }
      }
    }
  }

  /// Removes all proofs of a user, for example after too many wrong passcodes.
  func removeProofs(of person: LocalPerson) {
    latest.withLock { latest in latest = latest.filter { $0.key.person != person } }
  }
}
