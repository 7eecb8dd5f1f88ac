import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Asks a provider for new tokens, or to take tokens back.
struct TokenSource: Sendable {
  /// What came of a refresh.
  enum Refreshed: Sendable {
    case granted(TokenSet)
    case dead(ProviderWord)
    case failed(UsherError)
  }

  let world: World
  let providers: Providers
  let http: ProviderHTTP
  let metadata: MetadataCache
  let health: ProviderHealth

  func refresh(
    _ record: AccountRecord, _ refreshToken: Secret, scope: String
  ) async -> Refreshed {
    if let pause = health.pause(for: record.provider, at: world.clock.now()) {
      return .failed(unreachable(record, "the provider did not answer just now", after: pause))
    }
    let provider: ProviderConfig
    do throws(UsherError) {
      provider = try providers.named(record.provider)
    } catch {
      return .failed(error)
    }
    switch await metadata.discovery(of: provider) {
    case .found(let metadata):
      let isWhole = scope == record.details.grant.scope
      let call = OIDCCall.refresh(refreshToken, scope: isWhole ? nil : scope, metadata)
      let outcome = await http.send(call, for: provider)
      return read(outcome, record, refreshToken, scope)
    case .unreachable(let message): return .failed(unreachable(record, message, after: nil))
    case .unusable(let message):
      return .failed(UsherError(.providerProtocolError, message))
    }
  }

  private func read(
    _ outcome: CallOutcome, _ record: AccountRecord, _ refreshToken: Secret, _ scope: String
  ) -> Refreshed {
    let now = world.clock.now()
    let reply: HTTPReply
    switch outcome {
    case .reply(let received): reply = received
    case .unreachable(let message, _): return .failed(unreachable(record, message, after: nil))
    case .unreadable(let message): return .failed(UsherError(.providerProtocolError, message))
    }
    switch TokenReply(reply, to: TokenRequest(provider: record.provider, scope: scope), at: now) {
    case .granted(let tokens): return .granted(tokens)
    case .dead(let word): return .dead(word)
    case .misconfigured(let word), .rejected(let word):
      return .failed(
        UsherError(
          .providerRejected, "provider \(record.provider) refuses to refresh: \(word.code)",
          detail: .init(provider: word)))
    case .retry(let message, let after): return .failed(unreachable(record, message, after: after))
    case .unreadable(let message): return .failed(UsherError(.providerProtocolError, message))
    }
  }

  private func unreachable(
    _ record: AccountRecord, _ message: String, after: Duration?
  ) -> UsherError {
    let now = world.clock.now()
    let pause = after ?? health.pause(for: record.provider, at: now) ?? .seconds(1)
    return UsherError(
      .providerUnreachable, message, detail: .init(retryAfterMs: Int(pause.milliseconds)))
  }
}

// Taking back (RFC 7009).
extension TokenSource {
  func revoke(_ record: AccountRecord) async -> AccountForget.Revocation {
    guard let provider = try? providers.named(record.provider),
      case .found(let metadata) = await metadata.discovery(of: provider)
    else { return .failed }
    guard metadata.revocationEndpoint != nil else { return .skipped }
    let access = record.tokens[record.mainKey]?.set.accessToken.unsealed()
    let grant = record.details.grant
    let first = grant.refreshToken.map { ($0.unsealed(), OIDCCall.Revocation.Kind.refreshToken) }
    guard let (token, kind) = first ?? access.map({ ($0, .accessToken) }) else { return .skipped }
    let plain = OIDCCall.Revocation(token: token, kind: kind)
    if await take(back: plain, metadata, provider) { return .done }
    // Some servers want a public client's own access token instead.
    guard provider.credentialName == nil, let access else { return .failed }
    var second = plain
    second.bearer = access
    return await take(back: second, metadata, provider) ? .done : .failed
  }

  private func take(
    back revocation: OIDCCall.Revocation, _ metadata: OIDCMetadata, _ provider: ProviderConfig
  ) async -> Bool {
    guard
      case .reply(let reply) = await http.send(
        OIDCCall.revoke(revocation, metadata), for: provider)
    else { return false }
    return reply.status == 200 || reply.status == 204
  }
}
