import JSONRPC

/// The outcome of a call to GoPay, SNAP or the partner's backend (page GoPay in Usher.docc).
typealias GoPayReply = ProviderReply<GoPayData, GoPayRefusal, String>
typealias GoPayReplyError = ReplyError<GoPayRefusal>

extension GoPayReply {
  init(_ outcome: CallOutcome, to call: GoPayCall) {
    if case .noToken(let message) = outcome {
      self = .refused(GoPayRefusal(error: .unauthorized, message: message))
      return
    }
    self.init(outcome) { reply in
      switch call {
      case .binding, .unbinding: Self(snap: reply)
      case .exchange: Self(partner: reply)
      case .authCode, .sessionToken, .temporaryToken, .capture, .submission, .currentSubmission:
        Self(identity: reply, to: call)
      }
    }
  }

  /// Creates the outcome for a reply.
  ///
  /// - Parameters:
  ///   - status: The status that decides: that of HTTP, or the one in the body instead.
  ///   - data: The content of a successful reply; nil if the body cannot be read.
  private init(
    _ status: Int, _ reply: HTTPReply, _ data: [String: JSONValue]?, _ refusal: GoPayRefusal
  ) {
    switch status {
    case 200..<300:
      self =
        data.map { .success(GoPayData(members: $0)) }
        ?? .unreadable("the provider's answer is not the JSON object it should be")
    case 408, 425, 429, 500..<600:
      let message = refusal.status.map { "the provider answers HTTP \($0)" } ?? ""
      self = .failed(
        ReplyError(
          message: message, mayHaveTakenEffect: true, retryAfter: reply.retryAfter,
          refusal: refusal))
    case 400..<500: self = .refused(refusal)
    default: self = .unreadable("the provider answers HTTP \(status)")
    }
  }
}

// Each of the three kinds of server has its own format for refusals.
extension GoPayReply {
  /// Reads a reply of SNAP: the first three digits of `responseCode` are a status.
  fileprivate init(snap reply: HTTPReply) {
    let members = reply.jsonObject
    let code = members?["responseCode"]?.gopayCode
    let stated = code.flatMap { $0.utf8.count == 7 ? Int($0.prefix(3)) : nil }
    // A success code in the body does not override an error status of HTTP.
    let status = (200..<300).contains(stated ?? 200) ? reply.status : stated ?? reply.status
    let message = members?["responseMessage"]?.gopayText
    self.init(
      status, reply, members,
      GoPayRefusal(
        error: GoPayErrorCode(snap: code, status), status: status, code: code, message: message,
        // Codes that begin with 40973 concern the client token, whose request has no X-EXTERNAL-ID.
        isConflict: status == 409 && !(code?.hasPrefix("40973") ?? false)))
  }

  /// Reads a reply to an identity or capture call: `success`, and the first of the `errors`.
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
        error: GoPayErrorCode(identity: code, status, call), status: status, code: code,
        message: error?["cause"]?.gopayText ?? error?["message"]?.gopayText))
  }

  /// Returns the HTTP status that an error code in a reply with HTTP 200 means; 422 for an unknown
  /// code.
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

  /// Reads a reply of the partner's backend. A reply with a `reason` is a failure, whatever the
  /// HTTP status.
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

/// A refusal by GoPay or the partner's backend, with its own code and sentence.
struct GoPayRefusal: Equatable {
  var error: GoPayErrorCode
  /// The status of HTTP, or the one in the body instead. Nil if no call was made, and for a failed
  /// capture.
  var status: Int?
  /// The server's own code, such as `1519`, `4010700` or `CAMERA`.
  var code: String?
  /// The server's sentence, cleaned for display.
  var message: String?
  /// Whether the server says that the `X-EXTERNAL-ID` was used before, so an earlier attempt may
  /// have succeeded.
  var isConflict = false

  /// Whether the server says that the user has no submission yet.
  var isPending: Bool { status == 404 && code == "1519" }

  /// Whether the server says that the linking token, the auth code or the capture token is invalid.
  var isUnauthorized: Bool { error == .unauthorized }

  /// The refusal as a sentence for users.
  var sentence: String {
    if let message { return message }
    if let code { return "the provider answers \(code)" }
    return status.map { "the provider answers HTTP \($0)" } ?? "the provider does not say why"
  }
}

extension GoPayReplyError {
  /// The error of a flow whose last attempt has failed.
  var error: GoPayErrorCode { refusal == nil ? .connection : .api }
}

extension GoPayErrorCode {
  /// Returns the error for a SNAP response code. Any rejection of the client that has no code of
  /// its own counts as a configuration error.
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
  /// The value as a code for display, if it is a number or text; nil for anything else.
  var gopayCode: String? { ProviderText.shown(codeText, limit: 100) }

  /// The text cleaned for display; nil if there is none.
  var gopayText: String? { ProviderText.shown(stringValue) }
}

// Which replies mean that the token of the call is invalid.
extension GoPayCall {
  /// Returns false, because a linking token cannot be refreshed: a refusal becomes the call's
  /// outcome.
  package func refusesToken(_ reply: HTTPReply) -> Bool { false }

  /// Returns whether the reply refuses SNAP's client token: a 401 with case 01 or without a code.
  /// The other cases concern the signature or the linking token.
  package func refusesClientToken(_ reply: HTTPReply) -> Bool {
    guard clientToken != nil,
      case .refused(let refusal) = GoPayReply(.reply(reply), to: self), refusal.status == 401
    else { return false }
    return refusal.code.map { ["4010701", "4010901"].contains($0) } ?? true
  }
}
