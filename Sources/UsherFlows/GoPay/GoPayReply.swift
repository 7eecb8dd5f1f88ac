import JSONRPC

/// What became of a call (the page GoPay of the documentation).
enum GoPayReply: Equatable {
  case said(GoPayData)
  /// A definite no; the same request would be refused again.
  case refused(GoPayRefusal)
  /// Not just now: it is tried again.
  case failed(GoPayReplyError)
  /// Something that is no answer; a sentence for people.
  case unreadable(String)

  init(_ outcome: CallOutcome, to call: GoPayCall) {
    switch outcome {
    case .reply(let reply):
      switch call {
      case .binding, .unbinding: self.init(snap: reply)
      case .exchange: self.init(partner: reply)
      case .authCode, .sessionToken, .temporaryToken, .capture, .submission, .currentSubmission:
        self.init(identity: reply, to: call)
      }
    case .unreachable(let message, let sent):
      self = .failed(GoPayReplyError(error: .connection, message: message, sent: sent))
    case .unreadable(let message): self = .unreadable(message)
    case .noToken(let message): self = .refused(GoPayRefusal(noToken: message))
    }
  }

  /// - Parameters:
  ///   - status: What counts: of HTTP, or what the body says in its place.
  ///   - data: Of a yes; nil where there is none to be read.
  private init(
    _ status: Int, _ reply: HTTPReply, _ data: [String: JSONValue]?, _ refusal: GoPayRefusal
  ) {
    switch status {
    case 200..<300:
      self =
        data.map { .said(GoPayData(members: $0)) }
        ?? .unreadable("the provider's answer is not the JSON object it should be")
    case 408, 425, 429, 500..<600:
      self = .failed(GoPayReplyError(refusal, after: reply.retryAfter))
    case 400..<500: self = .refused(refusal)
    default: self = .unreadable("the provider answers HTTP \(status)")
    }
  }
}

// Each kind of server has its way to say no.
extension GoPayReply {
  /// SNAP: the first three digits of `responseCode` are a status.
  fileprivate init(snap reply: HTTPReply) {
    let members = reply.jsonObject
    let code = members?["responseCode"]?.gopayCode
    let said = code.flatMap { $0.utf8.count == 7 ? Int($0.prefix(3)) : nil }
    // A yes in the body does not undo a no of HTTP.
    let status = (200..<300).contains(said ?? 200) ? reply.status : said ?? reply.status
    let message = members?["responseMessage"]?.gopayText
    self.init(
      status, reply, members,
      GoPayRefusal(
        error: GPError(snap: code, status), status: status, code: code, message: message,
        // A client token has no X-EXTERNAL-ID.
        isConflict: status == 409 && !(code?.hasPrefix("40973") ?? false)))
  }

  /// Identity and capture: `success`, and the first of the `errors`.
  fileprivate init(identity reply: HTTPReply, to call: GoPayCall) {
    let members = reply.jsonObject ?? [:]
    let error = members["errors"]?.arrayValue?.first
    let code = error?["code"]?.gopayCode
    let isRefusal = members["success"] == false || (members["success"] != true && error != nil)
    let status =
      (200..<300).contains(reply.status) && isRefusal ? Self.status(of: code) : reply.status
    self.init(
      status, reply, members["success"] == true ? members["data"]?.objectValue : nil,
      GoPayRefusal(
        error: GPError(identity: code, status, call), status: status, code: code,
        message: error?["cause"]?.gopayText ?? error?["message"]?.gopayText))
  }

  /// What an error in HTTP 200 would have been; 422 for what has no status of its own.
  private static func status(of code: String?) -> Int {
    switch code.flatMap({ Int($0) }) {
    case 1539: 400
    case 1401: 401
    case 1403: 403
    case 1519: 404
    case 1601: 409
    case .some(900..<1000): 500
    case .some, nil: 422
    }
  }

