import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Implementation of `totp.code` and `totp.list` (one-time codes, RFC 6238), and the source of the
/// codes that flows show to users.
///
/// A code is computed on request. If codes are single-use, the record that a client received a code
/// is on disk before the reply: killing the daemon does not allow a code to be handed out twice.
struct TOTPService: Sendable {
  let dependencies: Dependencies
  let store: Store
  let repository: AccountRepository

  func code(of record: AccountRecord, _ caller: Caller) throws(UsherError) -> Response {
    try check(record, caller)
    let codes = try codes(of: record)
    let now = dependencies.clock.now()
    guard codes.settings.singleUse else { return try .now(codes.reply(at: now)) }
    return .later { [self] () async throws(UsherError) -> [UInt8] in
      let outcome = try await once(record, to: caller.client) { record throws(UsherError) in
        try check(record, caller)
      }
      switch outcome {
      case .code(let reply): return try ReplyEncoder.encode(reply)
      case .spent(let next): throw refusal(until: next)
      }
    }
  }

  /// Implements `totp.list`. Blocks if the accounts are not in memory.
  func list(_ call: TOTPList, _ caller: Caller) throws(UsherError) -> TOTPList.Reply {
    let records = try repository.list(
      for: caller, TOTPList.name, at: call.provider, where: \.hasCodes)
    return .init(
      accounts: records.compactMap { record in
        guard let settings = settings(of: record) else { return nil }
        return .init(
          account: record.id, provider: record.provider, label: record.details.label,
          periodSeconds: settings.periodSeconds, digits: settings.digits)
      })
  }

  /// Returns the code that a flow shows to the user if its client may use the account's tokens.
  func answer(_ account: AccountID, _ flow: LiveFlow) async -> OneTimeCodeAnswer {
    let client = flow.client ?? CallerPolicy.ownPrograms
    let now = dependencies.clock.now()
    guard let record = try? repository.account(account, of: flow.owner),
      record.provider == flow.provider, record.mayAct(for: client, at: now),
      let codes = try? codes(of: record)
    else { return .noSecret }
    guard codes.settings.singleUse else { return .code(codes.reply(at: now)) }
    do throws(UsherError) {
      switch try await once(record, to: client, allowing: { _ in }) {
      case .code(let reply): return .code(reply)
      case .spent(let next): return .later(next)
      }
    } catch {
      return .unavailable("the use of the code cannot be stored: \(error.message)")
    }
  }
}

// MARK: - Single-use codes

extension TOTPService {
  private enum Resolution {
    case code(TOTPCode.Reply)
    /// The client has already received this time step's code. The next is available at `until`.
    case spent(until: Timestamp)
  }

  /// Returns the code of the current time step, unless the client has already received it or a
  /// later one, which is possible if the clock was set back.
  ///
  /// - Parameter check: Throws if the client may no longer receive the code.
  private func once(
    _ record: AccountRecord, to client: String,
    allowing check: (AccountRecord) throws(UsherError) -> Void
  ) async throws(UsherError) -> Resolution {
    try await repository.changeLock.withLock(record.lockKey) { () throws(UsherError) in
      let record = try repository.account(record.id, of: record.owner)
      try check(record)
      let codes = try codes(of: record)
      let now = dependencies.clock.now()
      if let end = record.details.authenticator?.givenUntil[client], codes.begin(at: now) < end {
        return .spent(until: codes.code.firstStart(from: end))
      }
      let reply = codes.reply(at: now)
      let update = try repository.update(record) {
        $0.authenticator?.givenUntil[client] = reply.expiresAt
      }
      try await store.commit(update.changes)
      FailPoint.reach("totp.before-telling")
      repository.installSilently(update)
      return .code(reply)
    }
  }

  private func refusal(until next: Timestamp) -> UsherError {
    let pause = next - dependencies.clock.now()
    return UsherError(
      .rateLimited,
      "you already got the code of this time step; the next step begins in \(pause.inWords)",
      detail: .init(retryAfterMs: Int(max(pause, .zero).milliseconds), limit: "single_use"))
  }
}

// MARK: - Accounts

extension TOTPService {
  /// Returns the account that a call names by id, or a provider's only account with codes.
  func account(
    _ id: AccountID?, _ provider: ProviderName?, for caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord {
    try repository.account(
      id, provider, for: caller, PolicyRequest(method: method), where: \.hasCodes,
      elseError: noCodes)
  }

  /// Checks that the caller may receive a code. The condition is that of `token.get` for the full
  /// granted scope, because a code may give access to everything.
  ///
  /// - Throws: `permissionDenied` if only the daemon uses the account's tokens, `consentRequired`
  ///   if the client does not have the user's consent to the full scope.
  private func check(_ record: AccountRecord, _ caller: Caller) throws(UsherError) {
    guard record.isGuarded else { return }
    guard !record.details.tokensAreInternal else {
      throw UsherError(.permissionDenied, "the codes of this account are for the daemon only")
    }
    let scope = record.details.grant.scope
    guard record.covers(scope: scope, to: caller.client, at: dependencies.clock.now()) else {
      throw record.scopeNotCovered("account", scope, dependencies)
    }
  }

  /// Returns the settings of the provider's one-time codes; nil if the provider is not configured
  /// any more or has no such codes.
  private func settings(of record: AccountRecord) -> TOTPSettings? {
    dependencies.configStore.current.provider(record.provider)?.settings.oneTimeCodes
  }

  /// Returns the generator of an account's one-time codes.
  ///
  /// - Throws: `notFound` if the account has no codes or its provider is not configured any more.
  private func codes(of record: AccountRecord) throws(UsherError) -> AccountCodes {
    let provider = try dependencies.configStore.provider(named: record.provider)
    guard let settings = provider.settings.oneTimeCodes,
      let authenticator = record.details.authenticator
    else { throw noCodes(record) }
    guard let key = TOTPKey(base32: authenticator.secret.unsealed()) else {
      throw UsherError(.internalError, "the TOTP secret of account \(record.id) is not valid")
    }
    return AccountCodes(settings: settings, code: OneTimeCode(key, settings))
  }

  private func noCodes(_ record: AccountRecord) -> UsherError {
    UsherError(
      .notFound,
      "account \(record.id) of provider \(record.provider) has no one-time codes", field: "account")
  }
}

/// The one-time codes of an account: the provider's settings, and the generator with the account's
/// secret.
private struct AccountCodes {
  let settings: TOTPSettings
  let code: OneTimeCode

  /// Returns the start of the time step that contains the given time.
  func begin(at now: Timestamp) -> Timestamp { code.start(of: code.step(at: now)) }

  func reply(at now: Timestamp) -> TOTPCode.Reply {
    let step = code.step(at: now)
    return .init(
      code: WireSecret(code.code(of: step)), periodSeconds: settings.periodSeconds,
      expiresAt: code.start(of: step + 1))
  }
}

extension AccountRecord {
  fileprivate var hasCodes: Bool { details.authenticator != nil }
}

extension OneTimeCodeAnswer {
  fileprivate static func code(_ reply: TOTPCode.Reply) -> OneTimeCodeAnswer {
    .code(reply.code.secret, until: reply.expiresAt)
  }
}
