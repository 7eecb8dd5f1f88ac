import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// Plans of account changes. The caller commits a plan to the store and calls ``install(_:)``.
extension AccountRepository {
  /// Plans the result of a sign-in: a new account, or new tokens for the existing account.
  ///
  /// All clients of an owner share the account's grant. A sign-in with only a part of the grant's
  /// scope and audiences does not replace the grant while it is alive; to reduce them, the tokens
  /// must be revoked first.
  ///
  /// - Parameters:
  ///   - client: The client whose flow returned the new grant; the consents are stored for it.
  ///   - uid: The user that started the flow; nil for the owner.
  ///   - place: The source of the new tokens.
  func update(
    _ grant: AccountGrant, owner: Owner, provider: ProviderName,
    client: String = CallerPolicy.ownPrograms, uid: UInt32? = nil, place: TokenPlace? = nil,
    at now: Timestamp
  ) throws(UsherError) -> Update {
    let (existing, renamed) = try accountToUpdate(by: grant, owner, provider)
    let id = existing?.id ?? AccountID(dependencies.identifier("acc_"))
    let change = existing?.change(by: grant, place: place, at: now)
    let superseded = superseded(by: grant, existing, change, place: place, at: now)
    var grant = grant
    if let existing, change == .kept { grant.join(existing.details) }
    // A grant without tokens leaves the existing tokens as they are.
    let keptRecord = grant.tokens == nil ? existing : nil
    var tokens = keptRecord?.tokens ?? [:]
    if var main = grant.tokens {
      main.refreshToken = nil
      main.refreshExpiresAt = nil
      main.attributes = nil
      main.idToken = nil
      let key = TokenKey(audience: "", scope: main.scope)
      tokens[key] = try HeldToken(
        StoredToken(set: main, issuedAt: now, issuedAtBootTime: dependencies.clock.bootTime()),
        as: key, account: id, issuer: place?.issuer)
    }
    if let idToken = grant.idToken {
      tokens[.idToken] = try HeldToken(
        StoredToken(idToken, isUnverified: false, at: now, dependencies.clock.bootTime()),
        as: .idToken, account: id, issuer: place?.issuer)
    }
    var record = AccountRecord(
      id: id, owner: owner, provider: provider, subject: grant.subject,
      details: details(grant, over: existing?.details, client: client, at: now),
      consents: existing?.consents ?? AccountConsents(), tokens: tokens)
    record.details.place = keptRecord?.details.place ?? place
    record.details.signIn = grant.signIn ?? keptRecord?.details.signIn
    record.details.signInOptions = grant.signInOptions ?? keptRecord?.details.signInOptions
    let granted = record.consents.add(
      grant.consents, of: client, grantedBy: uid ?? owner.uid, at: now)
    record.minimise(at: now)
    var changes: [Change] = renamed + [.deleteTokens(id)] + (try rows(of: &record))
    for key in granted {
      if let row = try record.consents.row(key, of: id) { changes.append(.putConsent(row)) }
    }
    var update = Update(record: record, changes: changes, before: existing, grantChange: change)
    if let existing, let superseded {
      let uid = uid ?? owner.uid
      let revocation = Revocation(
        of: existing, [superseded], by: .init(client: client, uid: uid, gid: uid), dependencies)
      update.changes.append(.putNote(try revocation.row()))
      update.superseded = revocation
    }
    return update
  }

  /// Returns the account that a sign-in updates; nil if the sign-in creates one.
  ///
  /// An older version stored the client's own account like that of a person. Such an account gets
  /// its present form by the changes that are returned, so that a person can have the subject.
  private func accountToUpdate(
    by grant: AccountGrant, _ owner: Owner, _ provider: ProviderName
  ) throws(UsherError) -> (AccountRecord?, renamed: [Change]) {
    let find = { (subject: String) throws(UsherError) -> AccountRecord? in
      try self.store.account(ofSubject: subject, owner: owner, provider: provider)
        .flatMap { id throws(UsherError) in try self.find(id) }
    }
    let namesake = try find(grant.subject)
    let ofClient = namesake?.details.grant.isOfClient == true ? namesake : nil
    if grant.isOfClient {
      let origin = SubjectOrigin(
        isOfClient: true, isByAssertion: grant.isByAssertion, hasIdentity: grant.identity != nil)
      // The older version had the client's own accounts only.
      return (try find(origin.stored(grant.subject)) ?? (origin == .client ? ofClient : nil), [])
    }
    guard var ofClient else { return (namesake, []) }
    return (nil, [try putRow(&ofClient)])
  }

