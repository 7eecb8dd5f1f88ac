import UsherConfig
import UsherCore
import UsherFlows

extension AccountRecord {
  /// Why there is no token with all that was granted; nil where the provider has not narrowed the grant.
  func narrowing(_ dependencies: Dependencies) -> UsherError? {
    guard let scope = details.grant.narrowedTo else { return nil }
    return UsherError(
      .consentRequired,
      "provider \(provider) now grants \(scope) in place of \(details.grant.scope): sign in again",
      detail: .init(
        field: "scope",
        next: dependencies.signIn(at: provider, account: id, scope: details.grant.scope)))
  }

  /// The refusal of a token for a part of the scope, which could narrow the grant for every caller.
  var partRefused: UsherError {
    let advice =
      details.place?.variety == .oidc
      ? "leave scope out, or set narrow_refresh if this provider does not" : "leave scope out"
    return UsherError(
      .invalidParams,
      "provider \(provider) may narrow the grant for all programs when a part of its scope is asked "
        + "for: \(advice)",
      detail: .init(field: "scope"))
  }

  /// Whether a log-in brings only a part of what other programs have by the grant, which still lives.
  ///
  /// By consent it is otherwise: there the person decides each time what is granted.
  func keepsGrant(over grant: AccountGrant, place: TokenPlace?, at now: Timestamp) -> Bool {
    guard let brought = grant.tokens, !isGuarded, !grant.isByConsent, !grant.tokensAreInternal,
      details.place == place, details.grant.isAlive(at: now), details.grant.narrowedTo == nil
    else { return false }
    let scope = brought.scope.scopeWords
    // One that names no scope may be good for anything.
    return !scope.isEmpty && scope.isStrictSubset(of: details.grant.scope.scopeWords)
  }
}

extension AccountGrant {
  /// Brings no tokens, and takes nothing away from what the account has.
  mutating func join(_ details: AccountDetails) {
    tokens = nil
    label = details.label
    keepAlive = keepAlive || details.keepAlive
    profile = (details.profile ?? [:]).merging(profile ?? [:]) { $1 }
  }
}
