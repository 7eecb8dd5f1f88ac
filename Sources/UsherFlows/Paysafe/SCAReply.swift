import JSONRPC
import UsherCore

/// The result of a call about an SCA event (contract §2.5; the page Paysafe of the documentation).
enum SCAReply<Content: Sendable & Equatable>: Sendable, Equatable {
  case success(Content)
  case refused(SCARefusal)
  /// No reply arrived, or one without information. Whether the provider acted on the call is
  /// unknown.
  ///
  /// - Parameter after: The delay that the reply's `Retry-After` asks for.
  case lost(message: String, after: Duration?)
  /// The reply is malformed. Whether the provider acted on the call is unknown.
  case unreadable(message: String)
  /// The provider did not receive the call.
  case unsent(message: String)
  /// The account needs a new log-in.
  case noToken(message: String)

  /// Classifies the outcome of a call.
  ///
  /// - Parameter read: Reads the members of a reply that is about this event.
  init(
    _ outcome: CallOutcome, about event: PaysafeCall.Event, from provider: ProviderName,
    _ read: ([String: JSONValue]) throws(UnusableReply) -> Content
  ) {
    switch outcome {
    case .reply(let reply): self.init(reply, about: event, from: provider, read)
    case .unreachable(let message, let sent):
      self = sent ? .lost(message: message, after: nil) : .unsent(message: message)
    case .unreadable(let message): self = .unreadable(message: message)
    case .noToken(let message): self = .noToken(message: message)
    }
  }

  private init(
    _ reply: HTTPReply, about event: PaysafeCall.Event, from provider: ProviderName,
    _ read: ([String: JSONValue]) throws(UnusableReply) -> Content
  ) {
    switch reply.status {
    case 200..<300:
      do throws(UnusableReply) {
        self = .success(try read(try event.members(of: reply)))
      } catch {
        self = .unreadable(message: error.message)
      }
    case 408, 500...:
      self = .lost(message: "the provider answers HTTP \(reply.status)", after: reply.retryAfter)
    case 400..<500: self = .refused(SCARefusal(reply, from: provider))
    default: self = .unreadable(message: "the provider answers HTTP \(reply.status)")
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

/// A definite refusal by the provider.
struct SCARefusal: Sendable, Equatable {
  let kind: Kind
  let errorCode: ProviderErrorCode

  enum Kind: Sendable, Equatable {
    /// The verification is not one of the event's.
    case unavailable
    /// No challenge is open.
    case noChallenge
    /// The event is already settled.
    case completed
    case expired
    /// No attempts are left.
    case exhausted
    /// The rate limit is exceeded. The pause is the delay that `Retry-After` asks for.
    case tooMany(after: Duration?)
    case other
  }

  init(_ reply: HTTPReply, from provider: ProviderName) {
    let error = reply.jsonObject?["error"]
    let code = error?["code"]?.stringValue.map { ProviderText.clean($0, limit: 100) } ?? ""
    let text = error?["message"]?.stringValue.map { ProviderText.clean($0) } ?? ""
    kind = Kind(status: reply.status, code: code, after: reply.retryAfter)
    errorCode = ProviderErrorCode(
      name: provider, code: code.isEmpty ? "http_\(reply.status)" : code,
      message: text.isEmpty ? nil : text)
  }
}

extension SCARefusal.Kind {
  fileprivate init(status: Int, code: String, after: Duration?) {
    switch (status, code) {
    case (400, "VERIFICATION_NOT_AVAILABLE"): self = .unavailable
    case (409, "CHALLENGE_REQUIRED"): self = .noChallenge
    case (409, _): self = .completed
    case (410, _): self = .expired
    case (422, "ATTEMPTS_EXHAUSTED"), (422, ""): self = .exhausted
    case (429, _): self = .tooMany(after: after)
    default: self = .other
    }
  }
}
