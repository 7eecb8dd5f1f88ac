import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Asks a provider for new tokens, or to take tokens back.
struct TokenSource: Sendable {
  /// What came of a refresh.
  enum Refreshed: Sendable {
    case granted(TokenSet)
    case dead(ProviderWord)
    /// Refused without a word why: a new log-in may help, or the client is wrong. Not to be
    /// remembered as dead.
    case refused(ProviderWord)
    case failed(UsherError)
  }

  let world: World
  let providers: Providers
  let http: ProviderHTTP
  let metadata: MetadataCache
  let health: ProviderHealth
  /// What an owner is called at a provider, where that is to be told.
  var installation: @Sendable (Owner, ProviderName) -> String? = { _, _ in nil }

  /// Why no refresh can be sent now; nil where nothing stands in the way.
  func obstacle(to record: AccountRecord) -> UsherError? {
    if let pause = health.pause(for: record.provider, record.id, at: world.clock.now()) {
      return unreachable(record, "the provider did not answer just now", after: pause)
    }
    do throws(UsherError) {
      let provider = try providers.named(record.provider)
      guard record.isOf(provider) else { return world.elsewhere(record) }
      try http.checkCredential(of: provider)
      return nil
    } catch {
      return error
    }
  }

  func refresh(
    _ record: AccountRecord, _ refreshToken: Secret, scope: String
  ) async -> Refreshed {
    if let error = obstacle(to: record) { return .failed(error) }
    let provider: ProviderConfig
    do throws(UsherError) {
      provider = try providers.named(record.provider)
    } catch {
      return .failed(error)
    }
    let dialect: any TokenDialect
    switch await self.dialect(of: provider, record) {
    case .success(let found): dialect = found
    case .failure(let error):
      if error.reason == .providerUnreachable {
        let outcome = CallOutcome.unreachable(message: error.message, sent: false)
        health.note(outcome, ofRefresh: record.id, of: provider, at: world.clock.now())
      }
      return .failed(error)
    }
    let isWhole = scope == record.details.grant.scope
    guard let call = dialect.renewal(refreshToken, scope: isWhole ? nil : scope) else {
      return .refused(
        ProviderWord(
          name: record.provider, code: "no_renewal",
          message: "tokens of this provider are not renewed"))
    }
    let outcome = await http.send(call, for: provider)
    health.note(outcome, ofRefresh: record.id, of: provider, at: world.clock.now())
    let refreshed = read(outcome, dialect, record, scope)
    guard case .granted(let tokens) = refreshed,
      let flaw = dialect.flaw(in: tokens, of: record.subject)
    else { return refreshed }
    await discard(tokens, of: record)
    return .dead(ProviderWord(name: record.provider, code: "id_token", message: flaw))
  }

