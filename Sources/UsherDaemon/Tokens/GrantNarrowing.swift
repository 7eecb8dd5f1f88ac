import UsherConfig
import UsherCore

extension AccountRecord {
  /// Why there is no token with all that was granted; nil where the provider has not narrowed the grant.
  func narrowing(_ world: World) -> UsherError? {
    guard let scope = details.grant.narrowedTo else { return nil }
    return UsherError(
      .consentRequired,
      "provider \(provider) now grants \(scope) in place of \(details.grant.scope): sign in again",
      detail: .init(
        field: "scope", next: world.signIn(at: provider, account: id, scope: details.grant.scope)))
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
}
