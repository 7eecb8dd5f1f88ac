import UsherConfig
import UsherCore

extension AccountRecord {
  /// Whether its tokens are this provider's: another one may have come under the same name.
  func isOf(_ provider: ProviderConfig) -> Bool { isFrom(provider.tokenPlace) }

  /// The same of a provider whose place is known.
  func isFrom(_ place: TokenPlace) -> Bool { details.place.map { $0 == place } ?? true }
}

extension Dependencies {
  /// What is said of an account whose provider's name means another provider now.
  func elsewhere(_ record: AccountRecord) -> UsherError {
    UsherError(
      .reauthenticationRequired,
      "provider \(record.provider) is another one now than when this account signed in",
      detail: .init(next: signIn(at: record.provider, scope: record.details.grant.scope)))
  }
}
