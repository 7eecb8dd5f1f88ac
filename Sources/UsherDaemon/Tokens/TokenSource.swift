import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Asks a provider for new tokens, or to revoke tokens.
struct TokenSource: Sendable {
  /// The result of a token refresh at the provider.
  enum Refreshed: Sendable {
    /// The lifetime of the tokens counts from when the request was sent.
    case granted(TokenSet, requestedAt: Timestamp)
    /// The provider returned tokens, but according to their ID token they are not those of the
    /// account. They must be revoked.
    case flawed(TokenSet, ProviderErrorCode)
    case dead(ProviderErrorCode)
    /// The provider refused without a reason: the grant may be dead, or the client may be
    /// misconfigured. Or it refused a request of the client itself, which may succeed later. The
    /// grant must not be recorded as dead.
    case refused(ProviderErrorCode)
    case failed(UsherError)
    /// The access token is unusable, but a rotated refresh token came with it. The provider may no
    /// longer accept the refresh token that was sent.
    case unusable(UsherError, rotated: Secret)

    /// The tokens that the provider sent. They may be those of another account and must then not be
    /// used.
    var sent: TokenSet? {
      switch self {
      case .granted(let tokens, _), .flawed(let tokens, _): tokens
      case .dead, .refused, .failed, .unusable: nil
      }
    }
  }

  let dependencies: Dependencies
  let http: ProviderHTTP
  let metadata: MetadataCache
  let verifier: IDTokenVerifier
  let health: ProviderHealth
  let identities: IdentityAssertions
  /// Returns the installation id of an owner at a provider, if the provider expects one; else nil.
  var installation: @Sendable (Owner, ProviderName) -> String? = { _, _ in nil }

  /// Returns the provider to which a refresh can be sent now. Throws the error that prevents it.
  @discardableResult
  func usableProvider(of record: AccountRecord) throws(UsherError) -> ProviderConfig {
    if let pause = health.pause(
      for: record.provider, record.id, at: dependencies.clock.monotonicNow())
    {
      throw unreachable(record, "the provider did not answer the last call", after: pause)
    }
    let provider = try dependencies.configStore.provider(named: record.provider)
    guard record.isOf(provider) else { throw dependencies.elsewhere(record) }
    try http.checkCredential(of: provider)
    return provider
  }

  /// Fetches the token with a key, by means of the account's refresh token.
  ///
  /// - Parameter refreshToken: Not sent for a grant of the client, which has no refresh token.
  func refresh(
    _ record: AccountRecord, _ refreshToken: Secret, _ key: TokenKey
  ) async -> Refreshed {
    let (provider, dialect): (ProviderConfig, any TokenDialect)
    do throws(UsherError) {
      (provider, dialect) = try await usableDialect(of: record)
    } catch {
      return .failed(error)
    }
    guard let call = renewal(of: refreshToken, key, record, dialect) else {
      return .refused(
        ProviderErrorCode(
          name: record.provider, code: "no_renewal",
          message: "tokens of this provider are not renewed"))
    }
    let assertion: Secret?
    do throws(UsherError) {
      assertion = try await identities.assertion(for: call, provider, of: record.owner)
    } catch {
      pause(record, after: error, of: provider)
      return .failed(error)
    }
    let outcome = await http.send(call, for: provider, accessToken: assertion)
    health.record(
      outcome, ofRefresh: record.id, of: provider, at: dependencies.clock.monotonicNow())
    let refreshed = read(outcome, dialect, record, key)
    if case .failed(let error) = refreshed, case .reply(let reply) = outcome,
      error.reason == .providerProtocolError, record.details.grant.isOfClient != true,
      let rotated = reply.salvagedRefreshToken,
      rotated != refreshToken
    {
      return .unusable(error, rotated: rotated)
    }
    guard case .granted(var tokens, let requestedAt) = refreshed else { return refreshed }
    let unreadable = decryptIDToken(of: &tokens, provider)
    if let flaw = dialect.flaw(in: tokens, of: record.subject, signIn: record.details.signIn) {
      return .flawed(tokens, ProviderErrorCode(name: record.provider, idTokenFlaw: flaw))
    }
    if let unreadable {
      tokens.idToken = nil
      dependencies.log.warning(
        "an ID token that came with a refresh is not handed out",
        metadata: [
          "provider": .string(record.provider.rawValue),
          "account": .string(record.id.rawValue), "cause": .string(unreadable.message),
        ])
    }
    return .granted(tokens, requestedAt: requestedAt)
  }