  /// The partner's backend: a `reason` is a failure whatever the status.
  fileprivate init(partner reply: HTTPReply) {
    let members = reply.jsonObject
    var refusal = GoPayRefusal(error: .api, status: reply.status, code: nil, message: nil)
    switch members?["reason"] {
    case .string(let reason):
      refusal.error = .exchangeFailed
      refusal.message = JSONValue.string(reason).gopayText ?? "the exchange failed"
      self = .refused(refusal)
    case nil, .null, .bool, .integer, .number, .array, .object:
      self.init(reply.status, reply, members, refusal)
    }
  }
}

/// A no, in the server's own words.
struct GoPayRefusal: Equatable {
  var error: GPError
  /// Of HTTP, or what the body says in its place; nil where nothing was asked, or of a capture.
  var status: Int?
  /// The server's own: `1519`, `4010700`, `CAMERA`.
  var code: String?
  /// Its sentence, cleaned.
  var message: String?
  /// Whether this `X-EXTERNAL-ID` was used before: what was asked may have been done.
  var isConflict = false

  /// There is no submission yet.
  var isNothingYet: Bool { status == 404 && code == "1519" }

  /// The linking token, the auth code or the capture token is not good.
  var isUnauthorized: Bool { error == .unauthorized }

  /// For people.
  var sentence: String {
    if let message { return message }
    if let code { return "the provider answers \(code)" }
    return status.map { "the provider answers HTTP \($0)" } ?? "the provider does not say why"
  }
}

extension GoPayRefusal {
  /// An account whose token is gone.
  fileprivate init(noToken message: String) {
    self.init(error: .unauthorized, message: message)
  }
}

/// Why a server has not decided.
struct GoPayReplyError: Equatable {
  /// What it comes to when it goes on.
  let error: GPError
  /// A sentence for people.
  let message: String
  /// Its `Retry-After`, where it has one.
  var retryAfter: Duration?
  /// False where it is certain that the server saw nothing.
  let sent: Bool
  /// What it answered, where it did.
  var refusal: GoPayRefusal?
}

extension GoPayReplyError {
  fileprivate init(_ refusal: GoPayRefusal, after: Duration?) {
    self.init(
      error: .api, message: refusal.status.map { "the provider answers HTTP \($0)" } ?? "",
      retryAfter: after, sent: true, refusal: refusal)
  }
}

extension GPError {
  /// SNAP's table; all else it does not like about who asks is a matter of configuration.
  fileprivate init(snap code: String?, _ status: Int) {
    self =
      switch (code, status) {
      case ("4000702", _): .fieldMissing
      case ("4040705", _), ("4040711", _), (_, 409): .exchangeFailed
      case (_, 400), (_, 401): .configuration
      case (_, 403): .notWhitelisted
      default: .api
      }
  }

  fileprivate init(identity code: String?, _ status: Int, _ call: GoPayCall) {
    switch (status, code) {
    case (400, "1539"): self = .fieldMissing
    case (401, _): self = .unauthorized
    case (403, _): self = .notWhitelisted
    case (409, "1601"):
      if case .sessionToken = call { self = .exchangeFailed } else { self = .api }
    default: self = .api
    }
  }
}

extension JSONValue {
  /// A code, as a number or as text; nil where there is nothing to show.
  var gopayCode: String? {
    switch self {
    case .integer(let number): return String(number)
    case .string(let text):
      let code = ProviderText.clean(text, limit: 100)
      return code.isEmpty ? nil : code
    case .null, .bool, .number, .array, .object: return nil
    }
  }

  /// A sentence, cleaned; nil where there is none.
  var gopayText: String? {
    let text = stringValue.map { ProviderText.clean($0) } ?? ""
    return text.isEmpty ? nil : text
  }
}

// Tokens that are not good any more.
extension GoPayCall {
  /// Never, for there is nothing to renew a linking token with: the refusal is the call's outcome, in
  /// the server's own words.
  package func refusesToken(_ reply: HTTPReply) -> Bool { false }

  /// SNAP's case 01 of a 401, or a 401 that has no code. The others are about the signature or the
  /// linking token.
  package func refusesClientToken(_ reply: HTTPReply) -> Bool {
    guard clientToken != nil,
      case .refused(let refusal) = GoPayReply(.reply(reply), to: self), refusal.status == 401
    else { return false }
    return refusal.code.map { ["4010701", "4010901"].contains($0) } ?? true
  }
}
