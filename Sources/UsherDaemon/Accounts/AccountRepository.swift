import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// The accounts with their tokens and consents, found by id and owner together: those that were used
/// lately from memory, the others from the disk (Speed.md § Accounts on disk).
///
/// A look-up that finds nothing in memory reads, and blocks meanwhile; it is right wherever it is
/// made. What may not wait asks ``holds(_:for:)`` first. Changes are planned and taken over here;
/// writing them is the caller's, in between. What was taken over is on disk: all that is in memory
/// may go at any time.
final class AccountRepository: Sendable {
  /// A planned change: what to write, and what to take over once it is written.
  struct Update: Sendable {
    var record: AccountRecord
    var changes: [Change]
    /// Nil where there was none.
    var before: AccountRecord?
    /// The revocation of tokens that nobody will use any more; it is among the changes.
    var superseded: Revocation?

    var isNew: Bool { before == nil }
  }

  /// Whose accounts at which provider are changed: a log-in may yet find out which one.
  struct Shelf: Hashable, Sendable {
    let owner: Owner
    let provider: ProviderName
  }

  /// All accounts of an owner, at one provider or at all of them.
  fileprivate struct List: Hashable {
    let owner: Owner
    let provider: ProviderName?

    func has(_ record: AccountRecord) -> Bool {
      record.owner == owner && (provider == nil || record.provider == provider)
    }
  }

  fileprivate struct State {
    var records = LRUCache<AccountID, AccountRecord>()
    var lists = LRUCache<List, Set<AccountID>>()
    /// Changes since each read that is under way began. Nil: the account is gone.
    var reads: [Int: [AccountID: AccountRecord?]] = [:]
    var nextRead = 0
  }

  typealias Follower = @Sendable (Update) -> Void

  /// Planning, writing and taking over a change happen in one turn, or a refresh that is being
  /// written brings a forgotten account back.
  let turns = AsyncKeyedLock<Shelf>()
  /// A user's lists that take the disk are made one at a time: a long one keeps a thread for a while.
  let lists = AsyncKeyedLock<UInt32>()
  let dependencies: Dependencies
  let store: Store
  private let events: EventBus
  /// Of the providers there were at the start.
  private let places: [ProviderName: TokenPlace]
  private let state = Mutex(State())
  let changes = Atomic<Int>(0)
  /// One reads an account at a time: who wants the same one finds it then.
  private let reading = Mutex(())
  private let followers = Mutex<[Follower]>([])

  init(dependencies: Dependencies, events: EventBus, store: Store) {
    self.dependencies = dependencies
    self.events = events
    self.store = store
    let providers = dependencies.config.providers + [.local]
    places = Dictionary(providers.map { ($0.name, $0.tokenPlace) }) { first, _ in first }
  }

  /// Another number whenever an account, a token or a consent has become another, or is gone. Costs
  /// one atomic read, for what is kept of the accounts and looked at with every call: who reads it
  /// before the accounts never keeps what was older.
  var generation: Int { changes.load(ordering: .acquiring) }

  /// How many are in memory.
  var count: Int { state.withLock { $0.records.count } }

  private var room: Int { dependencies.config.limits.accountsInMemory }

  /// Of longer lists is not remembered that they are whole.
  private var longestList: Int { min(max(room / 8, 1), 200) }

  static func notFound(_ id: AccountID) -> UsherError {
    UsherError(.notFound, "there is no account \(id)", detail: .init(field: "account"))
  }
}

// MARK: - One account

extension AccountRepository {
  func account(_ id: AccountID, of owner: Owner) throws(UsherError) -> AccountRecord {
    guard let record = try find(id, of: [owner]) else { throw Self.notFound(id) }
    return record
  }

  /// An account whoever owns it, for the daemon's own work; nil also where it cannot be read.
  func record(_ id: AccountID) -> AccountRecord? { try? find(id) }

  /// - Parameter owners: Nil: anybody. What is another's is looked for as what does not exist is.
  /// - Throws: `storageUnavailable`, naming the row where it does not open.
  func find(_ id: AccountID, of owners: [Owner]? = nil) throws(UsherError) -> AccountRecord? {
    if let record = held(id, of: owners) { return record }
    return try reading.withLock { _ throws(UsherError) -> AccountRecord? in
      if let record = held(id, of: owners) { return record }
      let read = beginRead()
      defer { endRead(read) }
      for owner in owners.map({ $0.map(Optional.some) }) ?? [nil] {
        if let row = try store.accounts(.id(id, of: owner), atMost: 1).first {
          return take(try unlocked(row), read)
        }
      }
      return nil
    }
  }

