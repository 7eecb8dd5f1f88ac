import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// The background tasks of an account: warn the owner, refresh the tokens, ask the provider.
extension AccountWatch {
  func warn(_ record: AccountRecord) {
    repository.events.publish(.token, "expiring", record, at: dependencies.clock.now())
  }

  func renew(_ record: AccountRecord) {
    Task(executorPreference: dependencies.executor) { [self] in
      var renewed: AccountRecord?
      do throws(UsherError) {
        if let token = record.tokens[record.mainKey] {
          try await calls.refresher.replace(token.set.accessToken.unsealed(), of: record.id)
          renewed = repository.record(record.id)
        }
      } catch {
        dependencies.log.notice(
          "a token could not be refreshed before it expires",
          metadata: ["account": .string(record.id.rawValue), "cause": .string(error.message)])
      }
      let now = dependencies.clock.now()
      finish(record.id) { entry in
        entry.isRenewing = false
        if let renewed {
          entry.tokens.renewed(renewed, at: now)
        } else {
          entry.tokens.failed(at: now)
        }
      }
    }
  }

  /// Asks the provider about an account, and stores the result.
  func inquire(_ inquiry: any AccountInquiry, about record: AccountRecord) {
    // The task must not keep the record and its tokens while it waits for the provider.
    let (account, attributes) = (record.id, record.details.attributes)
    let provider = provider(of: record)
    Task(executorPreference: dependencies.executor) { [self] in
      var result = FollowUpOutcome.nothing
      if let provider {
        let outcome = await calls.send(inquiry.inquiry(of: account), of: account, for: provider)
        do throws(UsherError) {
          result = try await applyChanges(about: account) { [clock = dependencies.clock] followUp in
            guard let inquiry = followUp as? any AccountInquiry else { return .nothing }
            return inquiry.changes(from: outcome, at: clock.now())
          }
        } catch {
          dependencies.log.warning(
            "the provider's reply to an inquiry about an account could not be stored",
            metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
        }
      }
      let isPollingStopped = result == .stopPolling
      finish(account) { entry in
        // If the attributes have changed in the meantime, they are about a newer submission, which
        // has a token of its own: asking about that one may help.
        if isPollingStopped, !entry.isInquiryOutdated, entry.attributes == attributes {
          entry.isPollingStopped = true
        }
        (entry.isAsking, entry.isInquiryOutdated) = (false, false)
      }
    }
  }
}

// The provider's reports about an account, from a reply or a callback.
extension AccountWatch {
  /// Returns the account's provider; nil if it is not configured or the name means another one now.
  func provider(of record: AccountRecord) -> ProviderConfig? {
    dependencies.configStore.current.provider(record.provider)
      .flatMap { record.isOf($0) ? $0 : nil }
  }

  func followUp(of record: AccountRecord) -> (any AccountFollowUp)? {
    provider(of: record)?.definition.followUp(attributes: record.details.attributes)
  }

  /// Applies `change` to the account's follow-up (provider-specific state) and stores the outcome.
  ///
  /// - Throws: `storageUnavailable`; nothing has changed then.
  @discardableResult
  func applyChanges(
    about account: AccountID, _ change: @escaping @Sendable (any AccountFollowUp) -> FollowUpOutcome
  ) async throws(UsherError) -> FollowUpOutcome {
    guard let record = try repository.find(account) else { return .nothing }
    return try await repository.changeLock.withLock(record.lockKey) { () throws(UsherError) in
      guard let record = try repository.find(account), let followUp = followUp(of: record) else {
        return .nothing
      }
      let result = change(followUp)
      guard let update = try update(record, result) else { return result }
      try await repository.store.commit(update.changes)
      repository.install(update)
      if case .grantRevoked = result {
        repository.events.publish(.token, "dead", record, at: dependencies.clock.now())
      }
      return result
    }
  }

  /// Returns the planned change of the account; nil if nothing changes.
  private func update(
    _ record: AccountRecord, _ change: FollowUpOutcome
  ) throws(UsherError) -> AccountRepository.Update? {
    switch change {
    case .nothing, .stopPolling: nil
    case .attributes(let attributes): try repository.update(record) { $0.attributes = attributes }
    // The end of a dead grant was announced before.
    case .grantRevoked(let errorCode):
      record.details.grant.death == nil
        ? try repository.update(droppingTokensOf: record, errorCode: errorCode) : nil
    }
  }
}
