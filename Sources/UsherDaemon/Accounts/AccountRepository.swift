import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// The accounts with their tokens and consents, looked up by id and owner. Recently used accounts
/// are in memory, the others on disk (Speed.md § Accounts on disk).
///
/// A look-up that misses the cache reads the disk and blocks; on an event loop, call
/// ``isInMemory(_:for:)`` first. A change is planned by an `update` method, committed by the
/// caller, then passed to ``install(_:)``: cached data is on disk and may be evicted at any time.
final class AccountRepository: Sendable {
  /// A planned change: the changes to commit to the store, and the record to install afterwards.
  struct Update: Sendable {
    var record: AccountRecord
    var changes: [Change]
    /// The account's record before the change; nil for a new account.
    var before: AccountRecord?
    /// The revocation of tokens that this change makes unused; `changes` stores it as a note.
    var superseded: Revocation?
    /// What a sign-in took from the grant that the account had; nil if nothing.
    var grantChange: GrantChange?
    var isNew: Bool { before == nil }
  }

  /// The lock key for changes. It is not the account's id, because a sign-in may not know yet which
  /// account of the owner at the provider it changes.
  struct OwnerAtProvider: Hashable, Sendable {
    let owner: Owner
    let provider: ProviderName
  }

  /// The cache key of a list of accounts: those of an owner, at one provider or, with nil, at all.
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
    /// For each read in progress, the accounts that changed since it began, so that it does not
    /// cache old rows; nil for a removed account.
    var reads: [Int: [AccountID: AccountRecord?]] = [:]
    var nextRead = 0
  }

  typealias Observer = @Sendable (Update) -> Void

  /// Serializes planning, commit and install of a change. Otherwise a refresh that is being
  /// committed could recreate a forgotten account.
  let changeLock = AsyncKeyedLock<OwnerAtProvider>()
  /// Serializes a user's list calls that read the disk: a long list occupies a thread for a while.
  let lists = AsyncKeyedLock<UInt32>()
  let dependencies: Dependencies
  let store: Store
  let events: EventBus
  private let places: [ProviderName: TokenPlace]
  private let state = Mutex(State())
  let changes = Atomic<Int>(0)
  /// Serializes reads of single accounts, so that concurrent look-ups of one account read it once.
  private let reading = Mutex(())
  private let observers = Mutex<[Observer]>([])

  init(dependencies: Dependencies, events: EventBus, store: Store) {
    self.dependencies = dependencies
    self.events = events
    self.store = store
    let providers = dependencies.config.providers + [.local]
    places = Dictionary(providers.map { ($0.name, $0.tokenPlace) }) { first, _ in first }
  }

  /// A number that changes with each change or removal of an account, token or consent. Costs one
  /// atomic read. A reply cache that reads it before the accounts never serves data older than it.
  var generation: Int { changes.load(ordering: .acquiring) }

  var count: Int { state.withLock { $0.records.count } }

  private var capacity: Int { dependencies.config.limits.accountsInMemory }

  private var listLimit: Int { min(max(capacity / 8, 1), 200) }

  static func notFound(_ id: AccountID) -> UsherError {
    UsherError(.notFound, "account \(id) does not exist", field: "account")
  }
}

// MARK: - One account

extension AccountRepository {
  func account(_ id: AccountID, of owner: Owner) throws(UsherError) -> AccountRecord {
    guard let record = try find(id, of: [owner]) else { throw Self.notFound(id) }
    return record
  }

  /// Returns an account of any owner for the daemon's own work; nil if it is missing or unreadable.
  func record(_ id: AccountID) -> AccountRecord? { try? find(id) }

  /// Returns an account; nil if the permitted owners have none with this id.
  ///
  /// - Parameter owners: The permitted owners; nil for any. Another owner's account takes the same
  ///   path as an unknown id, so that neither the reply nor its duration reveals it.
  /// - Throws: `storageUnavailable`, naming the row if it fails to decrypt.
  func find(_ id: AccountID, of owners: [Owner]? = nil) throws(UsherError) -> AccountRecord? {
    if let record = cached(id, of: owners) { return record }
    return try reading.withLock { _ throws(UsherError) -> AccountRecord? in
      if let record = cached(id, of: owners) { return record }
      let read = beginRead()
      defer { endRead(read) }
      for owner in owners.map({ $0.map(Optional.some) }) ?? [nil] {
        if let row = try store.accounts(.id(id, of: owner), atMost: 1).first {
          return cacheRead(try unsealed(row), read)
        }
      }
      return nil
    }
  }

