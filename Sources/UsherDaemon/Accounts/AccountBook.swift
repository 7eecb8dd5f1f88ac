import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// All accounts with their tokens and consents, in memory; found by id and owner together.
///
/// It plans changes and takes them over; writing them is the caller's, in between. So a lock is held
/// for a look-up only, never while the disk works.
final class AccountBook: Sendable {
  /// A planned change: what to write, and what to take over once it is written.
  struct Update: Sendable {
    var record: AccountRecord
    var changes: [Change]
    var isNew: Bool
  }

  private struct State {
    var records: [AccountID: AccountRecord] = [:]
    var byOwner: [Owner: Set<AccountID>] = [:]
  }

  /// Whose accounts at which provider are changed: a log-in may yet find out which one.
  struct Shelf: Hashable, Sendable {
    let owner: Owner
    let provider: ProviderName
  }

  /// Planning, writing and taking over a change happen in one turn, or a refresh that is being
  /// written brings a forgotten account back.
  let turns = Turns<Shelf>()
  private let world: World
  private let events: EventBus
  private let state = Mutex(State())
  private let changes = Atomic<Int>(0)

  init(world: World, events: EventBus) {
    self.world = world
    self.events = events
  }

  func restore(from store: Store) throws(UsherError) {
    let tokens = Dictionary(grouping: try store.loadTokens(), by: \.account)
    let consents = Dictionary(grouping: try store.loadConsents(), by: \.account)
    for row in try store.loadAccounts() {
      var record = try AccountRecord(
        row, tokens: tokens[row.id] ?? [], consents: consents[row.id] ?? [])
      // Of before this was kept: it is written with what changes next.
      if record.details.place == nil {
        record.details.place = world.settings.inForce.provider(row.provider)?.tokenPlace
      }
      keep(record)
    }
  }

  /// Another number whenever an account, a token or a consent has become another, or is gone. Costs
  /// one atomic read, for what is kept of the accounts and looked at with every call: who reads it
  /// before the accounts never keeps what was older.
  var generation: Int { changes.load(ordering: .acquiring) }

  func account(_ id: AccountID, of owner: Owner) throws(UsherError) -> AccountRecord {
    guard let record = record(id), record.owner == owner else { throw Self.notFound(id) }
    return record
  }

  static func notFound(_ id: AccountID) -> UsherError {
    UsherError(.notFound, "there is no account \(id)", detail: .init(field: "account"))
  }

  /// An account whoever owns it: for the daemon's own work.
  func record(_ id: AccountID) -> AccountRecord? { state.withLock { $0.records[id] } }

  var all: [AccountRecord] { state.withLock { Array($0.records.values) } }

  /// Oldest first.
  func accounts(of owner: Owner, at provider: ProviderName? = nil) -> [AccountRecord] {
    state.withLock { state in
      (state.byOwner[owner] ?? []).compactMap { state.records[$0] }
    }
    .filter { provider == nil || $0.provider == provider }
    .sorted { ($0.details.createdAt, $0.id.rawValue) < ($1.details.createdAt, $1.id.rawValue) }
  }

  /// The account a caller means who names none.
  ///
  /// - Parameter records: Those of the provider that it can be.
  /// - Throws: `interactionRequired` where nobody has signed in, `invalidParams` for `field` where
  ///   there are several.
  func onlyAccount(
    among records: [AccountRecord], at provider: ProviderName, field: String
  ) throws(UsherError) -> AccountRecord {
    guard let first = records.first else {
      throw UsherError(
        .interactionRequired, "nobody has signed in at provider \(provider)",
        detail: .init(next: world.signIn(at: provider)))
    }
    guard records.count == 1 else {
      throw UsherError(
        .invalidParams, "there are \(records.count) accounts of provider \(provider): name one",
        detail: .init(field: field))
    }
    return first
  }

  /// Plans what a log-in brings: a new account, or new tokens for the one there is.
  ///
  /// - Parameters:
  ///   - client: Whose flow brings it; what was consented to is this client's.
  ///   - uid: Who started that flow; nil: the owner.
  ///   - place: Where the tokens that it brings are from.
  func update(
    _ grant: AccountGrant, owner: Owner, provider: ProviderName,
    client: String = CallerPolicy.ownPrograms, uid: UInt32? = nil, place: TokenPlace? = nil,
    at now: Timestamp
  ) throws(UsherError) -> Update {
    let existing = accounts(of: owner, at: provider).first { $0.subject == grant.subject }
    let id = existing?.id ?? AccountID(world.identifier("acc_"))
    // What brings no tokens says nothing of those there are.
    let kept = grant.tokens == nil ? existing : nil
    var tokens = kept?.tokens ?? [:]
    if var main = grant.tokens {
      main.refreshToken = nil
      main.refreshExpiresAt = nil
      main.attributes = nil
      tokens[TokenKey(audience: "", scope: main.scope)] = try HeldToken(
        StoredToken(set: main, issuedAt: now), account: id)
    }
    var record = AccountRecord(
      id: id, owner: owner, provider: provider, subject: grant.subject,
      details: details(grant, over: existing?.details, client: client, at: now),
      consents: existing?.consents ?? AccountConsents(), tokens: tokens)
    record.details.place = kept?.details.place ?? place
    let granted = record.consents.remember(
      grant.consents, of: client, grantedBy: uid ?? owner.uid, at: now)
    record.minimise(at: now)
    var changes: [Change] = [.deleteTokens(id)] + (try rows(of: record))
    for key in granted {
      if let row = try record.consents.row(key, of: id) { changes.append(.putConsent(row)) }
    }
    return Update(record: record, changes: changes, isNew: existing == nil)
  }

