import UsherConfig
import UsherCore

extension AccountRecord {
  /// Whether the account's tokens come from this provider. False if the account's provider name has
  /// been reconfigured to mean another provider.
  func isOf(_ provider: ProviderConfig) -> Bool { isFrom(provider.tokenPlace) }

  func isFrom(_ place: TokenPlace) -> Bool { details.place.map { $0 == place } ?? true }
}

extension Dependencies {
  /// Returns the error for an account whose provider name means another provider since the sign-in,
  /// so that the user must sign in again.
  func elsewhere(_ record: AccountRecord) -> UsherError {
    UsherError(
      .reauthenticationRequired,
      "provider \(record.provider) was changed after this account signed in: sign in again",
      detail: .init(next: signIn(at: record.provider, for: record.details.grant.scope)))
  }
}
