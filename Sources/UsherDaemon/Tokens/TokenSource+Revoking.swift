import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Revocation of tokens at the provider (RFC 7009).
extension TokenSource {
  /// Revokes tokens as ``revokeTokens(_:retryingBy:storeRotated:)``, and then deletes the grant if
  /// the revocation has one and the provider deletes grants.
  func revoke(
    _ revocation: Revocation, retryingBy deferrals: DrainingScheduler?,
    storeRotated: @Sendable ([Revocation.Token]) async -> Void
  ) async -> RevocationAttempt {
    let grants = revocation.tokens.filter { $0.kind == .grant }
    var others = revocation
    others.tokens.removeAll { $0.kind == .grant }
    var attempt = await revokeTokens(others, retryingBy: deferrals) {
      await storeRotated($0 + grants)
    }
    for grant in grants {
      switch await endpoint(for: revocation, retryingBy: deferrals) {
      // Tokens that are revoked are all that such a provider can do.
      case .success(let endpoint) where !endpoint.accepts(.grant): break
      case .success(let endpoint):
        attempt.record(await endpoint.revoke(grant, bearer: nil), grant)
      case .failure(let missing): attempt.verdicts.append((grant, .living(missing.reason)))
      }
    }
    return attempt
  }

  /// Why there is no endpoint that can be asked.
  private struct MissingEndpoint: Error {
    let reason: LivingToken.Reason
  }

  private func endpoint(
    for revocation: Revocation, retryingBy deferrals: DrainingScheduler?
  ) async -> Result<RevocationEndpoint, MissingEndpoint> {
    let record = revocation.record
    guard let provider = dependencies.configStore.current.provider(revocation.provider),
      record.isOf(provider)
    else { return .failure(MissingEndpoint(reason: .notConfigured)) }
    guard case .success(let dialect) = await dialect(of: provider, record) else {
      return .failure(MissingEndpoint(reason: .unreachable))
    }
    return .success(
      RevocationEndpoint(
        source: self, dialect: dialect, provider: provider, deferrals: deferrals,
        usesBearer: dialect.isPublicClient && revocation.isBound != true))
  }

  /// Revokes the refresh token and the access tokens that are still valid. The access tokens are
  /// revoked too, because RFC 7009 §2.1 only recommends that a provider invalidates them with the
  /// refresh token.
  ///
  /// - Parameters:
  ///   - deferrals: The timers after which a provider that defers the request is asked again, until
  ///     the time-out of one request is over; nil: it is not asked again.
  ///   - storeRotated: Called before the next request with all remaining tokens when the provider
  ///     has replaced the refresh token, since the old one may be of no use any more.
  private func revokeTokens(
    _ revocation: Revocation, retryingBy deferrals: DrainingScheduler?,
    storeRotated: @Sendable ([Revocation.Token]) async -> Void
  ) async -> RevocationAttempt {
    let tokens = revocation.tokens.filter { $0.isAlive(at: dependencies.clock.now()) }
    let record = revocation.record
    let endpoint: RevocationEndpoint
    switch await self.endpoint(for: revocation, retryingBy: deferrals) {
    case .success(let found): endpoint = found
    case .failure(let missing): return RevocationAttempt(tokens, living: missing.reason)
    }
    guard endpoint.exists else { return RevocationAttempt(tokens, living: .unsupported) }
    var attempt = RevocationAttempt(
      tokens.filter { !endpoint.accepts($0.kind) }, living: .unsupported)
    var living = tokens.filter { $0.kind == .accessToken && endpoint.accepts($0.kind) }
    if let refreshToken = tokens.first(where: { $0.kind == .refreshToken }),
      endpoint.accepts(.refreshToken)
    {
      var outcome = await endpoint.revoke(refreshToken, bearer: living.last)
      var last = refreshToken
      // The provider may require a bearer token, and the last access token may have expired.
      if outcome == .refused, endpoint.usesBearer {
        let refreshed = await refresh(record, refreshToken.secret.unsealed(), record.mainKey)
        if let fresh = refreshed.sent {
          living.append(fresh.revocableAccess)
          last = refreshToken.replaced(by: fresh.refreshToken, expiringAt: fresh.refreshExpiresAt)
          await storeRotated([last] + living)
          outcome = await endpoint.revoke(last, bearer: living.last)
        } else if case .unusable(_, let rotated) = refreshed {
          last = refreshToken.replaced(by: Sealed(rotated), expiringAt: nil)
          await storeRotated([last] + living)
          outcome = .unanswered(after: nil)
        } else if case .failed(let error) = refreshed, error.isRetryable {
          outcome = .unanswered(after: nil)
        }
      }
      attempt.record(outcome, last)
    }
    // The last access token authorizes the other revocations, so it is revoked last.
    let bearer = living.last
    for token in living {
      let outcome: RevocationEndpoint.Outcome =
        if attempt.unanswered.isEmpty {
          await endpoint.revoke(token, bearer: bearer)
        } else {
          .unanswered(after: nil)
        }
      attempt.record(outcome, token)
    }
    return attempt
  }
}

