import Logging
import UsherConfig
import UsherCore
import UsherFlows

extension AccountRecord {
  /// Returns the error that no token with the full granted scope can be obtained; nil unless the
  /// provider has narrowed the grant.
  func narrowing(_ dependencies: Dependencies) -> UsherError? {
    guard let scope = details.grant.narrowedTo else { return nil }
    return UsherError(
      .consentRequired,
      "provider \(provider) now grants \(scope) in place of \(details.grant.scope): sign in again",
      detail: .init(
        field: "scope",
        next: signInAgain(for: details.grant.scope, dependencies)))
  }

  /// Returns the error for a client whose consents do not cover a scope of the account or token.
  func scopeNotCovered(
    _ subject: String, _ scope: String, field: String? = nil, _ dependencies: Dependencies
  ) -> UsherError {
    UsherError(
      .consentRequired,
      "your grant does not cover every scope of this \(subject): request the rest by signing in",
      detail: .init(
        field: field, next: signInAgain(for: scope, dependencies)))
  }

  /// Returns the error for an audience that the provider does not issue tokens for with this grant
  /// (RFC 8707 §2).
  func audienceNotGranted(
    _ audience: String, _ errorCode: ProviderErrorCode, _ dependencies: Dependencies
  ) -> UsherError {
    // A sign-in of the client itself names no audiences.
    guard details.grant.isOfClient != true else {
      return UsherError(
        .providerRejected, "the provider issues the client no token for the audience \(audience)",
        detail: .init(field: "audience", provider: errorCode))
    }
    return UsherError(
      .consentRequired,
      "the grant does not include the audience \(audience): sign in to request it",
      detail: .init(
        field: "audience",
        next: signInAgain(for: details.grant.scope, audience: audience, dependencies),
        provider: errorCode))
  }

  /// Returns the error for a request for a token with only a part of the granted scope: such a
  /// request could make the provider narrow the grant for every caller.
  ///
  /// - Parameter hasSetting: Whether the provider's type has the setting `narrow_refresh`.
  func partialScopeRefused(hasSetting: Bool) -> UsherError {
    let advice =
      hasSetting
      ? "leave scope out, or set narrow_refresh if this provider does not" : "leave scope out"
    return UsherError(
      .invalidParams,
      "provider \(provider) may narrow the grant for all programs if a token for a part of its "
        + "scope is requested: \(advice)",
      detail: .init(field: "scope"))
  }
}

/// What a sign-in does to the grant that its account has, if the new grant lacks something of it.
enum GrantChange: Sendable, Equatable {
  /// The earlier grant is kept: the new one has nothing more.
  case kept
  /// The earlier grant is replaced, because the new one has something that it lacks.
  case replaced(lostScope: String, lostAudiences: [String])
}

extension AccountRecord {
  /// Returns what a sign-in does to the account's grant; nil if no program loses anything by the
  /// new grant.
  ///
  /// A grant can be lost only while it is alive, and by an assertion of the same account. Always
  /// nil for accounts by consent, because the user decides at each sign-in about the scope, and for
  /// tokens that only the daemon uses.
  func change(by grant: AccountGrant, place: TokenPlace?, at now: Timestamp) -> GrantChange? {
    guard let newTokens = grant.tokens, !grant.isByConsent, !grant.tokensAreInternal,
      let access = grantedAccess(from: place, now), details.grant.narrowedTo == nil,
      grant.identity == details.grant.identity
    else { return nil }
    let scope = newTokens.scope.scopeWords
    // A token without a scope may give access to anything, so nothing is known to be lost.
    guard !scope.isEmpty else { return nil }
    let earlier = access.scope.scopeWords
    let audiences = (grant.signInOptions?.audiences ?? []).byteSet
    let earlierAudiences = access.audiences.byteSet
    let losesNothing =
      earlier.isSubset(of: scope) && earlierAudiences.isSubset(of: audiences)
    guard !losesNothing else { return nil }
    if scope.isSubset(of: earlier), audiences.isSubset(of: earlierAudiences),
      !grant.isStronger(than: details.signIn)
    {
      return .kept
    }
    let lost = access.scope.split(separator: " ").filter { !scope.contains(Array($0.utf8)) }
    return .replaced(
      lostScope: lost.joined(separator: " "),
      lostAudiences: access.audiences.filter { !audiences.contains(Array($0.utf8)) })
  }