  /// Returns the token to revoke so that the provider ends the old or new grant that is no longer
  /// used. Nil unless the provider issued both and the setting `revoke_replaced` is on.
  private func superseded(
    by grant: AccountGrant, _ existing: AccountRecord?, _ change: GrantChange?,
    place: TokenPlace?, at now: Timestamp
  ) -> Revocation.Token? {
    guard let existing, let newTokens = grant.tokens, existing.details.place == place,
      let used = existing.details.grant.refreshToken, used != newTokens.refreshToken,
      revokesReplaced(existing.provider)
    else { return nil }
    if change == .kept { return newTokens.revocable.first }
    guard existing.details.grant.isRenewable else { return nil }
    return existing.revocable(at: now).first { $0.kind == .refreshToken }
  }

  private func details(
    _ grant: AccountGrant, over existing: AccountDetails?, client: String, at now: Timestamp
  ) -> AccountDetails {
    let keptRecord = grant.tokens == nil ? existing : nil
    let isByConsent = grant.isByConsent || existing?.isByConsent ?? false
    var profile = grant.isPartial ? grant.profile ?? existing?.profile : grant.profile
    let keepsLabel = grant.isPartial && grant.profile == nil
    let attributes = grant.isPartial ? existing?.attributes : keptRecord?.attributes
    if isByConsent { profile = (existing?.profile ?? [:]).merging(grant.profile ?? [:]) { $1 } }
    return AccountDetails(
      label: keepsLabel ? existing?.label ?? grant.label : grant.label,
      attributes: (attributes ?? [:]).merging(grant.attributes) { $1 }
        .filter { !$0.value.isNull },
      profile: profile, keepAlive: grant.keepAlive, createdAt: existing?.createdAt ?? now,
      isByConsent: isByConsent,
      tokensAreInternal: grant.tokens == nil
        ? existing?.tokensAreInternal ?? grant.tokensAreInternal : grant.tokensAreInternal,
      broughtBy: existing == nil ? client : existing?.broughtBy,
      authenticator: grant.dropsTOTPSecret
        ? nil : (existing?.authenticator).updated(with: grant.totpSecret),
      grant: keptRecord?.grant
        ?? .init(
          scope: grant.tokens?.scope ?? "",
          refreshToken: grant.isOfClient
            ? Sealed(Secret(dependencies.identifier("grant_"))) : grant.tokens?.refreshToken,
          refreshExpiresAt: grant.tokens?.refreshExpiresAt,
          isOfClient: grant.isOfClient ? true : nil,
          isByAssertion: grant.isByAssertion ? true : nil, identity: grant.identity,
          grantID: grant.grantID,
          dpopKey: grant.dpopKey))
  }

  /// Plans a write of the rows that a refresh will change, with their current content. The write is
  /// made before the refresh: if the store accepts it, it will accept the refreshed tokens.
  ///
  /// - Returns: Nil if the account was forgotten or signed in again in the meantime.
  func unchangedRows(
    of id: AccountID, _ key: TokenKey, with refreshToken: Sealed<Secret>
  ) throws(UsherError) -> [Change]? {
    guard let record = try find(id), record.details.grant.refreshToken == refreshToken else {
      return nil
    }
    var changes = [Change.putAccount(try record.row())]
    for key in [key, .idToken] {
      if let token = record.tokens[key] { changes.append(.putToken(try record.row(key, token))) }
    }
    return changes
  }

