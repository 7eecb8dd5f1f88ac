import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Token exchange at the provider (RFC 8693).
extension TokenSource {
  /// The result of a token exchange.
  enum Exchanged: Sendable {
    /// The lifetime of the token counts from when the request was sent.
    case granted(TokenSet, requestedAt: Timestamp)
    /// The provider does not accept the token that was to be exchanged: another access token of the
    /// account may help.
    case subjectRefused(UsherError)
    case failed(UsherError)
  }

  /// Exchanges an access token of the account for the token with a key.
  func exchange(
    _ accessToken: Secret, of record: AccountRecord, for key: TokenKey
  ) async -> Exchanged {
    let (provider, dialect): (ProviderConfig, any TokenDialect)
    do throws(UsherError) {
      (provider, dialect) = try await usableDialect(of: record)
    } catch {
      return .failed(error)
    }
    let scope = key.scope == record.mainKey.scope ? nil : key.scope
    guard let call = dialect.exchange(accessToken, scope: scope, audience: key.audience) else {
      return .failed(
        UsherError(.providerRejected, "provider \(record.provider) exchanges no tokens"))
    }
    let outcome = await http.send(call, for: provider)
    health.record(
      outcome, ofRefresh: record.id, of: provider, at: dependencies.clock.monotonicNow())
    let exchanged = read(outcome, dialect, record, key)
    // A rule may allow the token for the audience only, and not the account's own one.
    if case .granted(let tokens, _) = exchanged, tokens.accessToken.unsealed() == accessToken {
      return .failed(
        UsherError(
          .providerProtocolError,
          "provider \(record.provider) returns the account's own token for the audience "
            + "\(key.audience)"))
    }
    return exchanged
  }

  private func read(
    _ outcome: CallOutcome, _ dialect: any TokenDialect, _ record: AccountRecord, _ key: TokenKey
  ) -> Exchanged {
    let now = dependencies.clock.now()
    let reply: HTTPReply
    switch outcome {
    case .reply(let received): reply = received
    case .unreachable(let message, _): return .failed(unreachable(record, message, after: nil))
    case .unreadable(let message), .noToken(let message):
      return .failed(UsherError(.providerProtocolError, message))
    }
    var request = TokenRequest(provider: record.provider, scope: key.scope)
    request.issuedTokenType = TokenRequest.accessTokenType
    switch dialect.read(reply, to: request, at: now) {
    case .granted(let tokens): return .granted(tokens, requestedAt: reply.requestedAt ?? now)
    // RFC 8693 §2.2.2: an unacceptable subject token is an invalid_request. Servers also answer
    // what RFC 6749 §5.2 has for a grant.
    case .dead(let errorCode): return .subjectRefused(refused(record, errorCode))
    case .rejected(let errorCode) where errorCode.code == "invalid_request":
      return .subjectRefused(refused(record, errorCode))
    case .rejected(let errorCode) where errorCode.code == "invalid_target":
      return .failed(
        UsherError(
          .providerRejected,
          "provider \(record.provider) issues the account no token for the audience "
            + "\(key.audience)",
          detail: .init(field: "audience", provider: errorCode)))
    case .misconfigured(let errorCode), .rejected(let errorCode):
      return .failed(refused(record, errorCode))
    case .retry(let message, let after): return .failed(unreachable(record, message, after: after))
    case .unreadable(let message): return .failed(UsherError(.providerProtocolError, message))
    }
  }

  private func refused(_ record: AccountRecord, _ errorCode: ProviderErrorCode) -> UsherError {
    UsherError(
      .providerRejected,
      "provider \(record.provider) refuses the token exchange: \(errorCode.code)",
      detail: .init(provider: errorCode))
  }
}
