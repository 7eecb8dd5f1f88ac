import JSONRPC

/// What became of a call, before anybody asks which it was (the page Truecaller of the documentation).
enum TruecallerReply: Equatable {
  /// HTTP 2xx with an object that has no `code`.
  case said([String: JSONValue])
  /// A definite no; the same request would be refused again.
  case refused(TruecallerRefusal)
  /// Not just now.
  case failed(TruecallerReplyError)
  /// Something that is no answer; a sentence for people.
  case unreadable(String)

  /// - Parameters:
  ///   - typed: What must not be repeated to people.
  ///   - needsBody: Whether a yes must have a body. One that is there must be an object all the same.
  init(_ outcome: CallOutcome, hiding typed: TypedValues, needsBody: Bool = true) {
    switch outcome {
    case .reply(let reply): self.init(reply, typed, needsBody)
    case .unreachable(let message, let sent): self = .failed(.network(message, sent: sent))
    case .unreadable(let message), .noToken(let message): self = .unreadable(message)
    }
  }

  private init(_ reply: HTTPReply, _ typed: TypedValues, _ needsBody: Bool) {
    let members = reply.jsonObject
    let refusal = TruecallerRefusal(reply, members ?? [:], hiding: typed)
    switch reply.status {
    // The SDK goes by the body: a code is an error whatever the status.
    case 200..<300 where refusal.hasCode: self = .refused(refusal)
    case 200..<300:
      if let members {
        self = .said(members)
      } else if reply.body.isEmpty && !needsBody {
        self = .said([:])
      } else {
        // In what cannot be read a code may stand too.
        self = .unreadable("the provider's answer is not a JSON object")
      }
    case 408, 425, 500...: self = .failed(TruecallerReplyError(busy: reply, hiding: typed))
    case 429 where !refusal.hasCode:
      self = .failed(TruecallerReplyError(busy: reply, hiding: typed))
    case 400..<500: self = .refused(refusal)
    default: self = .unreadable("the provider answers HTTP \(reply.status)")
    }
  }
}

/// A no of the server's, in its own words.
struct TruecallerRefusal: Equatable {
  let status: Int
  /// Of the body: a number, or whatever text it has in its place; nil where it is neither, or
  /// repeats what was typed.
  let code: String?
  /// Likewise.
  let message: String?
  /// What else it said.
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
    let shown = typed.forbids(code) ? "" : ProviderText.clean(code, limit: 100)
    self.code = shown.isEmpty ? nil : shown
    let text = members["message"]?.stringValue ?? ""
    let sentence = typed.forbids(sentence: text) ? "" : ProviderText.clean(text)
    message = sentence.isEmpty ? nil : sentence
  }

  /// Whatever stands there, but null, makes an answer a refusal.
  var hasCode: Bool { members["code"].map { !$0.isNull } ?? false }

  /// For people.
  var sentence: String {
    if let message { return message }
    return (200..<300).contains(status)
      ? "the provider refuses, and gives no reason" : "the provider answers HTTP \(status)"
  }

  /// Whether it says that who asks is not let in.
  var isUnauthorized: Bool { status == 401 || status == 403 }
}

/// Why the server has not decided.
enum TruecallerReplyError: Equatable {
  /// Nothing came back.
  case network(String, sent: Bool)
  /// It answered that it cannot; its `Retry-After` where it has one.
  case server(TruecallerRefusal, after: Duration?)

  /// - Parameter reply: One that says: not just now.
  init(busy reply: HTTPReply, hiding typed: TypedValues) {
    let refusal = TruecallerRefusal(reply, reply.jsonObject ?? [:], hiding: typed)
    self = .server(refusal, after: reply.retryAfter)
  }

  var message: String {
    switch self {
    case .network(let message, sent: _): message
    case .server(let refusal, after: _): "the provider answers HTTP \(refusal.status)"
    }
  }

  /// Whether the server may have done all the same what it was asked for.
  var mayBeDone: Bool {
    switch self {
    case .network(_, let sent): sent
    case .server(let refusal, after: _): refusal.status != 429
    }
  }

  var retryAfter: Duration? {
    switch self {
    case .network: nil
    case .server(_, let after): after
    }
  }
}
