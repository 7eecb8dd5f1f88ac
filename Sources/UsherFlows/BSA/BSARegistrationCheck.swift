package import UsherCore

/// Whether a contact or a user key is taken already, as BSA is asked outside of any flow (seed, Check
/// Duplicated Information and Check UserKey; the page BSA of the documentation).
package enum BSARegistrationCheck: Sendable, Equatable {
  case contact(BSAContact)
  case userKey(String)

  package var call: BSACall {
    switch self {
    case .contact(let contact): .duplicateCheck(contact)
    case .userKey(let userKey): .idCheck(userKey: userKey)
    }
  }

  /// Whether it is taken.
  ///
  /// The vendor's pages differ on which of 2009 and 2019 says so: each is read for the other too.
  ///
  /// - Throws: `provider_rejected` with the provider's word, `provider_unreachable`,
  ///   `provider_protocol_error`.
  package static func isTaken(
    _ outcome: CallOutcome, at provider: ProviderName
  ) throws(UsherError) -> Bool {
    switch BSAReply(outcome) {
    case .said: return false
    case .refused(.alreadyJoined), .refused(.duplicateContact): return true
    case .refused(let code):
      throw UsherError(
        .providerRejected, code.meaning,
        detail: .init(provider: code.word(provider), retryable: code.isRetryable))
    case .failed(let failure):
      throw UsherError(
        .providerUnreachable, failure.message,
        detail: .init(retryAfterMs: failure.retryAfter.map { Int($0.milliseconds) }))
    case .unreadable(let message): throw UsherError(.providerProtocolError, message)
    }
  }
}
