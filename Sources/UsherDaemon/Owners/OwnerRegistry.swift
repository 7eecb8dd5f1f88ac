import Logging
import NIOCore
import Synchronization
import UsherCore
import UsherStore
import UsherSystem

/// Records the names of the users whose objects are stored, and decides whether a caller is still
/// the same user.
///
/// The kernel reports a caller's uid, and a uid may be reassigned to another person. So the name is
/// looked up at the first call of each connection, off the event loop, and access to the objects of
/// a uid is refused while its name differs. An operator accepts the new name or deletes the objects
/// (Access.md § A uid of another person).
final class OwnerRegistry: Sendable {
  /// A change in the access to a user's stored objects.
  enum Change: Sendable {
    /// The objects must not be handed out or used any more.
    case withheld
    /// The objects may be handed out and used again.
    case restored
    /// The result of the comparison with the user database has changed, so the user's next calls
    /// may be admitted or refused differently. Background work for the user continues.
    case reviewed
    /// Nothing is stored for the uid any more, because it belongs to another user now or
    /// `owner.forget` has deleted everything. State in memory about the earlier user must be
    /// dropped.
    case replaced
  }

  typealias Observer = @Sendable (Change, LocalPerson) async -> Void

  /// The name of the note that is stored once every owner has a record.
  private static let completeNote = "owners"
  /// The number of users in memory above which ``review()`` drops all entries that equal the stored
  /// ones. The next call of such a user reads the disk.
  private static let maxInMemory = 4096

  struct Entry {
    /// The user's record; nil if the user database has not identified the user yet.
    var record: OwnerRecord?
    /// Whether the record on disk equals ``record``.
    var isStored = false
    var verdict = OwnerRecord.Verdict.same
    /// The start of the last look-up that was answered, by the monotonic clock.
    var comparedAt: Timestamp?
    /// Whether a connection was admitted since the user was last compared with the user database,
    /// so that the comparison should be repeated.
    var isAssumed = false
    /// Whether the operator has begun to delete the user's stored objects.
    var isBeingForgotten: Bool { record?.isBeingForgotten ?? false }
    var isWithheld: Bool { record?.isWithheld ?? false }

    /// Whether the entry can be dropped from memory, because it can be read from disk again.
    var matchesStore: Bool { isStored && verdict == .same && !isWithheld && !isAssumed }
  }

  let dependencies: Dependencies
  let store: Store
  /// The users that have called or whose objects are withheld. Other records are only on disk.
  let entries = Mutex<[LocalPerson: Entry]>([:])
  /// The users whose objects were deleted, until the next call from their uids.
  let forgotten = Mutex<Set<LocalPerson>>([])
  /// Serializes, for each user, the comparison with the user database, the write of the record and
  /// the update of ``entries``.
  let personLock = AsyncKeyedLock<LocalPerson>()
  private let observers = Mutex<[Observer]>([])
  /// Whether every owner has a record (``recordAll()``).
  private let isComplete = Atomic<Bool>(false)

  init(dependencies: Dependencies, store: Store) {
    self.dependencies = dependencies
    self.store = store
  }

  /// Loads the withheld users. There are few of them: each awaits an operator's decision.
  func restore() throws(UsherError) {
    var restored: [LocalPerson: Entry] = [:]
    for row in try store.loadWithheldOwners() { restored[LocalPerson(row)] = try Entry(row) }
    entries.withLock { [restored] in $0 = restored }
    isComplete.store(try store.loadNote(Self.completeNote) != nil, ordering: .relaxed)
    store.checkOwners { [weak self] (owner) throws(UsherError) in try self?.checkMayOwn(owner) }
  }

  /// Prevents a call that began before `owner.forget` from storing objects again.
  private func checkMayOwn(_ owner: Owner) throws(UsherError) {
    guard owner.client == nil else { return }
    let person = LocalPerson(owner)
    if forgotten.withLock({ $0.contains(person) }) {
      throw UsherError(
        .permissionDenied,
        "uid \(owner.uid): its stored data was deleted during the call; try again")
    }
    try checkNotBeingForgotten(person)
  }