  /// Plans the result of a refresh, including a rotated refresh token.
  ///
  /// A token with less than the granted scope does not replace the full token: it is stored under
  /// its own scope, and the grant records the narrowing.
  ///
  /// - Parameters:
  ///   - used: The refresh token that was sent to the provider.
  ///   - now: The time at which the new tokens arrived.
  ///   - bootTime: The same time by the boot-time clock.
  /// - Returns: Nil if the account was forgotten or signed in again in the meantime.
  func update(
    _ id: AccountID, _ key: TokenKey, granted tokens: TokenSet, for used: Sealed<Secret>,
    at now: Timestamp, _ bootTime: BootTime? = nil
  ) throws(UsherError) -> Update? {
    guard let before = try find(id), before.details.grant.refreshToken == used else { return nil }
    var record = before
    var access = tokens
    access.refreshToken = nil
    access.refreshExpiresAt = nil
    access.attributes = nil
    access.idToken = nil
    for (name, value) in tokens.attributes ?? [:] {
      record.details.attributes[name] = .string(value)
    }
    if let rotated = tokens.refreshToken {
      record.details.grant.refreshToken = rotated
      record.details.grant.refreshExpiresAt = tokens.refreshExpiresAt
    } else if let end = tokens.refreshExpiresAt {
      record.details.grant.refreshExpiresAt = end
    } else if !record.details.grant.isAlive(at: now) {
      // The refresh succeeded after the stored expiry of the refresh token, so that expiry was
      // wrong; the real one is unknown.
      record.details.grant.refreshExpiresAt = nil
    }
    var key = key
    if key == record.mainKey {
      let isFullScope = record.details.grant.isCovered(by: tokens.scope)
      record.details.grant.narrowedTo = isFullScope ? nil : tokens.scope
      if !isFullScope { key = TokenKey(partOfScope: tokens.scope) }
    }
    let token = try HeldToken(
      StoredToken(set: access, issuedAt: now, issuedAtBootTime: bootTime), as: key, account: id,
      issuer: record.issuer)
    record.tokens[key] = token
    let idToken = try update(&record, with: tokens.idToken?.unsealed(), at: now, bootTime)
    let changes = [try putRow(&record), .putToken(try record.row(key, token))] + idToken
    return try droppingSurplus(
      Update(record: record, changes: changes, before: before), besides: key, at: now)
  }

  /// Returns a planned change that also deletes the tokens which the account has too many, and
  /// revokes them if the operator permits it.
  ///
  /// - Parameter key: The token that the change stores, which is kept.
  func droppingSurplus(
    _ update: Update, besides key: TokenKey, at now: Timestamp
  ) throws(UsherError) -> Update {
    var update = update
    var evicted: [Revocation.Token] = []
    for old in surplusTokens(of: update.record, besides: key, at: now) {
      if old != .idToken, let token = update.record.tokens[old], token.isAlive(at: now) {
        evicted.append(token.set.revocableAccess)
      }
      update.record.tokens[old] = nil
      update.changes.append(
        .deleteToken(update.record.id, audience: old.audience, scope: old.scope))
    }
    guard !evicted.isEmpty, revokesReplaced(update.record.provider) else { return update }
    let revocation = Revocation(
      of: update.record, evicted, by: .init(ownerOf: update.record), dependencies)
    update.changes.append(.putNote(try revocation.row()))
    update.superseded = revocation
    return update
  }

  /// Whether a token that is no longer needed is revoked. RFC 7009 §2.1 lets a provider end the
  /// whole grant with one of its tokens, so the operator decides.
  private func revokesReplaced(_ provider: ProviderName) -> Bool {
    dependencies.configStore.current.provider(provider)?.settings.revokesReplaced == true
  }

  /// The maximum number of an account's tokens for other audiences and with parts of the scope.
  static let maxOtherTokens = 32

  /// Returns the tokens to delete so that tokens for other audiences and with parts of the scope do
  /// not accumulate: those that have expired, and of too many those that expire first.
  private func surplusTokens(
    of record: AccountRecord, besides key: TokenKey, at now: Timestamp
  ) -> [TokenKey] {
    let others = record.tokens.filter { $0.key != key && $0.key != record.mainKey }
    let expired = others.filter { !$0.value.isAlive(at: now) }.map(\.key)
    let living = others.filter { $0.key != .idToken && $0.value.isAlive(at: now) }
      .sorted { ($0.value.set.expiresAt ?? .latest) < ($1.value.set.expiresAt ?? .latest) }
    let kept = Self.maxOtherTokens - (key == record.mainKey ? 0 : 1)
    return expired + living.dropLast(kept).map(\.key)
  }

