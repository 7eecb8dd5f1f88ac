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

  /// Whether the existing grant is kept after a sign-in, because the grant is alive and the sign-in
  /// returned only a part of the scope that other clients use.
  ///
  /// Always false for accounts by consent, because the user decides at each sign-in about the
  /// scope, and for tokens that only the daemon uses.
  func keepsGrant(over grant: AccountGrant, place: TokenPlace?, at now: Timestamp) -> Bool {
    guard let newTokens = grant.tokens, !isGuarded, !grant.isByConsent, !grant.tokensAreInternal,
      details.place == place, details.grant.isAlive(at: now), details.grant.narrowedTo == nil
    else { return false }
    let scope = newTokens.scope.scopeWords
    // A token without a scope may give access to anything, so it is not a part.
    return !scope.isEmpty && scope.isStrictSubset(of: details.grant.scope.scopeWords)
  }
}

extension AccountGrant {
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
