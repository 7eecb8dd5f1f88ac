package import JSONRPC
package import UsherCore

/// What a provider's reply to a form means (RFC 6749 §5).
package enum OAuthReply<Granted: Sendable & Equatable>: Sendable, Equatable {
  case granted(Granted)
  /// The code, refresh token or device code is of no use any more; only a new log-in helps.
  case dead(ProviderWord)
  /// The client itself is refused: configuration, whoever's grant it is.
  case misconfigured(ProviderWord)
  /// Any other definite refusal; the same request would be refused again.
  case rejected(ProviderWord)
  /// The provider cannot just now.
  ///
  /// - Parameters:
  ///   - message: A sentence for people.
  ///   - after: As its `Retry-After` says, at most an hour.
  case retry(message: String, after: Duration?)
  /// Something that is no OAuth answer; a sentence for people.
  case unreadable(message: String)
}

/// A reply that said yes, but not in a way that may be used; a sentence without any of its values.
package struct UnusableReply: Error, Sendable, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

extension OAuthReply {
  /// Reads a reply, whatever bytes it holds.
  ///
  /// - Parameter success: Reads the members of a reply that is no refusal.
  package init(
    _ reply: HTTPReply, from provider: ProviderName,
    success: ([String: JSONValue]) throws(UnusableReply) -> Granted
  ) {
    let members = reply.jsonObject
    let error = members?["error"]?.stringValue
    switch reply.status {
    // Some say no with 200.
    case 200..<300 where error == nil:
      guard let members else {
        self = .unreadable(message: "the provider's answer is not a JSON object")
        return
      }
      do {
        self = .granted(try success(members))
      } catch {
        self = .unreadable(message: error.message)
      }
    case 200..<300, 400..<500:
      self.init(refused: reply, error: error, members: members ?? [:], provider)
    case 500...:
      self = .retry(message: "the provider answers HTTP \(reply.status)", after: reply.retryAfter)
    default:
      self = .unreadable(message: "the provider answers HTTP \(reply.status)")
    }
  }

  private init(
    refused reply: HTTPReply, error: String?, members: [String: JSONValue],
    _ provider: ProviderName
  ) {
    let code = error.map { ProviderText.clean($0, limit: 100) } ?? ""
    let text = members["error_description"]?.stringValue.map { ProviderText.clean($0) } ?? ""
    let word = ProviderWord(
      name: provider, code: code.isEmpty ? "http_\(reply.status)" : code,
      message: text.isEmpty ? nil : text)
    switch OAuthErrorKind(code) {
    case .dead: self = .dead(word)
    case .client: self = .misconfigured(word)
    case .passing:
      self = .retry(message: "the provider answers \(code)", after: reply.retryAfter)
    case .other where code.isEmpty && [408, 425, 429].contains(reply.status):
      self = .retry(message: "the provider answers HTTP \(reply.status)", after: reply.retryAfter)
    case .other: self = .rejected(word)
    }
  }
}

/// What an error code says of the grant (RFC 6749 §5.2, and what real servers say in its place).
private enum OAuthErrorKind {
  case dead, client, passing, other

  init(_ code: String) {
    switch code {
    case "invalid_grant", "invalid_token", "invalid_code", "expired_token", "interaction_required",
      "login_required", "consent_required", "account_selection_required":
      self = .dead
    case "invalid_client", "unauthorized_client": self = .client
    case "server_error", "temporarily_unavailable": self = .passing
    default: self = .other
    }
  }
}

extension HTTPReply {
  /// The body as a JSON object; nil for anything else.
  package var jsonObject: [String: JSONValue]? {
    do { return try JSONValue(parsing: body).objectValue } catch { return nil }
  }

  /// When the provider wants the same request again: it says that it has not handled this one (RFC 6585
  /// §4, RFC 9110 §15.6.4). Nil for any other answer.
  package var postponement: Duration? {
    [429, 503].contains(status) ? retryAfter : nil
  }

  /// `Retry-After` in seconds (RFC 9110 §10.2.3), at most an hour. The form with a date is read as
  /// nothing: our clock need not be theirs.
  package var retryAfter: Duration? {
    guard let text = headers["retry-after"], let seconds = Int(text), seconds >= 0 else {
      return nil
    }
    return .seconds(min(seconds, 3600))
  }
}
