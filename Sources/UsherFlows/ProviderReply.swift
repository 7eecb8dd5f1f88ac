/// The outcome of a call to a provider, as the provider's own format of replies says it.
package enum ProviderReply<Success, Refusal, Flaw>: Sendable, Equatable
where Success: Sendable & Equatable, Refusal: Sendable & Equatable, Flaw: ReplyFlaw {
  case success(Success)
  /// A definite refusal: the same request would be refused again.
  case refused(Refusal)
  /// The provider has not decided: a later call may succeed.
  case failed(ReplyError<Refusal>)
  /// The reply is not usable.
  case unreadable(Flaw)
  /// The account has no valid token and cannot get one. Nothing was sent; a sentence for users.
  case noToken(String)

  /// - Parameter read: Classifies a reply.
  init(_ outcome: CallOutcome, read: (HTTPReply) -> Self) {
    switch outcome {
    case .reply(let reply): self = read(reply)
    case .unreachable(let message, let sent):
      self = .failed(ReplyError(message: message, mayHaveTakenEffect: sent))
    case .unreadable(let message): self = .unreadable(Flaw(message: message))
    case .noToken(let message): self = .noToken(message)
    }
  }
}

/// Why a reply is not usable.
package protocol ReplyFlaw: Sendable, Equatable {
  /// - Parameter message: A sentence for users about a response without a readable body.
  init(message: String)
}

/// A sentence for users.
extension String: ReplyFlaw {
  package init(message: String) { self = message }
}

/// A temporary failure, without a decision by the provider.
package struct ReplyError<Refusal: Sendable & Equatable>: Sendable, Equatable {
  /// A sentence for users.
  package var message: String
  /// Whether the provider may have performed the call anyway.
  package var mayHaveTakenEffect: Bool
  /// The value of `Retry-After`, if there is one.
  package var retryAfter: Duration?
  /// The provider's reply; nil if none arrived.
  package var refusal: Refusal?
}

extension ReplyError {
  /// Reads a reply that says that the provider cannot answer now.
  ///
  /// - Parameter unprocessed: The HTTP statuses with which the provider says that it has not
  ///   processed the request.
  init(_ reply: HTTPReply, _ refusal: Refusal? = nil, unprocessed: Set<Int> = [429]) {
    self.init(
      message: "the provider answers HTTP \(reply.status)",
      mayHaveTakenEffect: !unprocessed.contains(reply.status), retryAfter: reply.retryAfter,
      refusal: refusal)
  }
}