  /// Calls `body` for each change in the access to a user's stored objects, before an RPC call that
  /// waits for the change continues.
  func addObserver(_ body: @escaping Observer) { observers.withLock { $0.append(body) } }

  /// Whether access to an owner's stored objects is refused, because its uid may belong to another
  /// person or the objects are being deleted. Costs one lock.
  func isWithheld(_ owner: Owner) -> Bool {
    guard owner.client == nil else { return false }
    return entries.withLock { $0[LocalPerson(owner)]?.isWithheld ?? false }
  }

  /// The users to whose stored objects access is refused.
  var withheld: [LocalPerson] {
    entries.withLock { entries in entries.filter { $0.value.isWithheld }.map(\.key) }
  }
}

// MARK: - Callers

extension OwnerRegistry {
  /// Decides about a call without waiting, from the last comparison of the caller's name.
  ///
  /// - Returns: False if the user database must be asked first, by ``verify(_:andRecord:)``.
  /// - Throws: `permissionDenied` if the caller's uid belonged to another user.
  func admits(_ caller: Caller) throws(UsherError) -> Bool {
    guard isCompared(caller) else { return true }
    let entry = entries.withLock { $0[caller.person] }
    if let connectedAt = caller.connectedAt {
      guard let entry, entry.isStored, let comparedAt = entry.comparedAt,
        comparedAt >= connectedAt - dependencies.users.nameHolds
      else { return false }
      if comparedAt < connectedAt, !entry.isAssumed {
        entries.withLock { $0[caller.person]?.isAssumed = true }
      }
    }
    if let refusal = entry?.refusal(of: caller.uid) { throw refusal }
    return true
  }

  /// Looks up the name of the caller's uid in the user database and decides about the call.
  ///
  /// - Parameter isRecorded: Whether the call may store something for the user, so that the user
  ///   must have a record.
  /// - Throws: The errors of ``admits(_:)``; `storageUnavailable` if the record cannot be written.
  func verify(_ caller: Caller, andRecord isRecorded: Bool = true) async throws(UsherError) {
    guard isCompared(caller) else { return }
    let person = caller.person
    try checkNotBeingForgotten(person)
    try await personLock.withLock(person) { () throws(UsherError) in
      guard try !admits(caller) else { return }
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      try await recordComparison(found, of: person, since: began)
    }
    let entry = entries.withLock { $0[person] }
    if let refusal = entry?.refusal(of: caller.uid) { throw refusal }
    // Every owner must have a record, so that a missing record proves that something other than
    // usherd deleted it.
    guard !isRecorded || entry?.isStored == true else { throw nameNotStored(caller.uid) }
  }

  /// Makes sure that a user has a record before the operator stores something for the user, who
  /// may never have called.
  ///
  /// - Throws: `storageUnavailable` if the record cannot be written.
  func record(_ person: LocalPerson) async throws(UsherError) {
    guard person.uid != 0, person.uid != dependencies.daemonUser, !Owner.isTransient(person.uid)
    else { return }
    try checkNotBeingForgotten(person)
    let isStored = { [self] in entries.withLock { $0[person]?.isStored == true } }
    try await personLock.withLock(person) { () throws(UsherError) in
      guard !isStored() else { return }
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      try await recordComparison(found, of: person, since: began)
    }
    guard isStored() else { throw nameNotStored(person.uid) }
  }

  private func nameNotStored(_ uid: UInt32) -> UsherError {
    UsherError(
      .storageUnavailable, "the user name of uid \(uid) cannot be stored: try again",
      detail: .init(retryable: true))
  }

  private func checkNotBeingForgotten(_ person: LocalPerson) throws(UsherError) {
    guard let entry = entries.withLock({ $0[person] }), entry.isBeingForgotten,
      let refusal = entry.refusal(of: person.uid)
    else { return }
    throw refusal
  }

