import JSONRPC
import UsherCore

/// The result of a call about an SCA event (provider contract §2.5; page Paysafe in Usher.docc). If
/// the reply is unreadable, it is unknown whether Paysafe acted on the call.
typealias SCAReply<Content: Sendable & Equatable> = ProviderReply<Content, SCARefusal, String>

extension ProviderReply where Refusal == SCARefusal, Flaw == String {
  /// Reads the outcome of a call about an event.
  ///
  /// - Parameter success: Reads the members of a reply that is about this event.
  init(
    _ outcome: CallOutcome, about event: PaysafeCall.Event, from provider: ProviderName,
    _ success: ([String: JSONValue]) throws(UnusableReply) -> Success
  ) {
    self.init(outcome) { reply in
      switch reply.status {
      case 200..<300:
        do throws(UnusableReply) {
          return .success(try success(try event.members(of: reply)))
        } catch {
          return .unreadable(error.message)
        }
      case 501: return .refused(SCARefusal(reply, from: provider))
      case 408, 500...: return .failed(ReplyError(reply))
      case 400..<500: return .refused(SCARefusal(reply, from: provider))
      default: return .unreadable("the provider answers HTTP \(reply.status)")
      }
    }
  }
}

extension PaysafeCall.Event {
  fileprivate func members(of reply: HTTPReply) throws(UnusableReply) -> [String: JSONValue] {
    guard let members = reply.jsonObject else {
      throw UnusableReply("the provider's answer is not a JSON object")
    }
    guard members["eventId"]?.stringValue == id,
      [nil, .null, .string(walletOperationID)].contains(members["walletOperationId"])
    else { throw UnusableReply("the provider's answer is about another event") }
    return members
  }
}

/// A definite refusal by Paysafe of a call about an SCA event.
struct SCARefusal: Sendable, Equatable {
  let kind: Kind
  let errorCode: ProviderErrorCode

  enum Kind: Sendable, Equatable {
    /// The SCA event does not offer this verification.
    case unavailable
    /// The SCA event has no open challenge.
    case noChallenge
    /// The SCA event is already verified, rejected or failed.
    case completed
    case expired
    /// The customer has no attempts left.
    case exhausted
    /// The server does not have this call, or does not know the event: HTTP 404, 405 or 501.
    case noSuchCall
    /// Paysafe's rate limit is exceeded. The pause is the delay that `Retry-After` asks for.
    case tooMany(after: Duration?)
    case other
  }

  init(_ reply: HTTPReply, from provider: ProviderName) {
    let error = reply.jsonObject?["error"]
    let code = ProviderText.shown(error?["code"]?.stringValue, limit: 100)
    kind = Kind(status: reply.status, code: code, after: reply.retryAfter)
    errorCode = ProviderErrorCode(
      name: provider, code: code ?? "http_\(reply.status)",
      message: ProviderText.shown(error?["message"]?.stringValue))
  }
}

extension SCARefusal.Kind {
  fileprivate init(status: Int, code: String?, after: Duration?) {
    switch (status, code) {
    case (400, "VERIFICATION_NOT_AVAILABLE"): self = .unavailable
    case (409, "CHALLENGE_REQUIRED"): self = .noChallenge
    case (409, _): self = .completed
    case (410, _): self = .expired
    case (422, "ATTEMPTS_EXHAUSTED"), (422, nil): self = .exhausted
    case (404, "SCA_EVENT_NOT_FOUND"): self = .other
    case (404, _), (405, _), (501, _): self = .noSuchCall
    case (429, _): self = .tooMany(after: after)
    default: self = .other
    }
  }
}
