import Logging
import NIOCore
import Synchronization
import UsherCore
import UsherStore
import UsherSystem

/// Records the users behind the uids that own something, and decides whether a caller is still the
/// same user.
///
/// The kernel reports a caller's uid, and a uid may be reassigned to another person. So the name is
/// looked up at the first call of each connection, off the event loop, and a uid's property is
/// withheld while its name differs. An operator accepts the new name or deletes the property
/// (Access.md § A uid of another person).
final class OwnerRegistry: Sendable {
  /// A change in the access to a uid's property.
  enum Change: Sendable {
    /// Nothing of it is handed out or used any more.
    case withheld
    /// It is handed out and used again.
    case restored
    /// Calls may be decided differently; background work continues.
    case reconsidered
    /// Nothing is stored for the uid any more; state in memory must be forgotten.
    case replaced
  }

  typealias Observer = @Sendable (Change, LocalPerson) async -> Void

  /// The name of the note that is stored once every owner has a record.
  private static let completeNote = "owners"
  /// The number of users in memory above which `review()` drops all entries that equal the stored
  /// ones; the next call of such a user reads the disk.
  private static let mostInMemory = 4096

  struct Entry {
    /// Nil if the user database has not identified the user yet.
    var record: OwnerRecord?
    /// Whether the stored record equals this one.
    var isStored = false
    var verdict = OwnerRecord.Verdict.same
    /// The start of the last completed look-up.
    var comparedAt: Timestamp?
    /// Whether a connection newer than the last comparison was admitted because of it.
    var isAssumed = false
    /// Whether the operator has begun to delete the user's property.
    var isBeingForgotten: Bool { record?.isBeingForgotten ?? false }
    var isWithheld: Bool { record?.isWithheld ?? false }

    /// Whether the entry can be dropped from memory without loss.
    var isLikeOnDisk: Bool { isStored && verdict == .same && !isWithheld && !isAssumed }
  }

  let dependencies: Dependencies
  let store: Store
  /// The users that have called, and those whose property is withheld. The others are on disk.
  let entries = Mutex<[LocalPerson: Entry]>([:])
  /// The users whose property was deleted, until the next call from their uids.
  let forgotten = Mutex<Set<LocalPerson>>([])
  /// Serializes comparison, write and installation for each user.
  let personLock = AsyncKeyedLock<LocalPerson>()
  private let observers = Mutex<[Observer]>([])
  /// Whether every owner has a record (``recordAll()``).
  private let isComplete = Atomic<Bool>(false)

  init(dependencies: Dependencies, store: Store) {
    self.dependencies = dependencies
    self.store = store
  }

  /// Loads the withheld users, which are as many as await an operator's decision.
  func restore() throws(UsherError) {
    var restored: [LocalPerson: Entry] = [:]
    for row in try store.loadWithheldOwners() { restored[LocalPerson(row)] = try Entry(row) }
    entries.withLock { [restored] in $0 = restored }
    isComplete.store(try store.loadNote(Self.completeNote) != nil, ordering: .relaxed)
    store.checkOwners { [weak self] (owner) throws(UsherError) in try self?.checkMayOwn(owner) }
  }

  /// Prevents a call that began before `owner.forget` from storing something again.
  private func checkMayOwn(_ owner: Owner) throws(UsherError) {
    guard owner.client == nil else { return }
    let person = LocalPerson(owner)
    if forgotten.withLock({ $0.contains(person) }) {
      throw UsherError(.permissionDenied, "uid \(owner.uid): its stored data was deleted")
    }
    try checkNotBeingForgotten(person)
  }

  /// Calls `body` for each change in the access to a user's stored objects, before an RPC call that
  /// waits for the change continues.
  func addObserver(_ body: @escaping Observer) { observers.withLock { $0.append(body) } }

  /// Whether nobody may use an owner's stored objects, because its uid may belong to another person
  /// or they are being deleted. Costs one lock.
  func isWithheld(_ owner: Owner) -> Bool {
    guard owner.client == nil else { return false }
    return entries.withLock { $0[LocalPerson(owner)]?.isWithheld ?? false }
  }

  /// The users whose stored objects nobody may use.
  var withheld: [LocalPerson] {
    entries.withLock { entries in entries.filter { $0.value.isWithheld }.map(\.key) }
  }
}

// MARK: - Callers

extension OwnerRegistry {
  /// Decides about a call without waiting.
  ///
  /// - Returns: False if the user database must be asked first: ``verify(_:)``.
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