  /// Plans the ID token of a refresh. Its signature is verified when it is handed out, so that the
  /// refreshed tokens are stored at once. Without a new ID token the present one stays.
  private func update(
    _ record: inout AccountRecord, with token: Secret?, at now: Timestamp, _ bootTime: BootTime?
  ) throws(UsherError) -> [Change] {
    guard record.issuer != nil else { return [] }
    let idToken = token.flatMap { IDToken(unverified: $0) }
    record.details.grant.lacksNewIDToken = idToken == nil
    guard let idToken else { return [] }
    let held = try HeldToken(
      StoredToken(idToken, isUnverified: true, at: now, bootTime), as: .idToken,
      account: record.id, issuer: record.issuer)
    record.tokens[.idToken] = held
    return [.putToken(try record.row(.idToken, held))]
  }

  /// Plans the verdict on the signature of an ID token.
  ///
  /// - Returns: Nil if the account was forgotten, or has another ID token by now.
  func update(
    _ id: AccountID, idToken: Sealed<Secret>, isGenuine: Bool
  ) throws(UsherError) -> Update? {
    guard let before = try find(id), let held = before.tokens[.idToken],
      held.set.accessToken == idToken
    else { return nil }
    var record = before
    guard isGenuine else {
      record.tokens[.idToken] = nil
      record.details.grant.lacksNewIDToken = true
      let key = TokenKey.idToken
      return Update(
        record: record,
        changes: [
          try putRow(&record), .deleteToken(id, audience: key.audience, scope: key.scope),
        ], before: before)
    }
    let verified = held.verified
    record.tokens[.idToken] = verified
    return Update(
      record: record, changes: [.putToken(try record.row(.idToken, verified))], before: before)
  }

  /// Plans the storage of a rotated refresh token that came without a usable access token. The
  /// expiry of the refresh token is then unknown.
  ///
  /// - Returns: Nil if the account was forgotten or signed in again in the meantime.
  func update(
    _ id: AccountID, rotated: Sealed<Secret>, for used: Sealed<Secret>
  ) throws(UsherError) -> Update? {
    try update(id, holding: used) {
      $0.grant.refreshToken = rotated
      $0.grant.refreshExpiresAt = nil
    }
  }

  /// Plans the end of a grant that the provider refuses. Its access tokens are kept, so that lists
  /// show them as dead, but are not handed out.
  ///
  /// - Returns: Nil if the account was forgotten or signed in again in the meantime.
  func update(
    _ id: AccountID, endedWith errorCode: ProviderErrorCode, of used: Sealed<Secret>?
  ) throws(UsherError) -> Update? {
    try update(id, holding: used) {
      $0.grant.death = errorCode
      $0.grant.refreshToken = nil
    }
  }

  private func update(
    _ id: AccountID, holding used: Sealed<Secret>?, _ change: (inout AccountDetails) -> Void
  ) throws(UsherError) -> Update? {
    guard let record = try find(id), record.details.grant.refreshToken == used else { return nil }
    return try update(record, change)
  }

  /// Plans a change of an account's details, without its tokens and consents.
  func update(
    _ before: AccountRecord, _ change: (inout AccountDetails) -> Void
  ) throws(UsherError) -> Update {
    var record = before
    change(&record.details)
    let row = try putRow(&record)
    return Update(record: record, changes: [row], before: before)
  }

  /// Plans the deletion of all tokens of an account; the account itself stays.
  func update(droppingTokensOf record: AccountRecord, errorCode: ProviderErrorCode)
    throws(UsherError)
    -> Update?
  {
    let used = record.details.grant.refreshToken
    guard var update = try update(record.id, endedWith: errorCode, of: used) else { return nil }
    update.record.tokens = [:]
    update.changes.append(.deleteTokens(record.id))
    return update
  }

  /// Plans the write of an account's row. Updates the row's wake time and callback tag first.
  func putRow(_ record: inout AccountRecord) throws(UsherError) -> Change {
    let provider = dependencies.configStore.current.provider(record.provider)
    record.wakeAt = record.wakeTime(at: dependencies.clock.now(), for: provider)
    record.callTag =
      switch record.callbackKey(for: provider) {
      case .noCallbacks: nil
      case .unknown: AccountRow.unknownCallTag
      case .key(let key): store.tag(ofCallKey: key, at: record.provider)
      }
    return .putAccount(try record.row())
  }

  private func rows(of record: inout AccountRecord) throws(UsherError) -> [Change] {
    var changes = [try putRow(&record)]
    for (key, token) in record.tokens { changes.append(.putToken(try record.row(key, token))) }
    return changes
  }
}