  /// Decrypts the ID token of a refresh if it must be encrypted.
  ///
  /// - Returns: Why it cannot be used; nil if it can, or if there is none.
  private func decryptIDToken(
    of tokens: inout TokenSet, _ provider: ProviderConfig
  ) -> UnusableReply? {
    guard let token = tokens.idToken?.unsealed(), let provider = Provider<OIDCSettings>(provider)
    else { return nil }
    let protection = TokenProtection(
      algorithms: [], encryption: provider.settings.protection.idTokenEncryption)
    do throws(UnusableReply) {
      if case .signed(let signed) = try verifier.decrypted(token, protection, of: provider) {
        tokens.idToken = Sealed(signed)
      }
      return nil
    } catch {
      return error
    }
  }

  private func renewal(
    of refreshToken: Secret, _ key: TokenKey, _ record: AccountRecord, _ dialect: any TokenDialect
  ) -> (any ProviderCall)? {
    if record.details.grant.isOfClient == true {
      let audience = key.audience.isEmpty ? nil : key.audience
      if let identity = record.details.grant.identity {
        return dialect.identityToken(
          identity, subject: record.subject, scope: key.scope, audience: audience)
      }
      return record.details.grant.isByAssertion == true
        ? dialect.assertionToken(subject: record.subject, scope: key.scope, audience: audience)
        : dialect.clientToken(scope: key.scope, audience: audience)
    }
    let scope = key.scope == record.mainKey.scope ? nil : key.scope
    return key.audience.isEmpty
      ? dialect.renewal(refreshToken, scope: scope)
      : dialect.renewal(refreshToken, scope: scope, audience: key.audience)
  }

  /// Verifies the signature of an account's ID token.
  ///
  /// - Returns: Nil if the token is genuine; otherwise the reason why it must not be handed out, as
  ///   a sentence.
  /// - Throws: If the provider's keys cannot be fetched now.
  func flaw(ofIDToken token: Secret, of record: AccountRecord) async throws(UsherError) -> String? {
    let config = try dependencies.configStore.provider(named: record.provider)
    guard record.isOf(config), let provider = Provider<OIDCSettings>(config) else {
      throw dependencies.elsewhere(record)
    }
    switch await metadata.discovery(of: config) {
    case .found(let metadata):
      // The token was decrypted when it arrived.
      let protection = TokenProtection(of: .idToken, metadata, provider.settings)
      switch await verifier.verifySignature(of: token, protection, metadata, provider) {
      case .genuine: return nil
      case .refused(let message), .keyless(let message): return message
      case .unreachable(let message, reply: _): throw unreachable(record, message, after: nil)
      }
    case .unreachable(let message): throw unreachable(record, message, after: nil)
    case .unusable(let message): throw UsherError(.providerProtocolError, message)
    }
  }

  /// Returns the provider to which a request for the account's tokens can be sent now, and the
  /// dialect of the request, with the key to which the tokens are bound.
  ///
  /// If the metadata cannot be fetched, the account waits before its next request.
  func usableDialect(
    of record: AccountRecord
  ) async throws(UsherError) -> (ProviderConfig, any TokenDialect) {
    let provider = try usableProvider(of: record)
    switch await dialect(of: provider, record) {
    case .success(let found):
      if let flaw = found.flaw { throw UsherError(.providerProtocolError, flaw) }
      return (provider, record.details.grant.dpopKey.map { found.bound(to: $0) } ?? found)
    case .failure(let error):
      pause(record, after: error, of: provider)
      throw error
    }
  }

  /// Makes the account wait before its next request, if an error says that what the request needs
  /// cannot be fetched now.
  private func pause(
    _ record: AccountRecord, after error: UsherError, of provider: ProviderConfig
  ) {
    guard error.reason == .providerUnreachable else { return }
    health.record(
      CallOutcome.unreachable(message: error.message, sent: false), ofRefresh: record.id,
      of: provider, at: dependencies.clock.monotonicNow())
  }

