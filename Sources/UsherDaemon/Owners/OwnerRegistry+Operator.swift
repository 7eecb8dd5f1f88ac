import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

// Operations for the operator: `owner.list`, `owner.accept` and `owner.forget`.
extension OwnerRegistry {
  /// The maximum number of runs of `wipe` in ``forget(_:_:)``. Each run after the first deletes
  /// data that calls in progress have written in the meantime.
  private static let maxWipes = 8

  /// A user with the stored record and the current verdict.
  struct OwnerStatus: Sendable {
    let person: LocalPerson
    let record: OwnerRecord
    let verdict: OwnerRecord.Verdict
  }

  /// Compares all recorded users with the user database, as far as the database answers.
  ///
  /// - Returns: The users with their verdicts, ordered by uid.
  func statuses() async throws(UsherError) -> [OwnerStatus] {
    try await recordAll()
    let people = try store.loadOwners().map { LocalPerson($0) }.sorted { $0.uid < $1.uid }
    _ = try await compare(people)
    var statuses: [OwnerStatus] = []
    for person in people {
      guard let entry = try known(person), let record = entry.record else { continue }
      statuses.append(OwnerStatus(person: person, record: record, verdict: entry.verdict))
    }
    return statuses
  }

  /// Makes the current user of the uid the owner of all objects that are stored for the uid.
  ///
  /// - Returns: The user name; nil if the uid has none.
  /// - Throws: `notFound` if no user is recorded; `storageUnavailable`.
  func accept(_ person: LocalPerson) async throws(UsherError) -> String? {
    try await personLock.withLock(person) { () throws(UsherError) in
      guard let before = try known(person), before.record != nil else {
        throw Self.nothingStored(person.uid)
      }
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      let isLocal = await isLocal(person, found)
      guard let record = OwnerRecord(found, isLocal: isLocal, at: dependencies.clock.now()) else {
        throw UserLookups.noAnswer
      }
      try await store.commit([.putOwner(try OwnerRow(record, of: person))])
      let entry = Entry(record: record, isStored: true, comparedAt: began)
      entries.withLock { $0[person] = entry }
      await publishChange(from: before, to: entry, person)
      return record.name
    }
  }

  /// Runs `wipe`, which deletes a user's stored objects, while access to them is refused. Then
  /// deletes the user's record.
  ///
  /// - Returns: The result of each run of `wipe`.
  /// - Throws: `notFound` if no user is recorded and nothing is stored; `storageUnavailable`;
  ///   errors of `wipe`. Access to the remaining objects is then refused until the next attempt,
  ///   even after a restart.
  func forget<Value>(
    _ person: LocalPerson, _ wipe: () async throws(UsherError) -> Value
  ) async throws(UsherError) -> [Value] {
    try await personLock.withLock(person) { () throws(UsherError) in
      var entry = try known(person) ?? Entry()
      let isKnown = try hasStoredObjects(person)
      guard isKnown || entry.record != nil else { throw Self.nothingStored(person.uid) }
      var record =
        entry.record ?? OwnerRecord(name: nil, isLocal: false, at: dependencies.clock.now())
      record.beginForgetting()
      try await store.commit([.putOwner(try OwnerRow(record, of: person))])
      entry.record = record
      entries.withLock { [entry] in $0[person] = entry }
      await notify(.withheld, person)
      var values = [try await wipe()]
      // Calls in progress may have written since the last run; no other call can write.
      while try hasStoredObjects(person) {
        guard values.count < Self.maxWipes else {
          throw UsherError(
            .overloaded,
            "calls by uid \(person.uid) are still writing: end its processes and try again",
            detail: .init(retryAfterMs: 2000))
        }
        values.append(try await wipe())
      }
      try await store.commit([.deleteOwner(realm: person.realm, uid: person.uid)])
      _ = forgotten.withLock { $0.insert(person) }
      entries.withLock { $0[person] = nil }
      await notify(.replaced, person)
      return values
    }
  }

  private static func nothingStored(_ uid: UInt32) -> UsherError {
    UsherError(.notFound, "nothing is stored for uid \(uid)", field: "uid")
  }
}
