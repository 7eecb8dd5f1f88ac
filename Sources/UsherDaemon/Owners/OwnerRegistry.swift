import Logging
import NIOCore
import Synchronization
import UsherCore
import UsherStore
import UsherSystem

/// Knows who the uids were that own things, and decides whether a caller is still that user.
///
/// The kernel tells a caller's uid, and a uid may be given to another person. So the user database is
/// asked for the name at the first call of a connection, away from the event loop, and what a uid
/// owns is withheld while its name is another one. An operator accepts the new name, or forgets what
/// is there (Access.md § A uid of another person).
final class OwnerRegistry: Sendable {
  /// What becomes of what a uid owns.
  enum Change: Sendable {
    /// Nothing of it is given or used any more.
    case withheld
    /// It is given and used again.
    case restored
    /// Calls are decided otherwise than before; what goes on by itself goes on.
    case reconsidered
    /// It owned nothing that is stored; what is in memory is to be forgotten.
    case replaced
  }

  typealias Follower = @Sendable (Change, LocalPerson) async -> Void

  /// How long a call waits for the user database.
  static let patience = Duration.seconds(2)

  fileprivate struct Entry {
    /// Nil where the user database has not told who it is.
    var record: OwnerRecord?
    /// Whether the record is on disk as it is here.
    var isStored = false
    var verdict = OwnerRecord.Verdict.same
    /// When the last look-up that has ended began.
    var comparedAt: NIODeadline?
    /// Whether a connection that came after the last comparison was let in by it.
    var isAssumed = false
    /// Whether the operator has begun to forget what there is.
    var isBeingForgotten: Bool { record?.isBeingForgotten ?? false }
    var isWithheld: Bool { isBeingForgotten || record?.other != nil }
  }

  private let world: World
  private let store: Store
  private let users: UserDatabase
  private let log: Logger
  private let entries = Mutex<[LocalPerson: Entry]>([:])
  /// Those under way.
  private let lookUps = Mutex<[LocalPerson: UserLookingUp]>([:])
  /// Comparing, writing and taking over happen in one turn.
  private let turns = Turns<LocalPerson>()
  private let follower = Mutex<Follower?>(nil)
  /// Whether ``review()`` has come to its end.
  private let reviewed = Atomic<Bool>(false)

  init(world: World, store: Store, users: UserDatabase, log: Logger) {
    self.world = world
    self.store = store
    self.users = users
    self.log = log
  }

  func restore() throws(UsherError) {
    var restored: [LocalPerson: Entry] = [:]
    for note in try store.loadOwners() {
      let record: OwnerRecord = try note.payload.decoded()
      restored[LocalPerson(realm: note.realm, uid: note.uid)] = Entry(
        record: record, isStored: true, verdict: record.lastVerdict)
    }
    entries.withLock { [restored] in $0 = restored }
  }

  /// From now on `body` is told of each change, before a call that waits for it goes on.
  func follow(_ body: @escaping Follower) { follower.withLock { $0 = body } }

  /// Whether nothing that belongs to an owner may be used. Costs one lock.
  func isWithheld(_ owner: Owner) -> Bool {
    guard owner.client == nil else { return false }
    return entries.withLock { $0[LocalPerson(owner)]?.isWithheld ?? false }
  }

  /// The users of whom that is true.
  var withheld: [LocalPerson] {
    entries.withLock { entries in entries.filter { $0.value.isWithheld }.map(\.key) }
  }
}

// MARK: - Callers

extension OwnerRegistry {
  /// Decides about a call. Cheap: it waits for nothing.
  ///
  /// - Returns: False where the user database is to be asked first: ``verify(_:)``.
  /// - Throws: `permissionDenied` where the caller's uid was another user's.
  func admits(_ caller: Caller) throws(UsherError) -> Bool {
    guard isCompared(caller) else { return true }
    let entry = entries.withLock { $0[caller.person] }
    if let connectedAt = caller.connectedAt {
      guard let entry, entry.isStored, let comparedAt = entry.comparedAt,
        comparedAt >= connectedAt - TimeAmount(users.nameHolds)
      else { return false }
      if comparedAt < connectedAt, !entry.isAssumed {
        entries.withLock { $0[caller.person]?.isAssumed = true }
      }
    }
    if let refusal = entry?.refusal(of: caller.uid) { throw refusal }
    return true
  }

  /// Asks the user database who the caller's uid is, and decides.
  ///
  /// - Throws: As ``admits(_:)``.
  func verify(_ caller: Caller) async throws(UsherError) {
    guard isCompared(caller) else { return }
    let person = caller.person
    try checkNotBeingForgotten(person)
    try await turns.take(person) { () throws(UsherError) in
      guard try !admits(caller) else { return }
      let began = NIODeadline.now()
      let found = await lookUp(person, within: Self.patience)
      await take(found, of: person, since: began)
    }
    if let refusal = entries.withLock({ $0[person]?.refusal(of: caller.uid) }) { throw refusal }
  }

