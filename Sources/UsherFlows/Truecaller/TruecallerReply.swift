import JSONRPC

/// What became of a call, before anybody asks which it was (the page Truecaller of the documentation).
enum TruecallerReply: Equatable {
  /// HTTP 2xx with an object that has no `code`.
  case said([String: JSONValue])
  /// A definite no; the same request would be refused again.
  case refused(TruecallerRefusal)
  /// Not just now.
  case trouble(TruecallerTrouble)
  /// Something that is no answer; a sentence for people.
  case unreadable(String)

  /// - Parameter needsBody: Whether a yes must be an object.
  init(_ outcome: CallOutcome, needsBody: Bool = true) {
    switch outcome {
    case .reply(let reply): self.init(reply, needsBody)
    case .unreachable(let message, let sent): self = .trouble(.network(message, sent: sent))
    case .unreadable(let message), .noToken(let message): self = .unreadable(message)
    }
  }

  private init(_ reply: HTTPReply, _ needsBody: Bool) {
    let members = reply.jsonObject
    let refusal = TruecallerRefusal(reply, members ?? [:])
    switch reply.status {
    // The SDK goes by the body: a code is an error whatever the status.
    case 200..<300 where refusal.code != nil: self = .refused(refusal)
    case 200..<300:
      if let members {
        self = .said(members)
      } else {
        self = needsBody ? .unreadable("the provider's answer is not a JSON object") : .said([:])
      }
    case 408, 425, 500...: self = .trouble(.server(refusal, after: reply.retryAfter))
    case 429 where refusal.code == nil:
      self = .trouble(.server(refusal, after: reply.retryAfter))
    case 400..<500: self = .refused(refusal)
    default: self = .unreadable("the provider answers HTTP \(reply.status)")
    }
  }
}

/// A no of the server's, in its own words.
struct TruecallerRefusal: Equatable {
  let status: Int
  /// Of the body: a number, or whatever it has in its place.
  let code: String?
  let message: String?
  /// What else it said.
  let members: [String: JSONValue]

  init(_ reply: HTTPReply, _ members: [String: JSONValue]) {
    status = reply.status
    self.members = members
    let code =
      switch members["code"] {
      case .integer(let number): String(number)
      case .number(let number): String(number)
      case .string(let text): ProviderText.clean(text, limit: 100)
      case nil, .null, .bool, .array, .object: ""
      }
    self.code = code.isEmpty ? nil : code
    let text = members["message"]?.stringValue.map { ProviderText.clean($0) } ?? ""
    message = text.isEmpty ? nil : text
  }

  /// For people.
  var sentence: String { message ?? "the provider answers HTTP \(status)" }

  /// Whether it says that who asks is not let in.
  var isUnauthorized: Bool { status == 401 || status == 403 }
}

/// Why the server has not decided.
enum TruecallerTrouble: Equatable {
  /// Nothing came back.
  case network(String, sent: Bool)
  /// It answered that it cannot; its `Retry-After` where it has one.
  case server(TruecallerRefusal, after: Duration?)

  var message: String {
    switch self {
    case .network(let message, sent: _): message
    case .server(let refusal, after: _): "the provider answers HTTP \(refusal.status)"
    }
  }

  var retryAfter: Duration? {
    switch self {
    case .network: nil
    case .server(_, let after): after
    }
  }
}