  /// Returns what the account has at a provider, for a sign-in to request it again; nil if its
  /// grant is not alive, or is not of a person who decides about it once for all programs.
  func grantedAccess(at provider: ProviderConfig, _ now: Timestamp) -> GrantedAccess? {
    details.grant.isOfClient == true ? nil : grantedAccess(from: provider.tokenPlace, now)
  }

  private func grantedAccess(from place: TokenPlace?, _ now: Timestamp) -> GrantedAccess? {
    guard !isGuarded, details.place == place, details.grant.isAlive(at: now) else { return nil }
    var access = GrantedAccess(
      scope: details.grant.scope, audiences: details.signInOptions?.audiences ?? [])
    access.grantID = details.grant.grantID
    return access
  }
}

extension [String] {
  fileprivate var byteSet: Set<[UInt8]> { Set(map { [UInt8]($0.utf8) }) }
}

extension AccountGrant {
  /// Whether the sign-in demanded classes of authentication, of which the earlier one had none. A
  /// sign-in without a demanded class has failed.
  fileprivate func isStronger(than earlier: SignInClaims?) -> Bool {
    guard let demanded = signInOptions?.acrValues?.split(separator: " ").map(String.init),
      !demanded.isEmpty
    else { return false }
    guard let used = earlier?.authenticationClass else { return true }
    return !demanded.contains { $0.hasSameBytes(as: used) }
  }

  /// Removes the new tokens, and takes over the account's label, its `keepAlive` and its profile
  /// members, for an account that keeps its existing grant.
  mutating func join(_ details: AccountDetails) {
    tokens = nil
    // The kept tokens are those of the earlier sign-in.
    (idToken, signIn, signInOptions) = (nil, nil, nil)
    label = details.label
    keepAlive = keepAlive || details.keepAlive
    profile = (details.profile ?? [:]).merging(profile ?? [:]) { $1 }
  }
}

extension Refresher {
  /// Returns the reason why a token with this scope is not requested; nil if it may be. A caller
  /// must not narrow the tokens of others: a part of the scope is requested only if that cannot
  /// narrow the grant.
  func scopeProblem(
    _ record: AccountRecord, _ key: TokenKey, isForced: Bool
  ) -> UsherError? {
    guard unsavedRefresh(for: record) == nil, record.details.grant.death == nil else { return nil }
    if key.scope == record.mainKey.scope {
      // Unless forced, the provider is not asked again: it has stated the scope that it grants.
      return isForced ? nil : record.narrowing(dependencies)
    }
    let setting =
      dependencies.configStore.current.provider(record.provider)?.settings.mayNarrowRefresh
    // Neither a grant of the client nor a token exchange has a refresh token that could be bound to
    // a part of the scope.
    let cannotNarrow =
      setting == true || record.details.grant.isOfClient == true || isExchanged(key, of: record)
    return cannotNarrow ? nil : record.partialScopeRefused(hasSetting: setting != nil)
  }

  /// Logs that the provider has returned less scope than was granted.
  func logNarrowing(_ update: AccountRepository.Update) {
    let grant = update.record.details.grant
    guard let scope = grant.narrowedTo, update.before?.details.grant.narrowedTo != scope else {
      return
    }
    dependencies.log.warning(
      "a refresh returned less scope than was granted: a new sign-in is needed for the rest",
      metadata: [
        "provider": .string(update.record.provider.rawValue),
        "account": .string(update.record.id.rawValue), "granted": .string(grant.scope),
        "returned": .string(scope),
      ])
  }
}