  /// Whether the caller's uid is compared. The uids of `DynamicUser=` get a new name each time and
  /// own nothing; the admin socket is for root and the daemon's own user.
  private func isCompared(_ caller: Caller) -> Bool {
    !caller.isAdmin && !Owner.isTransient(caller.uid)
  }

  /// Applies the answer of the user database about a user's name. Must be called while holding
  /// ``personLock`` for the user.
  private func recordComparison(
    _ found: UserLookup, of person: LocalPerson, since began: Timestamp
  ) async throws(UsherError) {
    let now = dependencies.clock.now()
    let isLocal = await isLocal(person, found)
    var entry = try known(person) ?? Entry()
    if let comparedAt = entry.comparedAt, comparedAt > began { return }
    let before = entry
    if entry.record == nil, try hasLostRecord(person) {
      entry.record = OwnerRecord(lostTo: found, at: now)
    }
    if case .other = entry.compare(with: found, isLocal: isLocal, at: now),
      (try? hasStoredObjects(person)) == false
    {
      // Nothing is stored for the uid, so nothing has to be withheld from its new user.
      entry.record = nil
      await notify(.replaced, person)
    }
    entry.record = entry.record ?? OwnerRecord(found, isLocal: isLocal, at: now)
    entry.verdict = entry.compare(with: found, isLocal: isLocal, at: now)
    entry.isAssumed = false
    // If the user database did not answer, the next call asks again.
    let isAnswered = entry.verdict != .unconfirmed && entry.verdict != .unknown
    entry.comparedAt = isAnswered ? began : nil
    await save(&entry, after: before, of: person)
    entries.withLock { [entry] in $0[person] = entry }
    _ = forgotten.withLock { $0.remove(person) }
    await publishChange(from: before, to: entry, person)
  }

  func isLocal(_ person: LocalPerson, _ found: UserLookup) async -> Bool {
    guard case .named = found else { return false }
    return await dependencies.blocking.run { [users = dependencies.users] in
      users.isLocal(person.uid)
    }
  }

  /// Whether the user has stored objects but no record. usherd itself deletes the record last, so
  /// something else has deleted it.
  private func hasLostRecord(_ person: LocalPerson) throws(UsherError) -> Bool {
    // Calls on the admin socket are not compared, so root and the daemon's own user may have stored
    // objects without a record.
    guard isComplete.load(ordering: .relaxed), person.uid != 0,
      person.uid != dependencies.daemonUser
    else { return false }
    return try hasStoredObjects(person)
  }

  /// Returns what is known about a user, from memory or else from disk; nil if no record exists.
  func known(_ person: LocalPerson) throws(UsherError) -> Entry? {
    if let entry = entries.withLock({ $0[person] }) { return entry }
    return try store.loadOwner(realm: person.realm, uid: person.uid).map(Entry.init)
  }

  /// Stores a user's record if it has changed or is not on disk yet.
  ///
  /// If the write fails and the new record differs from the one on disk only in the time at which
  /// the user database last confirmed the user name, `entry` gets the record on disk back. After
  /// any other failed write, `entry` keeps the new record and is marked as not stored.
  private func save(_ entry: inout Entry, after before: Entry, of person: LocalPerson) async {
    guard entry.record != before.record || !entry.isStored else { return }
    let isStored = await write(entry.record, of: person)
    if !isStored, before.isStored, let old = before.record, entry.record?.isSame(as: old) == true {
      entry.record = old
    } else {
      entry.isStored = isStored
    }
  }

  func hasStoredObjects(_ person: LocalPerson) throws(UsherError) -> Bool {
    try store.hasStoredObjects(ofUser: person.uid, realm: person.realm)
  }

  /// Writes a user's record.
  ///
  /// - Returns: Whether the record is on disk. If not, the next call of the user tries again.
  private func write(_ record: OwnerRecord?, of person: LocalPerson) async -> Bool {
    guard let record else { return false }
    do throws(UsherError) {
      try await store.commit([.putOwner(try OwnerRow(record, of: person))])
      return true
    } catch {
      dependencies.log.debug(
        "the user name of a uid cannot be stored; the next call tries again",
        metadata: ["uid": "\(person.uid)", "cause": .string(error.message)])
      return false
    }
  }