  /// Returns the dialect for the account's tokens. Fetches the provider's metadata if the dialect
  /// depends on it.
  func dialect(
    of provider: ProviderConfig, _ record: AccountRecord
  ) async -> Result<any TokenDialect, UsherError> {
    let handling = provider.definition.tokens(
      attributes: record.details.attributes,
      installation: installation(record.owner, provider.name))
    switch handling {
    case .known(let dialect): return .success(dialect)
    case .discovered(let dialect):
      switch await metadata.discovery(of: provider) {
      case .found(let metadata): return .success(dialect(metadata))
      case .unreachable(let message):
        return .failure(unreachable(record, message, after: nil))
      case .unusable(let message):
        return .failure(UsherError(.providerProtocolError, message))
      }
    }
  }

  private func read(
    _ outcome: CallOutcome, _ dialect: any TokenDialect, _ record: AccountRecord, _ key: TokenKey
  ) -> Refreshed {
    let now = dependencies.clock.now()
    let isOfClient = record.details.grant.isOfClient == true
    let reply: HTTPReply
    switch outcome {
    case .reply(let received): reply = received
    case .unreachable(let message, _): return .failed(unreachable(record, message, after: nil))
    case .unreadable(let message), .noToken(let message):
      return .failed(UsherError(.providerProtocolError, message))
    }
    let request = TokenRequest(provider: record.provider, scope: key.scope)
    switch dialect.read(reply, to: request, at: now) {
    case .granted(var tokens):
      // RFC 6749 §4.4.3: a grant of the client needs no refresh token. An ID token that comes with
      // it is about no user.
      if isOfClient { (tokens.refreshToken, tokens.idToken) = (nil, nil) }
      return .granted(tokens, requestedAt: reply.requestedAt ?? now)
    // Nothing that the user granted has ended. Also an assertion with a wrong time is an
    // `invalid_grant` (RFC 7523 §3.1).
    case .dead(let errorCode): return isOfClient ? .refused(errorCode) : .dead(errorCode)
    case .rejected(let errorCode) where reply.isSilentRefusal: return .refused(errorCode)
    case .rejected(let errorCode) where errorCode.code == "invalid_target" && key.audience != "":
      return .failed(record.audienceNotGranted(key.audience, errorCode, dependencies))
    case .misconfigured(let errorCode), .rejected(let errorCode):
      return .failed(
        UsherError(
          .providerRejected, "provider \(record.provider) refuses to refresh: \(errorCode.code)",
          detail: .init(provider: errorCode)))
    case .retry(let message, let after): return .failed(unreachable(record, message, after: after))
    case .unreadable(let message): return .failed(UsherError(.providerProtocolError, message))
    }
  }

  /// The error for a refresh whose access token had ended when the provider's answer arrived.
  func endedOnArrival(_ record: AccountRecord) -> UsherError {
    unreachable(
      record,
      "provider \(record.provider) answers so late that its access tokens have ended by then",
      after: nil)
  }

  func unreachable(
    _ record: AccountRecord, _ message: String, after: Duration?
  ) -> UsherError {
    let now = dependencies.clock.monotonicNow()
    let pause = after ?? health.pause(for: record.provider, record.id, at: now) ?? .seconds(1)
    return UsherError(
      .providerUnreachable, message, detail: .init(retryAfterMs: Int(pause.milliseconds)))
  }
}

extension HTTPReply {
  /// Whether the server refused a refresh token with only a status and an empty body, as some
  /// servers refuse a dead one.
  fileprivate var isSilentRefusal: Bool { [400, 401, 403].contains(status) && body.isEmpty }
}

extension TokenSet {
  /// Whether the access token had a lifetime when it was requested, and none is left.
  ///
  /// A token that never had one is handed out to those who wait for it.
  func haveEnded(since requestedAt: Timestamp, at now: Timestamp) -> Bool {
    guard let expiresAt else { return false }
    return expiresAt > requestedAt && expiresAt <= now
  }
}
