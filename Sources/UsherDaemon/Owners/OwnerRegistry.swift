import Logging
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
    var comparedAt: ContinuousClock.Instant?
    /// Whether the operator has begun to forget what there is.
    var isBeingForgotten = false

    var isWithheld: Bool { isBeingForgotten || record?.other != nil }
  }

  private let world: World
  private let store: Store
  private let users: UserDatabase
  private let log: Logger
  /// Whether a user has flows.
  private let hasFlows: @Sendable (Owner) -> Bool
  private let entries = Mutex<[LocalPerson: Entry]>([:])
  /// Those under way.
  private let lookUps = Mutex<[LocalPerson: UserLookingUp]>([:])
  /// Comparing, writing and taking over happen in one turn.
  private let turns = Turns<LocalPerson>()
  private let follower = Mutex<Follower?>(nil)

  init(
    world: World, store: Store, users: UserDatabase, log: Logger,
    hasFlows: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.world = world
    self.store = store
    self.users = users
    self.log = log
    self.hasFlows = hasFlows
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
      guard let entry, entry.isStored || entry.record == nil,
        entry.comparedAt.map({ $0 >= connectedAt - users.nameHolds }) ?? false
      else { return false }
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
      let began = ContinuousClock.now
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
    _ found: UserLookup, of person: LocalPerson, since began: ContinuousClock.Instant
  ) async {
    let now = world.clock.now()
    var entry = entries.withLock { $0[person] } ?? Entry()
    if let comparedAt = entry.comparedAt, comparedAt > began { return }
    let before = entry
    if case .other = entry.compare(with: found, at: now), (try? hasPossessions(person)) == false {
      // There is nothing to withhold.
      entry.record = nil
      await tell(.replaced, person)
    }
    if entry.record == nil, let record = await newRecord(found, person, at: now) {
      entry.record = record
    }
    entry.verdict = entry.compare(with: found, at: now)
    // The next call tries again.
    entry.comparedAt = entry.verdict == .unconfirmed ? nil : began
    if entry.record != before.record || !entry.isStored {
      entry.isStored = await write(entry.record, of: person)
    }
    entries.withLock { [entry] in $0[person] = entry }
    await tellOfChange(from: before, to: entry, person)
  }

  /// - Returns: Nil where it cannot be told who it is.
  private func newRecord(
    _ found: UserLookup, _ person: LocalPerson, at now: Timestamp
  ) async -> OwnerRecord? {
    switch found {
    case .named(let name):
      let isLocal = await Aside.run { [users] in users.isLocal(person.uid) }
      return OwnerRecord(name: name, isLocal: isLocal, at: now)
    // What an earlier version stored is of a user who has a name, as a rule: it is waited for.
    case .nameless where (try? hasPossessions(person)) == false:
      return OwnerRecord(name: nil, isLocal: false, at: now)
    case .nameless, .failed: return nil
    }
  }

  private func hasPossessions(_ person: LocalPerson) throws(UsherError) -> Bool {
    if hasFlows(person.owner) { return true }
    return try store.hasPossessions(ofUser: person.uid, realm: person.realm)
  }

  /// - Returns: Whether it is on disk. Where it is not, the next call tries again.
  private func write(_ record: OwnerRecord?, of person: LocalPerson) async -> Bool {
    guard let record else { return false }
    do throws(UsherError) {
      try await store.commit([.putOwner(try OwnerNote(record, of: person))])
      return true
    } catch {
      log.debug(
        "who a uid is cannot be stored",
        metadata: ["uid": "\(person.uid)", "cause": .string(error.message)])
      return false
    }
  }

  private func tellOfChange(from before: Entry, to after: Entry, _ person: LocalPerson) async {
    guard before.isWithheld != after.isWithheld else { return }
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

  /// - Parameter limit: Nil: as long as it takes.
  private func lookUp(_ person: LocalPerson, within limit: Duration?) async -> UserLookup {
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
      Task {
        let found = await Aside.run { [users] in users.user(person.uid) }
        lookUps.withLock { if $0[person] === lookUp { $0[person] = nil } }
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

  /// Compares all that is recorded, and records who earlier versions stored things for. It ends early
  /// where the user database does not answer.
  ///
  /// - Parameter limit: For each user; nil: as long as it takes.
  func review(within limit: Duration? = nil) async throws(UsherError) {
    var people = Set(entries.withLock { Array($0.keys) })
    for (realm, uid) in try store.usersWithPossessions() where !Owner.isTransient(uid) {
      people.insert(LocalPerson(realm: realm, uid: uid))
    }
    for person in people.sorted(by: { $0.uid < $1.uid }) {
      if entries.withLock({ $0[person]?.isBeingForgotten ?? false }) { continue }
      // Not within the turn: a caller would wait in vain for a look-up that hangs.
      let began = ContinuousClock.now
      let found = await lookUp(person, within: limit)
      guard found != .failed else { return }
      try await turns.take(person) { () throws(UsherError) in
        await take(found, of: person, since: began)
      }
    }
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
      let began = ContinuousClock.now
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
  /// - Throws: `notFound` where nobody is recorded and nothing stored; what `wipe` throws: the record
  ///   stays then, and what is left is withheld until it is tried again.
  func forget<Value>(
    _ person: LocalPerson, _ wipe: () async throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await turns.take(person) { () throws(UsherError) in
      var entry = entries.withLock { $0[person] } ?? Entry()
      let isKnown = try hasPossessions(person)
      guard isKnown || entry.record != nil else { throw Self.nobody(person.uid) }
      entry.isBeingForgotten = true
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
    with found: UserLookup, at now: Timestamp
  ) -> OwnerRecord.Verdict {
    record?.compare(with: found, at: now) ?? .same
  }

  fileprivate func refusal(of uid: UInt32) -> UsherError? {
    if isBeingForgotten {
      return UsherError(
        .permissionDenied, "uid \(uid): what is stored for it is being forgotten; try again",
        detail: .init(retryable: true))
    }
    return verdict.refusal(of: uid)
  }
}

extension OwnerNote {
  fileprivate init(_ record: OwnerRecord, of person: LocalPerson) throws(UsherError) {
    self.init(
      realm: person.realm, uid: person.uid, payload: try SealedPayload(encoding: record))
  }
}

extension LocalPerson {
  fileprivate init(_ owner: Owner) { self.init(realm: owner.realm, uid: owner.uid) }
}