  private func held(_ id: AccountID, of owners: [Owner]?) -> AccountRecord? {
    let room = room
    // A look-up of another owner's account neither counts as a use of it nor costs more than of none.
    return state.withLock { state -> (value: AccountRecord?, gone: [AccountID: AccountRecord]) in
      let isTheirs = state.records.contains(id) { owners?.contains($0.owner) ?? true }
      return isTheirs ? state.records.use(id, room: room) : (value: nil, gone: [:])
    }.value
  }

  private func unlocked(_ row: SealedAccount) throws(UsherError) -> AccountRecord {
    var record = try AccountRecord(try store.open(row))
    // Of before this was kept: it is written with what changes next.
    if record.details.place == nil { record.details.place = places[record.provider] }
    return record
  }
}

// MARK: - What a call is about

extension AccountRepository {
  /// What a call is about, and cannot be decided without.
  enum Need: Sendable {
    case account(AccountID)
    /// Those at a provider.
    case provider(ProviderName)
    /// All of them, to be told; nil: at all providers.
    case list(ProviderName?)
  }

  /// Whether it can be looked up without the disk. What is not there, and what is another's, never
  /// can. Neither can a long list: to write it takes longer than to read an account.
  func holds(_ need: Need, for owners: [Owner]) -> Bool {
    switch need {
    case .account(let id): held(id, of: owners) != nil
    case .provider(let provider):
      owners.allSatisfy { held(List(owner: $0, provider: provider)) != nil }
    case .list(let provider):
      owners.allSatisfy {
        held(List(owner: $0, provider: provider)).map { $0.count <= Self.page } ?? false
      }
    }
  }

  /// As ``holds(_:for:)``, whoever owns it.
  func holds(_ id: AccountID) -> Bool { held(id, of: nil) != nil }

  /// Reads it, so that it can; a list is read by who tells it. Blocks.
  func read(_ need: Need, for owners: [Owner]) throws(UsherError) {
    switch need {
    case .account(let id): _ = try find(id, of: owners)
    case .provider(let provider):
      for owner in owners { _ = try accounts(of: owner, at: provider, most: Self.mostToChoose) }
    case .list: break
    }
  }
}

// MARK: - Several accounts

extension AccountRepository {
  /// As many are read at once: for about a millisecond nobody else reads.
  private static let page = 32

  /// Oldest first.
  ///
  /// - Parameters:
  ///   - most: When there are more, any one more than so many.
  ///   - isMeant: The others do not count.
  func accounts(
    of owner: Owner, at provider: ProviderName? = nil, most: Int = .max,
    where isMeant: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    let list = List(owner: owner, provider: provider)
    let records: [AccountRecord]
    if let held = held(list) {
      records = held.filter(isMeant)
    } else {
      records = try read(list, most: most, where: isMeant)
    }
    return records.sorted {
      ($0.details.createdAt, $0.id.rawValue) < ($1.details.createdAt, $1.id.rawValue)
    }
  }

  /// Calls `body` with the accounts that a provider's call may be about, one after the other; blocks.
  ///
  /// - Parameters:
  ///   - key: What the call is known by (`CallbackDialect.callKey(of:)`). Accounts of which it is not
  ///     known what they are called by are among them.
  ///   - skipped: Told why one that cannot be read is left out.
  func forEach(
    calledBy key: String, at provider: ProviderName,
    _ body: (AccountRecord) async throws(UsherError) -> Void, skipped: (UsherError) -> Void
  ) async throws(UsherError) {
    for tag in [store.tag(ofCallKey: key, at: provider), AccountRow.unknownCallTag] {
      var last: SealedAccount?
      repeat {
        let page = try store.accounts(.called(tag, at: provider), after: last, atMost: Self.page)
        for row in page {
          let record: AccountRecord
          do throws(UsherError) {
            record = try current(row)
          } catch {
            skipped(error)
            continue
          }
          try await body(record)
        }
        last = page.count == Self.page ? page.last : nil
      } while last != nil
    }
  }

  /// Nil where they are not all in memory.
  private func held(_ list: List) -> [AccountRecord]? {
    let room = room
    let (records, _, _) = state.withLock { state in
      let (ids, gone) = state.lists.use(list, room: room)
      var records: [AccountRecord]? = []
      var others: [LRUCache<AccountID, AccountRecord>.Gone] = []
      for id in ids ?? [] {
        let (record, gone) = state.records.use(id, room: room)
        if !gone.isEmpty { others.append(gone) }
        guard let record else {
          records = nil
          break
        }
        records?.append(record)
      }
      return (ids == nil ? nil : records, gone, others)
    }
    return records
  }

