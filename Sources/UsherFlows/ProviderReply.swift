/// The outcome of a call to a provider, after the reply was read in the provider's own format.
package enum ProviderReply<Success, Refusal, Flaw>: Sendable, Equatable
where Success: Sendable & Equatable, Refusal: Sendable & Equatable, Flaw: ReplyFlaw {
  case success(Success)
  /// A definite refusal: the same request would be refused again.
  case refused(Refusal)
  /// The provider has not decided: a later call may succeed.
  case failed(ReplyError<Refusal>)
  /// The reply cannot be used, so the outcome of the call is not known.
  case unreadable(Flaw)
  /// The account has no valid token and cannot get one, so nothing was sent. The value is a
  /// sentence for users.
  case noToken(String)

  /// Reads the outcome of a call.
  ///
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

/// Why a provider's reply is not usable, in the type that the provider's reader uses.
package protocol ReplyFlaw: Sendable, Equatable {
  /// Creates the reason from a sentence for users.
  ///
  /// - Parameter message: The sentence, about a response without a readable body.
  init(message: String)
}

/// A reason that is only a sentence for users.
extension String: ReplyFlaw {
  package init(message: String) { self = message }
}

/// A temporary failure of a call: the provider has not decided about it.
package struct ReplyError<Refusal: Sendable & Equatable>: Sendable, Equatable {
  /// Why the call failed, as a sentence for users.
  package var message: String
  /// Whether the provider may have performed the call although no usable reply arrived.
  package var mayHaveTakenEffect: Bool
  /// The value of `Retry-After`, if there is one.
  package var retryAfter: Duration?
  /// The refusal in the provider's reply; nil if no reply arrived or it contains none.
  package var refusal: Refusal?
}

extension ReplyError {
  /// Reads a reply which says that the provider cannot answer now.
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
