import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// `totp.code` and `totp.list`, and the codes that flows show a person.
///
/// A code is made when it is asked for. Where each is given to a client once, that it was given is on
/// disk before anybody hears of it: a daemon that is killed gives none twice.
struct TOTPService: Sendable {
  let dependencies: Dependencies
  let store: Store
  let repository: AccountRepository
  let providers: Providers

  func code(_ call: TOTPCode, _ caller: Caller) throws(UsherError) -> Response {
    let record = try account(call.account, call.provider, for: caller, TOTPCode.name)
    try check(record, caller)
    let codes = try codes(of: record)
    let now = dependencies.clock.now()
    guard codes.settings.singleUse else { return try .now(codes.reply(at: now)) }
    return .later { [self] () async throws(UsherError) -> [UInt8] in
      let outcome = try await once(record, to: caller.client) { record throws(UsherError) in
        try check(record, caller)
      }
      switch outcome {
      case .given(let reply): return try ReplyEncoder.encode(reply)
      case .spent(let next): throw refusal(until: next)
      }
    }
  }

  /// Blocks where they are on the disk.
  func list(_ call: TOTPList, _ caller: Caller) throws(UsherError) -> TOTPList.Reply {
    let records = try repository.listed(
      for: caller, TOTPList.name, at: call.provider, where: \.hasCodes)
    return .init(
      accounts: records.compactMap { record in
        guard let settings = settings(of: record) else { return nil }
        return .init(
          account: record.id, provider: record.provider, label: record.details.label,
          periodSeconds: settings.periodSeconds, digits: settings.digits)
      })
  }

  /// What a flow shows a person of its owner's account at its provider, on its client's behalf.
  func answer(_ account: AccountID, _ session: FlowSession) async -> OneTimeCodeAnswer {
    let client = session.client ?? CallerPolicy.ownPrograms
    let now = dependencies.clock.now()
    guard let record = try? repository.account(account, of: session.owner),
      record.provider == session.provider, record.mayAct(for: client, at: now),
      let codes = try? codes(of: record)
    else { return .noSecret }
    guard codes.settings.singleUse else { return .given(codes.reply(at: now)) }
    do throws(UsherError) {
      switch try await once(record, to: client, allowing: { _ in }) {
      case .given(let reply): return .given(reply)
      case .spent(let next): return .later(next)
      }
    } catch {
      return .unavailable("that a code was given cannot be kept: \(error.message)")
    }
  }
}

// MARK: - Each once

extension TOTPService {
  private enum Resolution {
    case given(TOTPCode.Reply)
    /// The client has had the code of this step.
    case spent(until: Timestamp)
  }

  /// The code of this step, unless the client was given it or that of a later one: the clock may have
  /// been set back.
  ///
  /// - Parameter check: Whether the client may have it still.
  private func once(
    _ record: AccountRecord, to client: String,
    allowing check: (AccountRecord) throws(UsherError) -> Void
  ) async throws(UsherError) -> Resolution {
    try await repository.turns.withLock(record.shelf) { () throws(UsherError) in
      let record = try repository.account(record.id, of: record.owner)
      try check(record)
      let codes = try codes(of: record)
      let now = dependencies.clock.now()
      if let end = record.details.authenticator?.givenUntil[client], codes.begin(at: now) < end {
        return .spent(until: codes.code.firstStart(from: end))
      }
      let reply = codes.reply(at: now)
      let update = try repository.update(record, givenTo: client, until: reply.expiresAt)
      try await store.commit(update.changes)
      FailPoint.reach("totp.before-telling")
      repository.installSilently(update)
      return .given(reply)
    }
  }

  private func refusal(until next: Timestamp) -> UsherError {
    let pause = next - dependencies.clock.now()
    return UsherError(
      .rateLimited, "you were given the code of this step: the next begins in \(pause.inWords)",
      detail: .init(retryAfterMs: Int(max(pause, .zero).milliseconds), limit: "single_use"))
  }
}

// MARK: - Which account

extension TOTPService {
  /// The account a caller means, by its id or as the only one of a provider that has codes.
  func account(
    _ id: AccountID?, _ provider: ProviderName?, for caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord {
    if let id {
      let record = try repository.account(id, for: caller, method)
      guard provider == nil || provider == record.provider else {
        throw UsherError(
          .invalidParams, "account \(id) is not of that provider",
          detail: .init(field: "provider"))
      }
      return record
    }
    guard let provider else {
      throw UsherError(
        .invalidParams, "account or provider must be given", detail: .init(field: "account"))
    }
    let records = try repository.accounts(
      for: caller, method, at: provider, most: AccountRepository.mostToChoose, where: \.hasCodes)
    if records.isEmpty {
      let others = try repository.accounts(for: caller, method, at: provider, most: 0)
      if let first = others.first { throw noCodes(first) }
      _ = try providers.named(provider)
    }
    return try repository.onlyAccount(among: records, at: provider, field: "account")
  }

  /// As of `token.get`, for the whole of what was granted: a code is good for anything.
  ///
  /// - Throws: `permissionDenied` where what the account is good for is the daemon's own,
  ///   `consentRequired` where the client was not granted all of it, or is no longer.
  private func check(_ record: AccountRecord, _ caller: Caller) throws(UsherError) {
    guard record.isGuarded else { return }
    guard !record.details.tokensAreInternal else {
      throw UsherError(.permissionDenied, "the codes of this account are the daemon's own")
    }
    let scope = record.details.grant.scope
    guard record.opens(scope: scope, to: caller.client, at: dependencies.clock.now()) else {
      throw UsherError(
        .consentRequired, "you were not granted all that these codes give access to",
        detail: .init(
          next: dependencies.signIn(at: record.provider, account: record.id, scope: scope)))
    }
  }

  /// Nil where the provider is configured no more, or has no codes.
  private func settings(of record: AccountRecord) -> TOTPSettings? {
    (try? providers.named(record.provider))?.settings.value.oneTimeCodes
  }

  /// - Throws: `notFound` where it has none, or its provider is configured no more.
  private func codes(of record: AccountRecord) throws(UsherError) -> AccountCodes {
    let provider = try providers.named(record.provider)
    guard let settings = provider.settings.value.oneTimeCodes, let authenticator = record.details.authenticator
    else { throw noCodes(record) }
    guard let key = TOTPKey(base32: authenticator.secret.unsealed()) else {
      throw UsherError(.internalError, "the secret of account \(record.id) is none")
    }
    return AccountCodes(settings: settings, code: OneTimeCode(key, settings))
  }

  private func noCodes(_ record: AccountRecord) -> UsherError {
    UsherError(
      .notFound, "account \(record.id) of provider \(record.provider) has no one-time codes",
      detail: .init(field: "account"))
  }
}

/// What an account's authenticator shows.
private struct AccountCodes {
  let settings: TOTPSettings
  let code: OneTimeCode

  /// When the step of a moment began.
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
  fileprivate static func given(_ reply: TOTPCode.Reply) -> OneTimeCodeAnswer {
    .given(reply.code.secret, until: reply.expiresAt)
  }
}
