import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Gets assertions about persons from the identity provider at which they have accounts, for calls
/// to other providers (draft-ietf-oauth-identity-assertion-authz-grant).
///
/// An assertion is used once and at once, so none is kept.
final class IdentityAssertions: Sendable {
  /// The number of seconds for which the exchanged ID token must still be valid.
  private static let validity = 15

  private let dependencies: Dependencies
  private let http: ProviderHTTP
  private let metadata: MetadataCache
  private let source = Mutex(Source())

  /// The refresher has this object, so that a strong reference would keep both, and with them all
  /// tokens, in memory after `system.lock`.
  private struct Source {
    weak var refresher: Refresher?
  }

  init(dependencies: Dependencies, http: ProviderHTTP, metadata: MetadataCache) {
    self.dependencies = dependencies
    self.http = http
    self.metadata = metadata
  }

  /// Sets the source of ID tokens, which itself refreshes tokens by assertions.
  func use(_ refresher: Refresher) { source.withLock { $0.refresher = refresher } }

  /// Returns the assertion that a call presents; nil if it presents none.
  ///
  /// - Parameter owner: The owner of the tokens that the call fetches. The account at the identity
  ///   provider must be the owner's, too.
  func assertion<Call: ProviderCall>(
    for call: Call, _ provider: ProviderConfig, of owner: Owner
  ) async throws(UsherError) -> Secret? {
    guard let settings = Provider<Call.Settings>(provider)?.settings,
      let request = call.identityAssertion(settings)
    else { return nil }
    guard request.provider != provider.name,
      let identity = Provider<OIDCSettings>(
        try dependencies.configStore.provider(named: request.provider)),
      identity.settings.oauth2 == nil
    else {
      throw UsherError(
        .invalidParams,
        "identity_assertion of provider \(provider.name) must name another provider of type oidc")
    }
    let (token, key) = try await idToken(for: request, of: owner, at: identity)
    switch await metadata.discovery(of: identity.config) {
    case .found(let metadata):
      let exchange = OIDCCall.exchange(ofIDToken: token, for: request, metadata)
      let bound = key.map { OIDCCall.bound(exchange, key: $0.unsealed()) } ?? exchange
      let assertion = try read(
        await http.send(bound, for: identity.config), from: identity.name)
      // The ID token is for the daemon alone.
      guard assertion != token else {
        throw UsherError(
          .providerProtocolError,
          "provider \(identity.name) returns the ID token in place of an assertion")
      }
      return assertion
    case .unreachable(let message): throw UsherError(.providerUnreachable, message)
    case .unusable(let message): throw UsherError(.providerProtocolError, message)
    }
  }

  /// Returns a valid ID token of the account, refreshing it if needed, and the key to which the
  /// account's tokens are bound.
  private func idToken(
    for request: IdentityAssertionRequest, of owner: Owner, at provider: Provider<OIDCSettings>
  ) async throws(UsherError) -> (Secret, Sealed<Secret>?) {
    guard let refresher = source.withLock({ $0.refresher }) else {
      throw UsherError(.internalError, "there is no source of ID tokens")
    }
    func current() throws(UsherError) -> AccountRecord {
      guard let record = try refresher.repository.find(request.account, of: [owner]),
        record.provider == provider.name, record.details.grant.isOfClient != true
      else {
        throw UsherError(
          .reauthenticationRequired,
          "the account at provider \(provider.name) was forgotten: sign in there, and start the "
            + "flow again")
      }
      guard record.isOf(provider.config) else { throw dependencies.elsewhere(record) }
      return record
    }
    _ = try await refresher.idToken(
      try current().id, validFor: Self.validity, isForced: false)
    let record = try current()
    guard let token = record.usableToken(.idToken), !token.isUnverified else {
      throw AccountRepository.changedMeanwhile
    }
    return (token.set.accessToken.unsealed(), record.details.grant.dpopKey)
  }

  private func read(
    _ outcome: CallOutcome, from provider: ProviderName
  ) throws(UsherError) -> Secret {
    let request = TokenRequest(identityAssertionOf: provider)
    let now = dependencies.clock.now()
    switch TokenReply(outcome, read: { TokenReply($0, to: request, at: now) }) {
    case .granted(let tokens): return tokens.accessToken.unsealed()
    case .dead(let code), .misconfigured(let code), .rejected(let code):
      throw UsherError(
        .providerRejected,
        "provider \(provider) issues no assertion about the person: \(code.code)",
        detail: .init(provider: code))
    case .retry(let message, let after):
      throw UsherError(
        .providerUnreachable, message,
        detail: .init(retryAfterMs: after.map { Int($0.milliseconds) }))
    case .unreadable(let message): throw UsherError(.providerProtocolError, message)
    }
  }
}
