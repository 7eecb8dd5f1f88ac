import JSONRPC
import UsherCore

/// The outcome of any call to Freedom ID. A success is HTTP 2xx with an object that has no `error`,
/// or without a body if the call needs none.
typealias FreedomIDReply = ProviderReply<[String: JSONValue], FreedomIDRefusal, FreedomIDFlaw>
typealias FreedomReplyError = ReplyError<FreedomIDRefusal>

/// Why a reply of Freedom ID is not usable, with the SDK's error code.
struct FreedomIDFlaw: ReplyFlaw {
  let errorCode: FreedomIDErrorCode
  /// Why the reply is not usable, as a sentence for users.
  let message: String

  init(message: String) { self.init(.requestReceivingError, message) }

  init(_ errorCode: FreedomIDErrorCode, _ message: String) {
    self.errorCode = errorCode
    self.message = message
  }
}

extension FreedomIDReply {
  /// Reads the outcome of a call.
  ///
  /// - Parameters:
  ///   - typed: The user input in the call. A text of the reply that repeats it is not shown.
  ///   - needsBody: Whether a successful reply must have a body.
  init(_ outcome: CallOutcome, hiding typed: [Secret] = [], needsBody: Bool = true) {
    self.init(outcome) { reply in
      let members = reply.jsonObject
      let refusal = FreedomIDRefusal(reply, members ?? [:], hiding: typed)
      switch reply.status {
      // A reply with HTTP 200 may report an error (provider contract §10, trap 10).
      case 200..<300 where refusal.isInBody: return .refused(refusal)
      case 200..<300:
        if let members { return .success(members) }
        if reply.body.isEmpty && !needsBody { return .success([:]) }
        return .unreadable(.init(.bodyError, "the provider's answer is not a JSON object"))
      case 408, 425, 500...: return .failed(ReplyError(refusal))
      case 429 where refusal.code == nil: return .failed(ReplyError(refusal))
      case 400..<500: return .refused(refusal)
      default: return .unreadable(.init(.codeError, "the provider answers HTTP \(reply.status)"))
      }
    }
  }
}

extension FreedomReplyError {
  init(_ refusal: FreedomIDRefusal) {
    self.init(
      message: "the provider answers HTTP \(refusal.status)",
      mayHaveTakenEffect: refusal.status != 429, retryAfter: refusal.retryAfter, refusal: refusal)
  }

  var errorCode: FreedomIDErrorCode {
    guard refusal == nil else { return .codeError }
    return mayHaveTakenEffect ? .streamError : .connectionError
  }
}

/// A refusal with Freedom ID's own code and message: `{"error": {"message", "code"}}`, where
/// `error` may also have `errors` by member (provider contract §4.3).
struct FreedomIDRefusal: Equatable {
  let status: Int
  /// Freedom ID's error code, such as `100202`; nil if the reply has none.
  let code: String?
  /// Freedom ID's message; nil if the reply has none or repeats user input.
  let message: String?
  /// Whether the body reports the error, whatever the HTTP status.
  let isInBody: Bool
  /// The paths of the request members that Freedom ID calls invalid: `grants.3`.
  let wrongMembers: [String]
  let attemptsLeft: Int?
  /// The delay of `Retry-After`, at most an hour.
  let retryAfter: Duration?
  /// Whether the provider wants the request again later (``HTTPReply/isPostponed``).
  let isPostponed: Bool

  init(_ reply: HTTPReply, _ members: [String: JSONValue], hiding typed: [Secret]) {
    status = reply.status
    retryAfter = reply.retryAfter
    isPostponed = reply.isPostponed
    let error = members["error"]
    isInBody = error.map { !$0.isNull } ?? false
    let body = error?.objectValue ?? [:]
    let repeatsSecret: (String) -> Bool = { text in typed.contains { text.repeats($0) } }
    let code = body["code"]?.codeText ?? ""
    self.code = repeatsSecret(code) ? nil : ProviderText.shown(code, limit: 100)
    let text = body["message"]?.stringValue ?? error?.stringValue ?? ""
    message = repeatsSecret(text) ? nil : ProviderText.shown(text)
    wrongMembers = (body["errors"]?.objectValue ?? [:]).keys.sorted().prefix(16)
      .filter { !repeatsSecret($0) }.map { ProviderText.clean($0, limit: 100) }
    attemptsLeft = (body["attempts_left"] ?? members["attempts_left"])?.integerValue
      .flatMap { (0...1000).contains($0) ? Int($0) : nil }
  }

  /// The refusal as a sentence for users.
  var sentence: String {
    let reason =
      message ?? (isInBody ? "the provider refuses" : "the provider answers HTTP \(status)")
    guard isLocked, let retryAfter else {
      return wrongMembers.isEmpty ? reason : "\(reason): \(wrongMembers.joined(separator: ", "))"
    }
    return "\(reason): try again in \(retryAfter.seconds) seconds"
  }

  /// The SDK's error code for the refusal, unless the meaning depends on the call.
  var errorCode: FreedomIDErrorCode {
    switch code {
    case "100001": .incorrectApiKey
    case "100002": .identificationError
    case "100003": .appIntegrityError
    case "100004": .autheticationError
    case "100101", "100204": .authError
    case "100102", "100301": .accessDenied
    default: unnamedErrorCode
    }
  }

  /// The SDK's error code for a refusal without a known code: by the status if the body does not
  /// report an error.
  private var unnamedErrorCode: FreedomIDErrorCode {
    guard wrongMembers.isEmpty else { return .incorrectRequestStructure }
    guard !isInBody else { return .unknownError }
    return [400, 422].contains(status) ? .incorrectRequestStructure : .codeError
  }

  var isLocked: Bool { code == "100204" }
  var saysWrongCredentials: Bool { code == "100201" }
  var saysWrongCode: Bool { code == "100202" }
  var saysCodeExpired: Bool { code == "100203" }
  var saysTooEarly: Bool { code == "100205" }
  /// Whether Freedom ID refused the request's access token.
  var refusesToken: Bool { code == "100004" }
}

extension String {
  /// Returns whether the text contains what the user typed, in any letter case. If the user typed a
  /// number, only the digits are compared, whatever separates them.
  fileprivate func repeats(_ typed: Secret) -> Bool {
    guard !typed.isEmpty else { return false }
    let text = typed.revealed().lowercased()
    let digits = text.decimals
    let isNumber = digits.count >= 4 && digits.count * 2 > text.count
    return lowercased().contains(text) || isNumber && decimals.contains(digits)
  }
}

extension Duration {
  fileprivate var seconds: Int { Int(components.seconds) }
}
