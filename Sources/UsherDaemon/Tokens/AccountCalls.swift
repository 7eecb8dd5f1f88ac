import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Sends calls to a provider's API with an account's access token.
///
/// A token that is about to expire is refreshed first. If the provider refuses the token, the token
/// is refreshed and the call is sent once more. That is safe, because a call that is refused
/// because of its token has had no effect.
struct AccountCalls: Sendable {
  /// The number of seconds for which an access token must still be valid to be used for a provider
  /// call.
  static let validity = 15

  let dependencies: Dependencies
  let http: ProviderHTTP
  let repository: AccountRepository
  let refresher: Refresher
  let identities: IdentityAssertions

  /// Sends a call of a flow without an account, with the assertion of another provider if it
  /// presents one.
  ///
  /// - Parameter owner: The owner of the flow, to whom the account of the assertion must belong.
  func send(
    _ call: any ProviderCall, for provider: ProviderConfig, in flow: CredentialTags,
    of owner: Owner
  ) async -> CallOutcome {
    do throws(UsherError) {
      let assertion = try await identities.assertion(for: call, provider, of: owner)
      return await http.send(call, for: provider, in: flow, accessToken: assertion)
    } catch {
      return CallOutcome(withoutToken: error)
    }
  }

  /// Sends a call with the access token of an account.
  ///
  /// - Parameters:
  ///   - flow: The credential tags of the flow that makes the call; nil for the daemon's own calls.
  ///   - client: The client of that flow; nil for the daemon's own calls. The client's grants are
  ///     checked again, because they may have been withdrawn since the flow began, or during a
  ///     refresh.
  func send(
    _ call: any ProviderCall, of account: AccountID, for provider: ProviderConfig,
    in flow: CredentialTags? = nil, on client: String? = nil
  ) async -> CallOutcome {
    do throws(UsherError) {
      let token = try await token(of: account, for: provider, on: client)
      let outcome = await http.send(call, for: provider, in: flow, accessToken: token)
      guard case .reply(let reply) = outcome, call.refusesToken(reply) else { return outcome }
      try await refresher.replace(token, of: account)
      let renewed = try await self.token(of: account, for: provider, on: client)
      return await http.send(call, for: provider, in: flow, accessToken: renewed)
    } catch {
      return CallOutcome(withoutToken: error)
    }
  }

  /// Returns a valid access token, refreshing it if needed.
  private func token(
    of account: AccountID, for provider: ProviderConfig, on client: String?
  ) async throws(UsherError) -> Secret {
    let record = try record(account, for: provider, on: client)
    if let token = record.usableToken(record.mainKey),
      token.isValid(for: Self.validity, at: dependencies.clock.now(), dependencies.clock.bootTime())
    {
      return token.set.accessToken.unsealed()
    }
    _ = try await refresher.token(account, record.mainKey, validFor: Self.validity, isForced: false)
    let renewed = try self.record(account, for: provider, on: client)
    guard let token = renewed.usableToken(record.mainKey) else {
      throw AccountRepository.changedMeanwhile
    }
    return token.set.accessToken.unsealed()
  }

  /// - Throws: `reauthenticationRequired` if the account was forgotten or belongs to another
  ///   provider of the same name, `consentRequired` if the client may not act with it.
  private func record(
    _ account: AccountID, for provider: ProviderConfig, on client: String?
  ) throws(UsherError) -> AccountRecord {
    guard let record = try repository.find(account) else {
      throw UsherError(
        .reauthenticationRequired, "account \(account) was deleted meanwhile: sign in again")
    }
    if let client, !record.mayAct(for: client, at: dependencies.clock.now()) {
      throw UsherError(.consentRequired, "the consent was revoked")
    }
    guard record.isOf(provider) else { throw dependencies.elsewhere(record) }
    return record
  }
}

extension CallOutcome {
  /// Creates the outcome of a call for which no token could be obtained: `unreachable`, because
  /// nothing was sent, if the same call may succeed later, else `noToken`.
  fileprivate init(withoutToken error: UsherError) {
    // After a conflict, the account as it is now may have a token.
    self =
      error.isRetryable || error.reason == .conflict
      ? .unreachable(message: error.message, sent: false) : .noToken(message: error.message)
  }
}