  private func details(
    _ grant: AccountGrant, over existing: AccountDetails?, client: String, at now: Timestamp
  ) -> AccountDetails {
    let kept = grant.tokens == nil ? existing : nil
    let isByConsent = grant.isByConsent || existing?.isByConsent ?? false
    var profile = grant.profile
    if isByConsent { profile = (existing?.profile ?? [:]).merging(grant.profile ?? [:]) { $1 } }
    return AccountDetails(
      label: grant.label,
      attributes: (kept?.attributes ?? [:]).merging(grant.attributes) { $1 }
        .filter { !$0.value.isNull },
      profile: profile, keepAlive: grant.keepAlive, createdAt: existing?.createdAt ?? now,
      isByConsent: isByConsent,
      tokensAreInternal: grant.tokens == nil
        ? existing?.tokensAreInternal ?? grant.tokensAreInternal : grant.tokensAreInternal,
      broughtBy: existing == nil ? client : existing?.broughtBy,
      authenticator: (existing?.authenticator).taking(grant.totpSecret),
      grant: kept?.grant
        ?? .init(
          scope: grant.tokens?.scope ?? "", refreshToken: grant.tokens?.refreshToken,
          refreshExpiresAt: grant.tokens?.refreshExpiresAt))
  }

  /// Plans what a refresh brought, a rotated refresh token with it.
  ///
  /// - Parameter used: The refresh token that was sent.
  /// - Returns: Nil when the account was forgotten meanwhile, or signed in anew.
  func update(
    _ id: AccountID, _ key: TokenKey, granted tokens: TokenSet, for used: Sealed<Secret>,
    at now: Timestamp
  ) throws(UsherError) -> Update? {
    guard var record = record(id), record.details.grant.refreshToken == used else { return nil }
    var access = tokens
    access.refreshToken = nil
    access.refreshExpiresAt = nil
    access.attributes = nil
    for (name, value) in tokens.attributes ?? [:] {
      record.details.attributes[name] = .string(value)
    }
    if let rotated = tokens.refreshToken {
      record.details.grant.refreshToken = rotated
      record.details.grant.refreshExpiresAt = tokens.refreshExpiresAt
    } else if let end = tokens.refreshExpiresAt {
      record.details.grant.refreshExpiresAt = end
    }
    let token = try HeldToken(StoredToken(set: access, issuedAt: now), account: id)
    record.tokens[key] = token
    var changes: [Change] = [.putAccount(try record.row()), .putToken(try record.row(key, token))]
    // Tokens of scopes that were asked for once do not pile up.
    for (old, token) in record.tokens
    where old != key && old != record.mainKey && !token.isAlive(at: now) {
      record.tokens[old] = nil
      changes.append(.deleteToken(id, audience: old.audience, scope: old.scope))
    }
    return Update(record: record, changes: changes, isNew: false)
  }

  /// Plans the end of a grant: its tokens stay as they are until they expire.
  ///
  /// - Returns: Nil when the account was forgotten meanwhile, or signed in anew.
  func update(
    _ id: AccountID, died word: ProviderWord, of used: Sealed<Secret>?
  ) throws(UsherError) -> Update? {
    guard var record = record(id), record.details.grant.refreshToken == used else { return nil }
    record.details.grant.death = word
    record.details.grant.refreshToken = nil
    return Update(record: record, changes: [.putAccount(try record.row())], isNew: false)
  }

  /// Plans what was learnt of an account since.
  ///
  /// - Returns: Nil when the account was forgotten meanwhile.
  func update(
    _ id: AccountID, attributes: [String: JSONValue]
  ) throws(UsherError) -> Update? {
    guard var record = record(id) else { return nil }
    record.details.attributes = attributes
    return Update(record: record, changes: [.putAccount(try record.row())], isNew: false)
  }

  /// Plans dropping every token of an account that stays.
  func update(dropping record: AccountRecord, word: ProviderWord) throws(UsherError) -> Update? {
    let used = record.details.grant.refreshToken
    guard var update = try update(record.id, died: word, of: used) else { return nil }
    update.record.tokens = [:]
    update.changes.append(.deleteTokens(record.id))
    return update
  }

  func install(_ update: Update) {
    keep(update.record)
    let what = update.isNew ? "added" : "updated"
    events.publish(
      .account(what, update.record, at: world.clock.now()), of: update.record)
  }

  /// Takes over what nobody needs to be told of.
  func installSilently(_ update: Update) { keep(update.record) }

  func remove(_ record: AccountRecord) {
    state.withLock { state in
      state.records[record.id] = nil
      state.byOwner[record.owner]?.remove(record.id)
    }
    changes.add(1, ordering: .releasing)
    events.publish(.account("forgotten", record, at: world.clock.now()), of: record)
  }

  private func keep(_ record: AccountRecord) {
    state.withLock { state in
      state.records[record.id] = record
      state.byOwner[record.owner, default: []].insert(record.id)
    }
    changes.add(1, ordering: .releasing)
  }

  private func rows(of record: AccountRecord) throws(UsherError) -> [Change] {
    var changes: [Change] = [.putAccount(try record.row())]
    for (key, token) in record.tokens { changes.append(.putToken(try record.row(key, token))) }
    return changes
  }
}
