import JSONRPC
import UsherCore

/// What became of a call to Freedom ID, before anybody asks which it was.
enum FreedomIDReply: Equatable {
  /// HTTP 2xx with an object that has no `error`; empty for an answer without a body where none is
  /// needed.
  case said([String: JSONValue])
  /// A definite no; the same request would be refused again.
  case refused(FreedomIDRefusal)
  /// Not just now.
  case failed(FreedomReplyError)
  /// Something that is no answer; a sentence for people.
  case unreadable(FreedomIDWord, String)
  /// The account has no token any more and cannot get one. Nothing was sent.
  case noToken(String)

  /// - Parameters:
  ///   - typed: What people have typed into the call: a text that repeats it is not shown.
  ///   - needsBody: Whether a yes must have a body.
  init(_ outcome: CallOutcome, hiding typed: [Secret] = [], needsBody: Bool = true) {
    switch outcome {
    case .reply(let reply): self.init(reply, typed, needsBody)
    case .unreachable(let message, let sent): self = .failed(.network(message, sent: sent))
    case .unreadable(let message): self = .unreadable(.requestReceivingError, message)
    case .noToken(let message): self = .noToken(message)
    }
  }

  private init(_ reply: HTTPReply, _ typed: [Secret], _ needsBody: Bool) {
    let members = reply.jsonObject
    let refusal = FreedomIDRefusal(reply, members ?? [:], hiding: typed)
    switch reply.status {
    // Errors may sit in HTTP 200 (contract §10, trap 10).
    case 200..<300 where refusal.isInBody: self = .refused(refusal)
    case 200..<300:
      if let members {
        self = .said(members)
      } else if reply.body.isEmpty && !needsBody {
        self = .said([:])
      } else {
        self = .unreadable(.bodyError, "the provider's answer is not a JSON object")
      }
    case 408, 425, 500...: self = .failed(.server(refusal))
    case 429 where refusal.code == nil: self = .failed(.server(refusal))
    case 400..<500: self = .refused(refusal)
    default: self = .unreadable(.codeError, "the provider answers HTTP \(reply.status)")
    }
  }
}

/// A no of the server's, in its own words: `{"error": {"message", "code"}}`, or `errors` by member
/// (contract §4.3).
struct FreedomIDRefusal: Equatable {
  let status: Int
  /// As a string; nil where there is none.
  let code: String?
  /// Nil where there is none, or it repeats what was typed.
  let message: String?
  /// Whether the body says so, whatever the status.
  let isInBody: Bool
  /// The members that are wrong: `grants.3`.
  let wrongMembers: [String]
  let attemptsLeft: Int?
  /// As its `Retry-After` says, at most an hour.
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
    let hides: (String) -> Bool = { text in typed.contains { text.repeats($0) } }
    let code = body["code"].flatMap { $0.integerValue.map { String($0) } ?? $0.stringValue } ?? ""
    let shownCode = hides(code) ? "" : ProviderText.clean(code, limit: 100)
    self.code = shownCode.isEmpty ? nil : shownCode
    let text = body["message"]?.stringValue ?? error?.stringValue ?? ""
    let sentence = hides(text) ? "" : ProviderText.clean(text)
    message = sentence.isEmpty ? nil : sentence
    wrongMembers = (body["errors"]?.objectValue ?? [:]).keys.sorted().prefix(16)
      .filter { !hides($0) }.map { ProviderText.clean($0, limit: 100) }
    attemptsLeft = (body["attempts_left"] ?? members["attempts_left"])?.integerValue
      .flatMap { (0...1000).contains($0) ? Int($0) : nil }
  }

  /// For people.
  var sentence: String {
    let reason =
      message ?? (isInBody ? "the provider refuses" : "the provider answers HTTP \(status)")
    guard isLocked, let retryAfter else {
      return wrongMembers.isEmpty ? reason : "\(reason): \(wrongMembers.joined(separator: ", "))"
    }
    return "\(reason): try again in \(retryAfter.seconds) seconds"
  }

  /// What it means wherever it is said.
  var word: FreedomIDWord {
    switch code {
    case "100001": .incorrectApiKey
    case "100002": .identificationError
    case "100003": .appIntegrityError
    case "100004": .autheticationError
    case "100101", "100204": .authError
    case "100102", "100301": .accessDenied
    default: wrongMembers.isEmpty ? .unknownError : .incorrectRequestStructure
    }
  }

  var isLocked: Bool { code == "100204" }
  var saysWrongCredentials: Bool { code == "100201" }
  var saysWrongCode: Bool { code == "100202" }
  var saysCodeExpired: Bool { code == "100203" }
  var saysTooEarly: Bool { code == "100205" }
  /// The token of the call is not good.
  var refusesToken: Bool { code == "100004" }
}

/// Why the server has not decided.
enum FreedomReplyError: Equatable {
  /// Nothing came back.
  case network(String, sent: Bool)
  case server(FreedomIDRefusal)

  var message: String {
    switch self {
    case .network(let message, sent: _): message
    case .server(let refusal): "the provider answers HTTP \(refusal.status)"
    }
  }

  /// Whether the server may have done all the same what it was asked for.
  var mayBeDone: Bool {
    switch self {
    case .network(_, let sent): sent
    case .server(let refusal): refusal.status != 429
    }
  }

  var word: FreedomIDWord {
    switch self {
    case .network(_, let sent): sent ? .streamError : .connectionError
    case .server: .codeError
    }
  }

  var refusal: FreedomIDRefusal? {
    switch self {
    case .network: nil
    case .server(let refusal): refusal
    }
  }

  var retryAfter: Duration? { refusal?.retryAfter }
}

extension String {
  /// Whether it has what was typed in it, in whatever case; of a number the digits count, whatever
  /// stands between them.
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