  private func cached(_ id: AccountID, of owners: [Owner]?) -> AccountRecord? {
    // Takes equally long for another owner's account and an unknown id, and marks neither as used.
    withState { state, capacity in
      let isOwned = state.records.contains(id) { owners?.contains($0.owner) ?? true }
      return isOwned ? state.records.use(id, capacity: capacity) : nil
    }
  }

  /// Reads or changes the cached data. Evicted data is freed after the lock is released.
  private func withState<Value: Sendable>(
    _ body: (inout State, _ capacity: Int) -> Value
  ) -> Value {
    let capacity = capacity
    let (value, _, _) = state.withLock { state in
      (body(&state, capacity), state.records.takeEvicted(), state.lists.takeEvicted())
    }
    return value
  }

  private func unsealed(_ row: SealedAccount) throws(UsherError) -> AccountRecord {
    var record = try AccountRecord(try store.open(row))
    // Rows of older versions have no place: it is taken from the configuration and stored later.
    if record.details.place == nil { record.details.place = places[record.provider] }
    return record
  }
}

// MARK: - Accounts that a call needs

extension AccountRepository {
  /// The accounts that a call must look up before it can be authorized.
  enum Lookup: Sendable {
    case account(AccountID)
    case provider(ProviderName)
    /// All accounts at a provider, for a call that lists them; nil for all providers.
    case list(ProviderName?)
  }

  /// Whether the accounts can be looked up without the disk. False for unknown ids, for other
  /// owners' accounts, and for long lists, whose encoding takes longer than reading an account.
  func isInMemory(_ lookup: Lookup, for owners: [Owner]) -> Bool {
    switch lookup {
    case .account(let id): cached(id, of: owners) != nil
    case .provider(let provider):
      owners.allSatisfy { cached(List(owner: $0, provider: provider)) != nil }
    case .list(let provider):
      owners.allSatisfy {
        cached(List(owner: $0, provider: provider)).map { $0.count <= Self.page } ?? false
      }
    }
  }

  func isInMemory(_ id: AccountID) -> Bool { cached(id, of: nil) != nil }

  /// Reads accounts into memory; a list is read by the method that returns it. Blocks.
  func read(_ lookup: Lookup, for owners: [Owner]) throws(UsherError) {
    switch lookup {
    case .account(let id): _ = try find(id, of: owners)
    case .provider(let provider):
      for owner in owners { _ = try accounts(of: owner, at: provider, limit: Self.maxChoices) }
    case .list: break
    }
  }
}

// MARK: - Several accounts

extension AccountRepository {
  /// The number of rows read at a time: a page blocks other readers for about a millisecond.
  private static let page = 32

  /// Returns the matching accounts of an owner, oldest first.
  ///
  /// - Parameters:
  ///   - limit: If more accounts match, only some of them are returned, but more than `limit`.
  ///   - isIncluded: Accounts for which it returns false are skipped and not counted.
  func accounts(
    of owner: Owner, at provider: ProviderName? = nil, limit: Int = .max,
    where isIncluded: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    let list = List(owner: owner, provider: provider)
    let records: [AccountRecord]
    if let cached = cached(list) {
      records = cached.filter(isIncluded)
    } else {
      records = try read(list, limit: limit, where: isIncluded)
    }
    return records.sorted {
      ($0.details.createdAt, $0.id.rawValue) < ($1.details.createdAt, $1.id.rawValue)
    }
  }

