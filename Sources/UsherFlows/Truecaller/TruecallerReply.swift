import JSONRPC

/// The outcome of any call to Truecaller (page Truecaller in Usher.docc). A success is HTTP 2xx
/// with an object that has no `code`, or with an empty body if the call needs none.
typealias TruecallerReply = ProviderReply<[String: JSONValue], TruecallerRefusal, String>
typealias TruecallerReplyError = ReplyError<TruecallerRefusal>

extension TruecallerReply {
  /// Reads the outcome of a call.
  ///
  /// - Parameters:
  ///   - typed: The values that the user typed. Texts of the reply that repeat them are not shown.
  ///   - needsBody: Whether a success needs a body. A body that is present must be an object in any
  ///     case.
  init(_ outcome: CallOutcome, hiding typed: TypedValues, needsBody: Bool = true) {
    self.init(outcome) { reply in
      let members = reply.jsonObject
      let refusal = TruecallerRefusal(reply, members ?? [:], hiding: typed)
      switch reply.status {
      // Like the SDK: a `code` in the body means an error, whatever the HTTP status.
      case 200..<300 where refusal.hasCode: return .refused(refusal)
      case 200..<300:
        if let members { return .success(members) }
        // A body that cannot be parsed may be an error report too.
        return reply.body.isEmpty && !needsBody
          ? .success([:]) : .unreadable("the provider's answer is not a JSON object")
      case 408, 425, 500...: return .failed(ReplyError(reply, refusal))
      case 429 where !refusal.hasCode: return .failed(ReplyError(reply, refusal))
      case 400..<500: return .refused(refusal)
      default: return .unreadable("the provider answers HTTP \(reply.status)")
      }
    }
  }
}

/// A refusal by Truecaller, with the server's own code and message.
struct TruecallerRefusal: Equatable {
  let status: Int
  /// The code in the body, as text. Nil if it is neither a number nor text, or if it repeats a
  /// value that the user typed.
  let code: String?
  /// The message in the body. Nil if it is not text, if it repeats a value that the user typed, or
  /// if it may contain a code.
  let message: String?
  /// All members of the body; empty if the body is not an object.
  let members: [String: JSONValue]

  init(_ reply: HTTPReply, _ members: [String: JSONValue], hiding typed: TypedValues) {
    status = reply.status
    self.members = members
    let code =
      switch members["code"] {
      case .integer(let number): String(number)
      case .number(let number): String(number)
      case .string(let text): text
      case nil, .null, .bool, .array, .object: ""
      }
    self.code = typed.forbids(code) ? nil : ProviderText.shown(code, limit: 100)
    let text = members["message"]?.stringValue ?? ""
    message = typed.forbids(sentence: text) ? nil : ProviderText.shown(text)
  }

  /// Whether the body has a `code` other than null, which makes a reply a refusal.
  var hasCode: Bool { members["code"].map { !$0.isNull } ?? false }

  /// The refusal as a user-facing sentence.
  var sentence: String {
    if let message { return message }
    return (200..<300).contains(status)
      ? "the provider refuses, and gives no reason" : "the provider answers HTTP \(status)"
  }

  /// Whether the server refused the credentials that the call carried.
  var isUnauthorized: Bool { status == 401 || status == 403 }
}