  func publishChange(from before: Entry, to after: Entry, _ person: LocalPerson) async {
    guard before.isWithheld != after.isWithheld else {
      if before.verdict != after.verdict { await notify(.reviewed, person) }
      return
    }
    await notify(after.isWithheld ? .withheld : .restored, person)
    guard let record = after.record, let other = record.other else { return }
    dependencies.log.warning(
      """
      a uid now has another user name: its stored data is withheld; run: usherctl owner accept, or \
      usherctl owner forget
      """,
      metadata: [
        "uid": "\(person.uid)", "user": .string(record.name ?? "(no name)"),
        "now": .string(other.name),
      ])
  }

  func notify(_ change: Change, _ person: LocalPerson) async {
    for observer in observers.withLock({ $0 }) { await observer(change, person) }
  }
}

// MARK: - All users

extension OwnerRegistry {
  /// Creates the records of owners that versions without records left, once for each database.
  /// Stops if the user database does not answer; the next ``review()`` starts again.
  func recordAll() async throws(UsherError) {
    guard !isComplete.load(ordering: .relaxed) else { return }
    let realm = DaemonSetting.realm
    let people = try store.usersWithStoredObjects(in: realm)
      .filter { !Owner.isTransient($0) }.map { LocalPerson(realm: realm, uid: $0) }
    guard try await compare(people) else { return }
    for person in people {
      guard try store.loadOwner(realm: person.realm, uid: person.uid) != nil else { return }
    }
    let note = NoteRow(name: Self.completeNote, payload: SealedPayload([]))
    try await store.commit([.putNote(note)])
    isComplete.store(true, ordering: .relaxed)
  }

  /// Compares the users whose connections were admitted because of an earlier comparison, and
  /// completes ``recordAll()``. Called once a minute.
  func review() async throws(UsherError) {
    try await recordAll()
    let assumed = entries.withLock { entries in entries.filter { $0.value.isAssumed }.map(\.key) }
    _ = try await compare(assumed)
    entries.withLock { entries in
      guard entries.count > Self.maxInMemory else { return }
      entries = entries.filter { !$0.value.matchesStore }
    }
  }

  /// Compares users with the user database.
  ///
  /// - Returns: False if the user database does not answer.
  func compare(_ people: [LocalPerson]) async throws(UsherError) -> Bool {
    for person in people {
      if try known(person)?.isBeingForgotten ?? false { continue }
      let isInMemory = entries.withLock { $0[person] != nil }
      // Done without holding the lock. Otherwise a caller would wait for a look-up that hangs.
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      guard found != .failed else { return false }
      try await personLock.withLock(person) { () throws(UsherError) in
        try await recordComparison(found, of: person, since: began)
      }
      entries.withLock { entries in
        if !isInMemory, entries[person]?.matchesStore == true { entries[person] = nil }
      }
    }
    return true
  }
}

extension OwnerRegistry.Entry {
  init(_ row: OwnerRow) throws(UsherError) {
    let record: OwnerRecord = try row.payload.decoded()
    self.init(record: record, isStored: true, verdict: record.lastVerdict)
  }

  mutating func compare(
    with found: UserLookup, isLocal: Bool, at now: Timestamp
  ) -> OwnerRecord.Verdict {
    record?.compare(with: found, isLocal: isLocal, at: now) ?? .unknown
  }

  func refusal(of uid: UInt32) -> UsherError? {
    if isBeingForgotten {
      return UsherError(
        .permissionDenied,
        "uid \(uid): its stored data is being deleted; if this persists, the operator must run "
          + "again: usherctl owner forget \(uid)",
        detail: .init(retryable: true))
    }
    return verdict.refusal(of: uid)
  }
}