  /// Calls `body` with each account that a callback from the provider may concern. Blocks.
  ///
  /// - Parameters:
  ///   - key: The callback's key (`CallbackDialect.callKey(of:)`). Accounts whose own key is
  ///     unknown are included.
  ///   - skipped: Receives the error of each account that cannot be read and is left out.
  func forEach(
    calledBy key: String, at provider: ProviderName,
    _ body: (AccountRecord) async throws(UsherError) -> Void, skipped: (UsherError) -> Void
  ) async throws(UsherError) {
    for tag in [store.tag(ofCallKey: key, at: provider), AccountRow.unknownCallTag] {
      var last: SealedAccount?
      repeat {
        let page = try store.accounts(.callTag(tag, at: provider), after: last, atMost: Self.page)
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

  /// Returns a list of accounts from memory; nil if the list or one of its accounts is not there.
  private func cached(_ list: List) -> [AccountRecord]? {
    withState { state, capacity in
      guard let ids = state.lists.use(list, capacity: capacity) else { return nil }
      var records: [AccountRecord] = []
      for id in ids {
        guard let record = state.records.use(id, capacity: capacity) else { return nil }
        records.append(record)
      }
      return records
    }
  }

  private func read(
    _ list: List, limit: Int, where isIncluded: (AccountRecord) -> Bool
  ) throws(UsherError) -> [AccountRecord] {
    let read = beginRead()
    defer { endRead(read) }
    var found: [AccountID: AccountRecord] = [:]
    let listLimit = listLimit
    var (count, isComplete) = (0, true)
    var last: SealedAccount?
    repeat {
      let page = try store.accounts(
        .owner(list.owner, at: list.provider), after: last, atMost: Self.page)
      for row in page {
        let record = try current(row)
        let matches = isIncluded(record)
        if matches { count += 1 }
        // Only the matching accounts of a long list are kept, because it may be very long.
        if matches || found.count < listLimit { found[row.id] = record } else { isComplete = false }
      }
      last = page.count == Self.page ? page.last : nil
      if last != nil, count > limit { return found.values.filter(isIncluded) }
    } while last != nil
    return cacheRead(found, list, read, isComplete: isComplete).filter(isIncluded)
  }

  /// Returns the account from memory, without marking it as used, or decrypts the row.
  private func current(_ row: SealedAccount) throws(UsherError) -> AccountRecord {
    if let record = state.withLock({ $0.records.peek(row.id) }) { return record }
    return try unsealed(row)
  }
}

// MARK: - Results of reads

extension AccountRepository {
  private func beginRead() -> Int {
    state.withLock { state in
      state.nextRead += 1
      state.reads[state.nextRead] = [:]
      return state.nextRead
    }
  }

  private func endRead(_ read: Int) { state.withLock { _ = $0.reads.removeValue(forKey: read) } }

  /// Caches a record that was read from disk, and returns its current state; nil if the account was
  /// removed during the read.
  private func cacheRead(_ record: AccountRecord, _ read: Int) -> AccountRecord? {
    withState { state, capacity in
      if let changed = state.reads[read]?[record.id] { return changed }
      state.records.insert(record, as: record.id, capacity: capacity)
      return record
    }
  }

  /// Caches the records of a list that was read from disk, and returns their current state.
  ///
  /// - Parameter isComplete: Whether `found` is the complete list.
  private func cacheRead(
    _ found: [AccountID: AccountRecord], _ list: List, _ read: Int, isComplete: Bool
  ) -> [AccountRecord] {
    let listLimit = listLimit
    let current = withState { state, capacity in
      var found = found
      for (id, changed) in state.reads[read] ?? [:] {
        found[id] = changed.flatMap { list.has($0) ? $0 : nil }
      }
      guard isComplete, found.count <= listLimit else { return found }
      for record in found.values {
        state.records.insert(record, as: record.id, capacity: capacity)
      }
      state.lists.insert(Set(found.keys), as: list, capacity: capacity)
      return found
    }
    // The records are copied without the lock, because a list may be long.
    return Array(current.values)
  }
}

// MARK: - Changes

extension AccountRepository {
  /// Calls `body` for each later change of an account that is not silent, after its event. The
  /// calls about one account have the order of its changes.
  func addObserver(_ body: @escaping Observer) { observers.withLock { $0.append(body) } }

  func install(_ update: Update) {
    cache(update.record)
    let what = update.isNew ? "added" : "updated"
    events.publish(.account, what, update.record, at: dependencies.clock.now())
    for observer in observers.withLock({ $0 }) { observer(update) }
  }

  /// Installs a change without notifying observers or publishing an event.
  func installSilently(_ update: Update) { cache(update.record) }

  func remove(_ record: AccountRecord) {
    state.withLock { state in
      state.records.remove(record.id)
      state.changeLists(of: record) { $0.remove(record.id) }
      state.recordChange(nil, as: record.id)
    }
    changes.add(1, ordering: .releasing)
    events.publish(.account, "forgotten", record, at: dependencies.clock.now())
  }

  private func cache(_ record: AccountRecord) {
    let listLimit = listLimit
    withState { state, capacity in
      state.changeLists(of: record) { $0.insert(record.id) }
      state.dropLists(of: record, longerThan: listLimit)
      state.recordChange(record, as: record.id)
      state.records.insert(record, as: record.id, capacity: capacity)
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

  fileprivate mutating func dropLists(of record: AccountRecord, longerThan listLimit: Int) {
    for list in Self.lists(with: record) where lists.peek(list)?.count ?? 0 > listLimit {
      lists.remove(list)
    }
  }

  private static func lists(with record: AccountRecord) -> [AccountRepository.List] {
    [
      .init(owner: record.owner, provider: record.provider),
      .init(owner: record.owner, provider: nil),
    ]
  }

  fileprivate mutating func recordChange(_ record: AccountRecord?, as id: AccountID) {
    for read in reads.keys { reads[read]?.updateValue(record, forKey: id) }
  }
}