extension RevocationAttempt {
  fileprivate mutating func record(
    _ outcome: RevocationEndpoint.Outcome, _ token: Revocation.Token
  ) {
    switch outcome {
    case .done: verdicts.append((token, .revoked))
    case .refused: verdicts.append((token, .living(.refused)))
    case .unanswered(let after):
      verdicts.append((token, .living(.unreachable)))
      retryAfter = after ?? retryAfter
    }
  }
}

extension Revocation.Token {
  /// Returns the refresh token that the provider issued in place of this one; nil: it issued none.
  fileprivate func replaced(
    by secret: Sealed<Secret>?, expiringAt expiry: Timestamp?
  ) -> Revocation.Token {
    guard let secret else { return self }
    return .init(kind: .refreshToken, secret: secret, scope: scope, expiresAt: expiry)
  }
}

/// The revocation endpoint of a provider.
private struct RevocationEndpoint {
  enum Outcome: Equatable {
    case done, refused
    /// The provider did not answer, or deferred the request.
    ///
    /// - Parameter after: The delay that the provider asks for.
    case unanswered(after: Duration?)
  }

  let source: TokenSource
  let dialect: any TokenDialect
  let provider: ProviderConfig
  let deferrals: DrainingScheduler?
  /// Whether a refused request is repeated with an access token in place of the client's
  /// authentication. A token that is bound to a key is no Bearer token (RFC 9449 §7.2).
  let usesBearer: Bool

  /// Whether the provider supports revocation.
  var exists: Bool { accepts(.accessToken) }

  /// Whether the endpoint revokes tokens of this kind.
  func accepts(_ kind: TokenKind) -> Bool {
    dialect.revocation(Secret(""), kind, bearer: nil) != nil
  }

  func revoke(_ token: Revocation.Token, bearer: Revocation.Token?) async -> Outcome {
    let (secret, kind) = (token.secret.unsealed(), token.kind)
    let outcome = await send(dialect.revocation(secret, kind, bearer: nil))
    // Some servers require a public client's own access token instead.
    guard outcome == .refused, usesBearer, let bearer else { return outcome }
    return await send(dialect.revocation(secret, kind, bearer: bearer.secret.unsealed()))
  }

  /// Sends the request, and repeats it with growing pauses while the provider defers it: the token
  /// is still alive then (RFC 7009 §2.2.1). The timeout of one request bounds all attempts
  /// together.
  func send(_ call: (any ProviderCall)?) async -> Outcome {
    guard let call else { return .unanswered(after: nil) }
    let clock = source.dependencies.clock
    let deadline = clock.monotonicNow() + .seconds(provider.http.requestTimeoutSeconds)
    var pause = Duration.milliseconds(250)
    while true {
      guard case .reply(let reply) = await source.http.send(call, for: provider) else {
        return .unanswered(after: nil)
      }
      guard reply.status >= 500 || reply.status == 429 else {
        return dialect.hasRevoked(reply) ? .done : .refused
      }
      let wait = max(pause, reply.retryAfter ?? .zero)
      guard let deferrals, clock.monotonicNow() + wait <= deadline else {
        return .unanswered(after: reply.retryAfter)
      }
      await withCheckedContinuation { woken in _ = deferrals.after(wait) { woken.resume() } }
      guard !deferrals.hasEnded else { return .unanswered(after: reply.retryAfter) }
      pause = pause * 2
    }
  }
}