  private func read(
    _ list: List, most: Int, where isMeant: (AccountRecord) -> Bool
  ) throws(UsherError) -> [AccountRecord] {
    let read = beginRead()
    defer { endRead(read) }
    var found: [AccountID: AccountRecord] = [:]
    let longest = longestList
    var (count, isWhole) = (0, true)
    var last: SealedAccount?
    repeat {
      let page = try store.accounts(
        .owner(list.owner, at: list.provider), after: last, atMost: Self.page)
      for row in page {
        let record = try current(row)
        let isMeant = isMeant(record)
        if isMeant { count += 1 }
        // Of a long list only what is meant: there may be very many.
        if isMeant || found.count < longest { found[row.id] = record } else { isWhole = false }
      }
      last = page.count == Self.page ? page.last : nil
      if last != nil, count > most { return found.values.filter(isMeant) }
    } while last != nil
    return take(found, list, read, isWhole: isWhole).filter(isMeant)
  }

  /// From memory where it is there, which is no use of it; else opened.
  private func current(_ row: SealedAccount) throws(UsherError) -> AccountRecord {
    if let record = state.withLock({ $0.records.peek(row.id) }) { return record }
    return try unlocked(row)
  }
}

// MARK: - What was read

extension AccountRepository {
  private func beginRead() -> Int {
    state.withLock { state in
      state.nextRead += 1
      state.reads[state.nextRead] = [:]
      return state.nextRead
    }
  }

  private func endRead(_ read: Int) { state.withLock { _ = $0.reads.removeValue(forKey: read) } }

  /// - Returns: The account as it is by now.
  private func take(_ record: AccountRecord, _ read: Int) -> AccountRecord? {
    let room = room
    let (record, _) = state.withLock { state in
      if let changed = state.reads[read]?[record.id] { return (changed, [:]) }
      return (record, state.records.keep(record, as: record.id, room: room))
    }
    return record
  }

  /// - Parameter isWhole: Whether those found are all of the list.
  /// - Returns: Them as they are by now.
  private func take(
    _ found: [AccountID: AccountRecord], _ list: List, _ read: Int, isWhole: Bool
  ) -> [AccountRecord] {
    let (room, longest) = (room, longestList)
    let (records, _, _) = state.withLock { state in
      var found = found
      for (id, changed) in state.reads[read] ?? [:] {
        found[id] = changed.flatMap { list.has($0) ? $0 : nil }
      }
      var others: [LRUCache<AccountID, AccountRecord>.Gone] = []
      guard isWhole, found.count <= longest else {
        return (found, LRUCache<List, Set<AccountID>>.Gone(), others)
      }
      for record in found.values {
        let gone = state.records.keep(record, as: record.id, room: room)
        if !gone.isEmpty { others.append(gone) }
      }
      return (found, state.lists.keep(Set(found.keys), as: list, room: room), others)
    }
    return Array(records.values)
  }
}

// MARK: - Changes

extension AccountRepository {
  /// From now on `body` is told of each change but the silent ones, before events are.
  func follow(_ body: @escaping Follower) { followers.withLock { $0.append(body) } }

  func install(_ update: Update) {
    keep(update.record)
    for follower in followers.withLock({ $0 }) { follower(update) }
    let what = update.isNew ? "added" : "updated"
    events.publish(
      .account(what, update.record, at: dependencies.clock.now()), of: update.record)
  }

  /// Takes over what nobody needs to be told of.
  func installSilently(_ update: Update) { keep(update.record) }

  func remove(_ record: AccountRecord) {
    state.withLock { state in
      state.records.remove(record.id)
      state.changeLists(of: record) { $0.remove(record.id) }
      state.note(nil, as: record.id)
    }
    changes.add(1, ordering: .releasing)
    events.publish(.account("forgotten", record, at: dependencies.clock.now()), of: record)
  }

  private func keep(_ record: AccountRecord) {
    let (room, longest) = (room, longestList)
    _ = state.withLock { state in
      state.changeLists(of: record) { $0.insert(record.id) }
      state.dropLists(of: record, longerThan: longest)
      state.note(record, as: record.id)
      return state.records.keep(record, as: record.id, room: room)
    }
    changes.add(1, ordering: .releasing)
  }
}

extension AccountRepository.State {
  fileprivate mutating func changeLists(
    of record: AccountRecord, _ body: (inout Set<AccountID>) -> Void
  ) {
    for list in Self.lists(with: record) { lists.change(list, body) }
  }

  fileprivate mutating func dropLists(of record: AccountRecord, longerThan longest: Int) {
    for list in Self.lists(with: record) where lists.peek(list)?.count ?? 0 > longest {
      lists.remove(list)
    }
  }

  private static func lists(with record: AccountRecord) -> [AccountRepository.List] {
    [
      .init(owner: record.owner, provider: record.provider),
      .init(owner: record.owner, provider: nil),
    ]
  }

  fileprivate mutating func note(_ record: AccountRecord?, as id: AccountID) {
    for read in reads.keys { reads[read]?.updateValue(record, forKey: id) }
  }
}