  private func checkNotBeingForgotten(_ person: LocalPerson) throws(UsherError) {
    guard let entry = entries.withLock({ $0[person] }), entry.isBeingForgotten,
      let refusal = entry.refusal(of: person.uid)
    else { return }
    throw refusal
  }

  /// The uids of `DynamicUser=` have another name each time, and own nothing. The admin socket is for
  /// root and the daemon's own user.
  private func isCompared(_ caller: Caller) -> Bool {
    !caller.isAdmin && !Owner.isTransient(caller.uid)
  }

  /// To be called within a turn.
  private func take(
    _ found: UserLookup, of person: LocalPerson, since began: NIODeadline
  ) async {
    let now = world.clock.now()
    let isLocal = await Aside.run { [users] in found.isNamed && users.isLocal(person.uid) }
    var entry = entries.withLock { $0[person] } ?? Entry()
    if let comparedAt = entry.comparedAt, comparedAt > began { return }
    let before = entry
    if case .other = entry.compare(with: found, isLocal: isLocal, at: now),
      (try? hasPossessions(person)) == false
    {
      // There is nothing to withhold.
      entry.record = nil
      await tell(.replaced, person)
    }
    entry.record = entry.record ?? OwnerRecord(found, isLocal: isLocal, at: now)
    entry.verdict = entry.compare(with: found, isLocal: isLocal, at: now)
    entry.isAssumed = false
    // The next call asks again.
    let isAnswered = entry.verdict != .unconfirmed && entry.verdict != .unknown
    entry.comparedAt = isAnswered ? began : nil
    await save(&entry, after: before, of: person)
    entries.withLock { [entry] in $0[person] = entry }
    await tellOfChange(from: before, to: entry, person)
  }

  /// Writes the record where it has changed. On a full disk a confirmation is left for later.
  private func save(_ entry: inout Entry, after before: Entry, of person: LocalPerson) async {
    guard entry.record != before.record || !entry.isStored else { return }
    let isStored = await write(entry.record, of: person)
    if !isStored, before.isStored, let old = before.record, entry.record?.isSame(as: old) == true {
      entry.record = old
    } else {
      entry.isStored = isStored
    }
  }

  private func hasPossessions(_ person: LocalPerson) throws(UsherError) -> Bool {
    try store.hasPossessions(ofUser: person.uid, realm: person.realm)
  }

  /// - Returns: Whether it is on disk. Where it is not, the next call tries again.
  private func write(_ record: OwnerRecord?, of person: LocalPerson) async -> Bool {
    guard let record else { return false }
    do throws(UsherError) {
      try await store.commit([.putOwner(try OwnerNote(record, of: person))])
      return true
    } catch {
      log.debug(
        "the user name of a uid cannot be stored; the next call tries again",
        metadata: ["uid": "\(person.uid)", "cause": .string(error.message)])
      return false
    }
  }

  private func tellOfChange(from before: Entry, to after: Entry, _ person: LocalPerson) async {
    guard before.isWithheld != after.isWithheld else {
      if before.verdict != after.verdict { await tell(.reconsidered, person) }
      return
    }
    await tell(after.isWithheld ? .withheld : .restored, person)
    guard let record = after.record, let other = record.other else { return }
    log.warning(
      """
      a uid is another user's now: what is stored for it is withheld; run: usherctl owner accept, \
      or usherctl owner forget
      """,
      metadata: [
        "uid": "\(person.uid)", "user": .string(record.name ?? "(no name)"),
        "now": .string(other.name),
      ])
  }

  private func tell(_ change: Change, _ person: LocalPerson) async {
    guard let body = follower.withLock({ $0 }) else { return }
    await body(change, person)
  }

  private func lookUp(_ person: LocalPerson, within limit: Duration) async -> UserLookup {
    let alarms = world.alarms
    // In a task of its own: a caller who leaves must not make it fail.
    return await Task { () -> UserLookup in
      // One that hangs does not get another thread to hang.
      if let earlier = lookUps.withLock({ $0[person] }), await !earlier.ends(within: limit, alarms)
      {
        return .failed
      }
      let lookUp = UserLookingUp()
      lookUps.withLock { $0[person] = lookUp }
      // Weak: a look-up that hangs must not keep in memory what a lock drops.
      Task { [weak self, users] in
        let found = await Aside.run { users.user(person.uid) }
        self?.lookUps.withLock { if $0[person] === lookUp { $0[person] = nil } }
        lookUp.end(found)
      }
      return await lookUp.ends(within: limit, alarms) ? lookUp.found : .failed
    }.value
  }
}

// MARK: - The operator

extension OwnerRegistry {
  /// A uid, and what is known of its user.
  struct Standing: Sendable {
    let person: LocalPerson
    let record: OwnerRecord
    let verdict: OwnerRecord.Verdict
  }

  /// By their uids.
  var standings: [Standing] {
    entries.withLock { entries in
      entries.compactMap { person, entry in
        entry.record.map { Standing(person: person, record: $0, verdict: entry.verdict) }
      }
    }.sorted { $0.person.uid < $1.person.uid }
  }

