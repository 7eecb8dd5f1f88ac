package import UsherCore

/// Asks BSA, outside of any flow, whether a contact or a user key is already registered (SDK
/// documentation, Check Duplicated Information and Check UserKey; page BSA in Usher.docc).
package enum BSARegistrationCheck: Sendable, Equatable {
  case contact(BSAContact)
  case userKey(String)

  package var call: BSACall {
    switch self {
    case .contact(let contact): .duplicateCheck(contact)
    case .userKey(let userKey): .idCheck(userKey: userKey)
    }
  }

  /// Returns whether the contact or user key is taken.
  ///
  /// The vendor's pages disagree on which code reports this, so each code of a duplicate is
  /// accepted for both checks.
  ///
  /// - Throws: `provider_rejected` with the provider's error code, `provider_unreachable`,
  ///   `provider_protocol_error`.
  package func isRegistered(
    _ outcome: CallOutcome, at provider: ProviderName
  ) throws(UsherError) -> Bool {
    switch BSAReply(outcome, to: call) {
    case .success: return false
    case .refused(let refusal) where RTCode.duplicates.contains(refusal.code): return true
    case .refused(let refusal):
      throw UsherError(
        .providerRejected, refusal.code.meaning,
        detail: .init(
          provider: refusal.providerErrorCode(provider), retryable: refusal.code.isRetryable))
    case .failed(let failure):
      throw UsherError(
        .providerUnreachable, failure.message,
        detail: .init(retryAfterMs: failure.retryAfter.map { Int($0.milliseconds) }))
    case .unreadable(let message), .noToken(let message):
      throw UsherError(.providerProtocolError, message)
    }
  }
}
