import Crypto
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Whose passcode and fingers they are: a user of a host, whatever client he uses.
struct LocalPerson: Sendable, Hashable {
  let realm: String
  let uid: UInt32
}

/// What is kept of a person.
struct LocalAuthRecord: Codable, Sendable, Equatable {
  var passcode: PasscodeHash?
  var passcodes = AttemptCount()
  var fingers = AttemptCount()
  /// The fingers that were enrolled at the last success with a finger, nil without such a success.
  /// Databases of 0.1.0 have this one value for all askers.
  private(set) var domainState: DomainState?
  /// The state that each asker saved.
  private var saved: [String: DomainState]?

  /// The fingers that an asker compares with; nil where it has saved none.
  func domainState(of asker: LocalAuthAsker) -> DomainState? { saved?[asker.key] ?? domainState }

  mutating func save(_ state: DomainState, for asker: LocalAuthAsker) {
    saved = (saved ?? [:]).merging([asker.key: state]) { $1 }
  }
}

/// The program and purpose of a local authentication. Each asker has a domain state of its own.
struct LocalAuthAsker: Sendable {
  /// Nil for the daemon itself, and for a flow that has no client.
  let client: String?
  /// The provider of the flow.
  let purpose: ProviderName

  init(client: String? = nil, purpose: ProviderName = ProviderConfig.local.name) {
    self.client = client
    self.purpose = purpose
  }

  /// Whether each success saves the fingers: a provider's flow says itself when it saves.
  var savesEachSuccess: Bool { purpose == ProviderConfig.local.name }

  fileprivate var key: String { "\(purpose.rawValue) \(client ?? "")" }
}

/// A hash of the names of the enrolled fingers: fprintd tells no more of them.
struct DomainState: Codable, Sendable, Equatable {
  private let digest: [UInt8]

  init(fingers: [String]) {
    digest = Array(SHA256.hash(data: Array(fingers.sorted().joined(separator: "\n").utf8)))
  }
}

/// All records, in memory and on disk.
final class LocalAuthRepository: Sendable {
  /// Who changes a record reads, decides and writes within one of these.
  let turns = AsyncKeyedLock<LocalPerson>()
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

  /// How it stands now. A lock that a clock set back made longer is as long as it was made, from now
  /// on.
  func record(of person: LocalPerson, at now: Timestamp) -> LocalAuthRecord {
    records.withLock { records in
      guard var record = records[person] else { return LocalAuthRecord() }
      _ = record.passcodes.lockedUntil(at: now)
      _ = record.fingers.lockedUntil(at: now)
      records[person] = record
      return record
    }
  }

  /// Takes a record over once it is on disk.
  func keep(_ record: LocalAuthRecord, of person: LocalPerson) async throws(UsherError) {
    let row = LocalAuthRow(
      realm: person.realm, uid: person.uid, payload: try SealedPayload(encoding: record))
    try await store.commit([.putLocalAuth(row)])
    records.withLock { $0[person] = record }
  }

  func forget(_ person: LocalPerson) async throws(UsherError) {
    try await turns.withLock(person) { () throws(UsherError) in
      try await store.commit([.deleteLocalAuth(realm: person.realm, uid: person.uid)])
      records.withLock { $0[person] = nil }
    }
  }
}
