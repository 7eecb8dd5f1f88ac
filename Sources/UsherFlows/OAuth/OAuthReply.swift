package import JSONRPC
package import UsherCore

/// The meaning of a provider's reply to an OAuth form request (RFC 6749 §5).
package enum OAuthReply<Granted: Sendable & Equatable>: Sendable, Equatable {
  case granted(Granted)
  /// The code, refresh token or device code is no longer valid. Only a new sign-in of the user
  /// helps.
  case dead(ProviderErrorCode)
  /// The provider rejects the daemon as a client. The cause is the configuration, so every grant is
  /// affected.
  case misconfigured(ProviderErrorCode)
  /// Any other definite refusal. The same request would be refused again.
  case rejected(ProviderErrorCode)
  /// The provider is temporarily unable to answer.
  ///
  /// - Parameters:
  ///   - message: A user-facing sentence.
  ///   - after: The delay that the reply's `Retry-After` asks for, at most one hour.
  case retry(message: String, after: Duration?)
  /// The reply is not a valid OAuth response. The message is a user-facing sentence.
  case unreadable(message: String)
}

/// The error that a reply reports success but cannot be used.
///
/// The message is a user-facing sentence. It may quote a short identifier such as `token_type`,
/// never a token.
package struct UnusableReply: Error, Sendable, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

extension OAuthReply {
  /// Reads the outcome of a call. If no reply arrived, the provider counts as temporarily unable to
  /// answer.
  package init(_ outcome: CallOutcome, read: (HTTPReply) -> Self) {
    switch outcome {
    case .reply(let reply): self = read(reply)
    case .unreachable(let message, sent: _): self = .retry(message: message, after: nil)
    case .unreadable(let message), .noToken(let message): self = .unreadable(message: message)
    }
  }

  /// Classifies a reply. Never fails, whatever bytes the reply holds.
  ///
  /// - Parameters:
  ///   - grantEndedErrors: Error codes of this provider that mean that the code or token is no
  ///     longer valid.
  ///   - success: Reads the members of a reply that is not a refusal.
  package init(
    _ reply: HTTPReply, from provider: ProviderName, grantEndedErrors: [String] = [],
    success: ([String: JSONValue]) throws(UnusableReply) -> Granted
  ) {
    let members = reply.oauthMembers
    let error = members?["error"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    switch reply.status {
    // Some providers send an error with status 200.
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
      self.init(
        refused: reply, error: error, members: members ?? [:], provider, grantEndedErrors)
    case 500...:
      self = .retry(message: "the provider answers HTTP \(reply.status)", after: reply.retryAfter)
    default: self = .unreadable(message: "the provider answers HTTP \(reply.status)")
    }
  }

  private init(
    refused reply: HTTPReply, error: String?, members: [String: JSONValue],
    _ provider: ProviderName, _ grantEndedErrors: [String]
  ) {
    let code = ProviderText.shown(error, limit: 100)
    let errorCode = ProviderErrorCode(
      name: provider, code: code ?? "http_\(reply.status)",
      message: ProviderText.shown(members["error_description"]?.stringValue))
    if let code, grantEndedErrors.contains(code) {
      self = .dead(errorCode)
      return
    }
    // The list has the codes of RFC 6749 §5.2, and those that real servers send in their place.
    switch code {
    case "invalid_grant", "invalid_token", "invalid_code", "expired_token", "interaction_required",
      "login_required", "consent_required", "account_selection_required":
      self = .dead(errorCode)
    case "invalid_client", "unauthorized_client", "incorrect_client_credentials",
      "bad_client_secret", "invalid_client_id":
      self = .misconfigured(errorCode)
    case "server_error", "temporarily_unavailable":
      self = .retry(message: "the provider answers \(errorCode.code)", after: reply.retryAfter)
    case nil where [408, 425, 429].contains(reply.status):
      self = .retry(message: "the provider answers HTTP \(reply.status)", after: reply.retryAfter)
    default: self = .rejected(errorCode)
    }
  }
}

extension HTTPReply {
  /// The members of a reply to an OAuth request. Some servers send them as a form; then all values
  /// are strings. Nil if the body is neither, or names a member twice.
  fileprivate var oauthMembers: [String: JSONValue]? {
    let type = headers["content-type"]?.lowercased() ?? ""
    guard type.hasPrefix(Self.formType) else { return jsonObject }
    guard let fields = formFields, !fields.isEmpty else { return nil }
    let members = Dictionary(fields.map { ($0.name, JSONValue.string($0.value)) }) { first, _ in
      first
    }
    return members.count == fields.count ? members : nil
  }

  private static let formType = "application/x-www-form-urlencoded"

  /// The fields of the body if it is a form; nil otherwise.
  var formFields: [(name: String, value: String)]? {
    guard headers["content-type"]?.lowercased().hasPrefix(Self.formType) == true else { return nil }
    return String(validating: body, as: UTF8.self).flatMap { FormEncoding.decode($0) }
  }

  /// The body if it is a JSON object; nil otherwise.
  package var jsonObject: [String: JSONValue]? {
    do { return try JSONValue(parsing: body).objectValue } catch { return nil }
  }

  /// The same reply without the byte order mark that some servers put in front of the body (RFC
  /// 8259 §8.1).
  package var withoutByteOrderMark: HTTPReply {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    guard body.starts(with: byteOrderMark) else { return self }
    return copy(self) { $0.body.removeFirst(byteOrderMark.count) }
  }

  /// Whether the provider has not processed the request and asks for it again later.
  ///
  /// True for status 429 or 503 with a `Retry-After` header, even an unreadable one (RFC 6585 §4,
  /// RFC 9110 §15.6.4).
  package var isPostponed: Bool { [429, 503].contains(status) && headers["retry-after"] != nil }

  /// The delay that `Retry-After` asks for (RFC 9110 §10.2.3), at most one hour; nil if the header
  /// is missing or unreadable.
  ///
  /// A fraction of a second is rounded up. A date is compared with the reply's own `Date` header,
  /// or with the local receive time if there is none.
  package var retryAfter: Duration? {
    guard let text = headers["retry-after"]?.trimmingBlanks else { return nil }
    if let seconds = text.decimalSeconds { return .seconds(Int(min(seconds.rounded(.up), 3600))) }
    guard let end = Timestamp(httpDate: text),
      let sentAt = headers["date"].flatMap({ Timestamp(httpDate: $0.trimmingBlanks) }) ?? receivedAt
    else { return nil }
    return min(max(end - sentAt, .zero), .seconds(3600))
  }
}

extension String {
  /// The text without leading and trailing spaces and tabs (RFC 9110 §5.6.3).
  package var trimmingBlanks: String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    let start = drop { isBlank($0) }
    return String(start.reversed().drop { isBlank($0) }.reversed())
  }

  /// The number of seconds in a text of digits with an optional fraction, or infinity if the number
  /// is too large; nil for any other text.
  fileprivate var decimalSeconds: Double? {
    let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isNumber =
      (1...2).contains(parts.count)
      && parts.allSatisfy { part in
        !part.isEmpty && part.allSatisfy { (0x30...0x39).contains($0) }
      }
    return isNumber ? Double(self) ?? .infinity : nil
  }
}
