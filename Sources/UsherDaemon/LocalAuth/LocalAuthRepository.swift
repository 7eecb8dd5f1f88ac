import Crypto
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// A user of a host. All clients that run as the user share one passcode and the fingers.
struct LocalPerson: Sendable, Hashable {
  let realm: String
  let uid: UInt32
}

/// The stored passcode, failed attempts and saved fingers of a user.
struct LocalAuthRecord: Codable, Sendable, Equatable {
  var passcode: PasscodeHash?
  var passcodes = AttemptCount()
  var fingers = AttemptCount()
  /// The fingers that were enrolled at the last successful scan, for all askers; nil without one.
  /// Only databases of version 0.1.0 have this value.
  private(set) var domainState: DomainState?
  /// The fingers that were enrolled when an asker last saved them, by ``LocalAuthAsker/key``.
  private var saved: [String: DomainState]?

  /// Returns the saved fingers with which an asker compares the enrolled ones; nil if it has saved
  /// none.
  func domainState(of asker: LocalAuthAsker) -> DomainState? { saved?[asker.key] ?? domainState }

  mutating func save(_ state: DomainState, for asker: LocalAuthAsker) {
    saved = (saved ?? [:]).merging([asker.key: state]) { $1 }
  }
}

/// The client and the purpose of a local authentication. Each asker has its own saved fingers.
struct LocalAuthAsker: Sendable {
  /// The client; nil for the daemon itself, and for a flow that has no client.
  var client: String?
  /// The provider of the flow that asks for the local authentication.
  var purpose = ProviderConfig.local.name

  /// Whether each successful scan saves the enrolled fingers. Only flows of usherd's own provider
  /// `local` do that; other flows save them explicitly.
  var savesEachSuccess: Bool { purpose == ProviderConfig.local.name }

  fileprivate var key: String { "\(purpose.rawValue) \(client ?? "")" }
}

/// A hash of the names of a user's enrolled fingers. fprintd reveals nothing else about them.
struct DomainState: Codable, Sendable, Equatable {
  private let digest: [UInt8]

  init(fingers: [String]) {
    digest = Array(SHA256.hash(data: Array(fingers.sorted().joined(separator: "\n").utf8)))
  }
}

/// The local authentication records of all users, in memory and on disk.
final class LocalAuthRepository: Sendable {
  /// Serializes, for each user, the changes of the local authentication record: read, decide,
  /// write.
  let personLock = AsyncKeyedLock<LocalPerson>()
  private let store: Store
  private let records = Mutex<[LocalPerson: LocalAuthRecord]>([:])

  init(store: Store) { self.store = store }

  func restore() throws(UsherError) {
    var restored: [LocalPerson: LocalAuthRecord] = [:]
    for row in try store.loadLocalAuth() {
      restored[LocalPerson(realm: row.realm, uid: row.uid)] = try row.payload.decoded()
    }
    records.withLock { [restored] in $0 = restored }
  }

  /// Returns the record of a user. If the wall clock was set back and a lockout would now last
  /// longer, the lockout is reduced to its original length, counted from now.
  func record(of person: LocalPerson, at now: Timestamp) -> LocalAuthRecord {
    records.withLock { records in
      guard var record = records[person] else { return LocalAuthRecord() }
      _ = record.passcodes.lockedUntil(at: now)
      _ = record.fingers.lockedUntil(at: now)
      records[person] = record
      return record
    }
  }

  /// Stores a user's record on disk, and then in memory.
  func persist(_ record: LocalAuthRecord, of person: LocalPerson) async throws(UsherError) {
    let row = LocalAuthRow(
      realm: person.realm, uid: person.uid, payload: try SealedPayload(encoding: record))
    try await store.commit([.putLocalAuth(row)])
    records.withLock { $0[person] = record }
  }

  func deleteRecord(of person: LocalPerson) async throws(UsherError) {
    try await personLock.withLock(person) { () throws(UsherError) in
      try await store.commit([.deleteLocalAuth(realm: person.realm, uid: person.uid)])
      records.withLock { $0[person] = nil }
    }
  }
}