  /// How this account's tokens are handled, by what the provider says of itself where that matters.
  private func dialect(
    of provider: ProviderConfig, _ record: AccountRecord
  ) async -> Result<any TokenDialect, UsherError> {
    let handling = ProviderRegistry.tokens(
      of: provider, attributes: record.details.attributes,
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
    _ outcome: CallOutcome, _ dialect: any TokenDialect, _ record: AccountRecord, _ scope: String
  ) -> Refreshed {
    let now = world.clock.now()
    let reply: HTTPReply
    switch outcome {
    case .reply(let received): reply = received
    case .unreachable(let message, _): return .failed(unreachable(record, message, after: nil))
    case .unreadable(let message), .noToken(let message):
      return .failed(UsherError(.providerProtocolError, message))
    }
    let request = TokenRequest(provider: record.provider, scope: scope)
    switch dialect.read(reply, to: request, at: now) {
    case .granted(let tokens): return .granted(tokens)
    case .dead(let word): return .dead(word)
    case .rejected(let word) where reply.isSilentRefusal: return .refused(word)
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
    let pause = after ?? health.pause(for: record.provider, record.id, at: now) ?? .seconds(1)
    return UsherError(
      .providerUnreachable, message, detail: .init(retryAfterMs: Int(pause.milliseconds)))
  }
}

extension HTTPReply {
  /// Some servers refuse a dead refresh token with a status and nothing else.
  fileprivate var isSilentRefusal: Bool { [400, 401, 403].contains(status) && body.isEmpty }
}

// Taking back (RFC 7009).
extension TokenSource {
  /// Takes back what a refresh brought that nobody will have.
  func discard(_ tokens: TokenSet, of record: AccountRecord) async {
    guard let provider = try? providers.named(record.provider), record.isOf(provider),
      case .success(let dialect) = await dialect(of: provider, record)
    else { return }
    let office = Office(http: http, world: world, dialect: dialect, provider: provider)
    for call in dialect.revoking(tokens) { _ = await office.send(call) }
  }

  /// Takes back the refresh token, and the access tokens that live: not every provider ends those
  /// with it (§2.1 only says it should).
  ///
  /// - Returns: What became of the refresh token; where there is none, of the access tokens.
  func revoke(_ record: AccountRecord) async -> AccountForget.Revocation {
    guard let provider = try? providers.named(record.provider), record.isOf(provider),
      case .success(let dialect) = await dialect(of: provider, record)
    else { return .failed }
    let office = Office(http: http, world: world, dialect: dialect, provider: provider)
    guard office.isOpen else { return .skipped }
    var living = record.accessTokens(at: world.clock.now())
    guard var refreshToken = record.details.grant.refreshToken?.unsealed() else {
      return living.isEmpty ? .skipped : await office.take(back: living).revocation
    }
    var taken = await office.take(back: refreshToken, .refreshToken, bearer: living.last)
    // Where only an access token opens the door, the last one may have expired.
    if taken == .refused, dialect.isPublicClient,
      case .granted(let fresh) = await refresh(
        record, refreshToken, scope: record.details.grant.scope)
    {
      living = [fresh.accessToken.unsealed()]
      refreshToken = fresh.refreshToken?.unsealed() ?? refreshToken
      taken = await office.take(back: refreshToken, .refreshToken, bearer: living.last)
    }
    if taken != .unanswered { _ = await office.take(back: living) }
    return taken.revocation
  }
}

extension AccountRecord {
  /// Those that have not expired; last the one with the whole scope.
  fileprivate func accessTokens(at now: Timestamp) -> [Secret] {
    let narrow = tokens.filter { $0.key != mainKey }.map(\.value)
    return (narrow + [tokens[mainKey]].compactMap(\.self)).filter { $0.isAlive(at: now) }
      .map { $0.set.accessToken.unsealed() }
  }
}

/// Where a provider takes tokens back.
private struct Office {
  enum Taken {
    case done, refused, unanswered

    var revocation: AccountForget.Revocation { self == .done ? .done : .failed }
  }

  let http: ProviderHTTP
  let world: World
  let dialect: any TokenDialect
  let provider: ProviderConfig

  /// Whether there is anything to be done at all.
  var isOpen: Bool { dialect.revocation(Secret(""), .accessToken, bearer: nil) != nil }

  /// - Parameter tokens: The last one opens the door for the others and goes last.
  func take(back tokens: [Secret]) async -> Taken {
    var worst = Taken.done
    for token in tokens where worst != .unanswered {
      let taken = await take(back: token, .accessToken, bearer: tokens.last)
      if taken != .done { worst = taken }
    }
    return worst
  }

  func take(back token: Secret, _ kind: TokenKind, bearer: Secret?) async -> Taken {
    let taken = await send(dialect.revocation(token, kind, bearer: nil))
    // Some servers want a public client's own access token instead.
    guard taken == .refused, dialect.isPublicClient, let bearer else { return taken }
    return await send(dialect.revocation(token, kind, bearer: bearer))
  }

  /// Sends it again, with growing pauses, while the provider puts it off: then the token still lives (RFC
  /// 7009 §2.2.1). The time for one request is the time for all of it.
  func send(_ call: (any ProviderCall)?) async -> Taken {
    guard let call else { return .unanswered }
    let deadline = world.clock.now() + .seconds(provider.http.requestTimeoutSeconds)
    var pause = Duration.milliseconds(250)
    while true {
      guard case .reply(let reply) = await http.send(call, for: provider) else {
        return .unanswered
      }
      guard reply.status >= 500 || reply.status == 429 else {
        return dialect.hasTakenBack(reply) ? .done : .refused
      }
      let wait = max(pause, reply.retryAfter ?? .zero)
      guard world.clock.now() + wait <= deadline else { return .unanswered }
      await withCheckedContinuation { woken in
        _ = world.alarms.after(wait) { woken.resume() }
      }
      pause = pause * 2
    }
  }
}