  /// Looks up the caller's uid in the user database and decides.
  ///
  /// - Parameter isRecorded: Whether the call may store something for the user, so that a record is
  ///   required.
  /// - Throws: The errors of ``admits(_:)``; `storageUnavailable` if the record cannot be written.
  func verify(_ caller: Caller, andRecord isRecorded: Bool = true) async throws(UsherError) {
    guard isCompared(caller) else { return }
    let person = caller.person
    try checkNotBeingForgotten(person)
    try await personLock.withLock(person) { () throws(UsherError) in
      guard try !admits(caller) else { return }
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      try await take(found, of: person, since: began)
    }
    let entry = entries.withLock { $0[person] }
    if let refusal = entry?.refusal(of: caller.uid) { throw refusal }
    // Every owner has a record, so that a missing record proves that it was deleted.
    guard !isRecorded || entry?.isStored == true else {
      throw UsherError(
        .storageUnavailable, "the user name of uid \(caller.uid) cannot be stored: try again",
        detail: .init(retryable: true))
    }
  }

  private func checkNotBeingForgotten(_ person: LocalPerson) throws(UsherError) {
    guard let entry = entries.withLock({ $0[person] }), entry.isBeingForgotten,
      let refusal = entry.refusal(of: person.uid)
    else { return }
    throw refusal
  }

  /// Whether the caller's uid is compared. The uids of `DynamicUser=` have a new name each time and
  /// own nothing; the admin socket is for root and the daemon's own user.
  private func isCompared(_ caller: Caller) -> Bool {
    !caller.isAdmin && !Owner.isTransient(caller.uid)
  }

  /// Must be called while holding the user's lock.
  private func take(
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
      // Nothing is stored for the uid, so there is nothing to withhold.
      entry.record = nil
      await notify(.replaced, person)
    }
    entry.record = entry.record ?? OwnerRecord(found, isLocal: isLocal, at: now)
    entry.verdict = entry.compare(with: found, isLocal: isLocal, at: now)
    entry.isAssumed = false
    // Without an answer, the next call asks again.
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

  /// Whether the user owns something and has lost the record, which usherd itself deletes last.
  private func hasLostRecord(_ person: LocalPerson) throws(UsherError) -> Bool {
    // Admin calls are not compared, so root and the daemon's user may own something without a
    // record.
    guard isComplete.load(ordering: .relaxed), person.uid != 0,
      person.uid != dependencies.daemonUser
    else { return false }
    return try hasStoredObjects(person)
  }

  /// Returns what is known about a user, from memory or else from disk; nil if nothing is.
  func known(_ person: LocalPerson) throws(UsherError) -> Entry? {
    if let entry = entries.withLock({ $0[person] }) { return entry }
    return try store.loadOwner(realm: person.realm, uid: person.uid).map(Entry.init)
  }

  /// Stores the user's record if it has changed. If the store fails, a record that differs only in
  /// the time of its last confirmation is dropped.
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

  /// - Returns: Whether the record is on disk; if not, the next call tries again.
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
      if before.verdict != after.verdict { await notify(.reconsidered, person) }
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
  /// Creates records for owners that versions without records left, once for each database. Stops
  /// if the user database does not answer; ``review()`` then starts again.
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

  /// Compares the users whose connections were admitted by an earlier comparison, and completes
  /// ``recordAll()``.
  func review() async throws(UsherError) {
    try await recordAll()
    let assumed = entries.withLock { entries in entries.filter { $0.value.isAssumed }.map(\.key) }
    _ = try await compare(assumed)
    entries.withLock { entries in
      guard entries.count > Self.mostInMemory else { return }
      entries = entries.filter { !$0.value.isLikeOnDisk }
    }
  }

  /// Compares users with the user database.
  ///
  /// - Returns: False if the user database does not answer.
  func compare(_ people: [LocalPerson]) async throws(UsherError) -> Bool {
    for person in people {
      if try known(person)?.isBeingForgotten ?? false { continue }
      let isInMemory = entries.withLock { $0[person] != nil }
      // Outside the lock: otherwise a caller would wait for a look-up that hangs.
      let began = dependencies.clock.monotonicNow()
      let found = await dependencies.lookups.user(person.uid)
      guard found != .failed else { return false }
      try await personLock.withLock(person) { () throws(UsherError) in
        try await take(found, of: person, since: began)
      }
      entries.withLock { entries in
        if !isInMemory, entries[person]?.isLikeOnDisk == true { entries[person] = nil }
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