  /// Compares all that is recorded, and records for whom earlier versions stored things. It ends
  /// early where the user database does not answer; ``reviewAgain()`` then begins anew.
  func review() async throws(UsherError) {
    var people = Set(entries.withLock { Array($0.keys) })
    let realm = DaemonSetting.realm
    for uid in try store.usersWithPossessions(in: realm) where !Owner.isTransient(uid) {
      people.insert(LocalPerson(realm: realm, uid: uid))
    }
    let isOver = try await compare(people.sorted { $0.uid < $1.uid })
    reviewed.store(isOver, ordering: .relaxed)
  }

  /// Compares those whose connections were let in by an earlier comparison, and all where
  /// ``review()`` has not come to its end.
  func reviewAgain() async throws(UsherError) {
    guard reviewed.load(ordering: .relaxed) else { return try await review() }
    let assumed = entries.withLock { entries in entries.filter { $0.value.isAssumed }.map(\.key) }
    _ = try await compare(assumed)
  }

  /// - Returns: False where the user database does not answer.
  private func compare(_ people: [LocalPerson]) async throws(UsherError) -> Bool {
    for person in people {
      if entries.withLock({ $0[person]?.isBeingForgotten ?? false }) { continue }
      // Not within the turn: a caller would wait in vain for a look-up that hangs.
      let began = NIODeadline.now()
      let found = await lookUp(person, within: Self.patience)
      guard found != .failed else { return false }
      try await turns.take(person) { () throws(UsherError) in
        await take(found, of: person, since: began)
      }
    }
    return true
  }

  /// Makes the user whom the uid has now the owner of what is stored for it.
  ///
  /// - Returns: The name; nil where the uid has none.
  /// - Throws: `notFound` where nobody is recorded; `storageUnavailable`.
  func accept(_ person: LocalPerson) async throws(UsherError) -> String? {
    try await turns.take(person) { () throws(UsherError) in
      guard let before = entries.withLock({ $0[person] }), before.record != nil else {
        throw Self.nobody(person.uid)
      }
      let began = NIODeadline.now()
      let name: String?
      switch await lookUp(person, within: Self.patience) {
      case .named(let found): name = found
      case .nameless: name = nil
      case .failed:
        throw UsherError(
          .overloaded, "the user database does not answer: try again",
          detail: .init(retryAfterMs: 2000))
      }
      let isLocal = await Aside.run { [users] in name != nil && users.isLocal(person.uid) }
      let record = OwnerRecord(name: name, isLocal: isLocal, at: world.clock.now())
      try await store.commit([.putOwner(try OwnerNote(record, of: person))])
      let entry = Entry(record: record, isStored: true, comparedAt: began)
      entries.withLock { $0[person] = entry }
      await tellOfChange(from: before, to: entry, person)
      return name
    }
  }

  /// Runs `wipe` while nothing of the user's is used, then forgets who it was.
  ///
  /// - Throws: `notFound` where nobody is recorded and nothing stored; `storageUnavailable`; what `wipe`
  ///   throws: what is left is then withheld until it is tried again, also after a restart.
  func forget<Value>(
    _ person: LocalPerson, _ wipe: () async throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await turns.take(person) { () throws(UsherError) in
      var entry = entries.withLock { $0[person] } ?? Entry()
      let isKnown = try hasPossessions(person)
      guard isKnown || entry.record != nil else { throw Self.nobody(person.uid) }
      var record = entry.record ?? OwnerRecord(name: nil, isLocal: false, at: world.clock.now())
      record.beginForgetting()
      try await store.commit([.putOwner(try OwnerNote(record, of: person))])
      entry.record = record
      entries.withLock { [entry] in $0[person] = entry }
      await tell(.withheld, person)
      let value = try await wipe()
      try await store.commit([.deleteOwner(realm: person.realm, uid: person.uid)])
      entries.withLock { $0[person] = nil }
      await tell(.replaced, person)
      return value
    }
  }

  private static func nobody(_ uid: UInt32) -> UsherError {
    UsherError(.notFound, "nothing is stored for uid \(uid)", detail: .init(field: "uid"))
  }
}

extension OwnerRegistry.Entry {
  fileprivate mutating func compare(
    with found: UserLookup, isLocal: Bool, at now: Timestamp
  ) -> OwnerRecord.Verdict {
    record?.compare(with: found, isLocal: isLocal, at: now) ?? .unknown
  }

  fileprivate func refusal(of uid: UInt32) -> UsherError? {
    if isBeingForgotten {
      return UsherError(
        .permissionDenied,
        "uid \(uid): what is stored for it is being forgotten; the operator may have to run again: "
          + "usherctl owner forget \(uid)",
        detail: .init(retryable: true))
    }
    return verdict.refusal(of: uid)
  }
}

extension UserLookup {
  fileprivate var isNamed: Bool { if case .named = self { true } else { false } }
}

extension LocalPerson {
  fileprivate init(_ owner: Owner) { self.init(realm: owner.realm, uid: owner.uid) }
}
