import JSONRPC
import UsherConfig
import UsherCore

/// The content of a successful reply of GoPay: the member `data` of replies to identity and capture
/// calls, all members of other replies.
///
/// Values that are used in a header, in a URL or on screen have been validated.
struct GoPayData: Equatable {
  let members: [String: JSONValue]

  /// The maximum length of an auth code or a linking token in bytes; a longer one is invalid.
  static let maxTokenBytes = 4096
  /// The maximum length of a capture token in bytes: a JWT in a second layer of Base64.
  static let maxCaptureTokenBytes = 16_384
  /// The maximum length of a submission id in bytes.
  static let maxIDBytes = 256

  /// Reads the auth code from a reply to `auth_code`.
  func authCode() throws(UnusableReply) -> Secret { try token(members["authCode"], "authCode") }

  /// Reads a reply to `session_token` or `temporary_token`. The capture token is not decoded.
  func captureToken() throws(UnusableReply) -> Secret {
    try token(members["token"], "token", limit: Self.maxCaptureTokenBytes)
  }

  /// Reads the linking token from a reply to `binding`.
  func linkingToken() throws(UnusableReply) -> Secret {
    try token(members["accessTokenInfo"]?["accessToken"], "accessToken")
  }

  /// Reads the result of the exchange from the backend's reply to `exchange`.
  func exchanged() throws(UnusableReply) -> GoPayExchanged {
    guard let correlationID = members["userCorrelationId"]?.stringValue else {
      throw UnusableReply("the backend's answer has no userCorrelationId")
    }
    // A `reason` that is not text is neither a failure nor a success, so the reply is unusable.
    guard [nil, .null].contains(members["reason"]) else {
      throw UnusableReply("the backend's reason is not a string")
    }
    let token: Secret? =
      switch members["token"] {
      case nil, .null: nil
      case .some(let value): try self.token(value, "token")
      }
    return GoPayExchanged(correlationID: correlationID, token: token)
  }

  /// Reads the capture page from a reply to `capture`.
  func capturePage() throws(UnusableReply) -> Capture.Page {
    let url = members["url"]?.stringValue.flatMap { url in
      // The fragment is for the browser only and is not validated.
      ProviderURL(usable: String(url.prefix { $0 != "#" })) == nil
        || !url.utf8.allSatisfy(\.isVisible) || url.utf8.count > Self.maxTokenBytes ? nil : url
    }
    guard let url else {
      throw UnusableReply("the capture page's url is neither https nor http on the loopback")
    }
    return Capture.Page(
      submissionID: try submissionID(), url: url,
      expiresAt: members["expiresAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
  }

  /// Reads a reply to `submission`, which must be about the submission with this id.
  func capture(_ id: String) throws(UnusableReply) -> CaptureStatus {
    guard try submissionID() == id else {
      throw UnusableReply("the provider's answer is about another submission")
    }
    switch members["status"]?.stringValue {
    case "CREATED": return .created
    case "SUBMITTED": return .submitted
    case "FAILED":
      let code = members["error"]?.gopayCode
      return .failed(
        GoPayRefusal(
          error: GoPayErrorCode(capture: code), code: code, message: members["message"]?.gopayText))
    case "ERROR":
      let code = members["error"]?.gopayCode ?? members["reasonCode"]?.gopayCode
      return .failed(
        GoPayRefusal(
          error: GoPayErrorCode(ended: code), code: code, message: members["message"]?.gopayText))
    default: throw UnusableReply("the provider does not report the submission's status")
    }
  }

  fileprivate func submissionID() throws(UnusableReply) -> String {
    guard let id = members["submissionId"]?.visibleText(upTo: Self.maxIDBytes) else {
      throw UnusableReply("submissionId is missing or not valid")
    }
    return id
  }

  private func token(
    _ value: JSONValue?, _ name: String, limit: Int = maxTokenBytes
  ) throws(UnusableReply) -> Secret {
    guard let text = value?.stringValue, !text.isEmpty else {
      throw UnusableReply("the provider's answer has no \(name)")
    }
    guard text.utf8.count <= limit, text.utf8.allSatisfy(\.isVisible) else {
      throw UnusableReply(
        "the provider's \(name) is too long or has characters that are not allowed in a token")
    }
    return Secret(text)
  }
}

/// The result of redeeming an auth code, as the partner's backend or the app reports it.
struct GoPayExchanged: Equatable {
  /// The `userCorrelationId` in the report, which may be blank.
  let correlationID: String
  /// The linking token; nil if the report contains none.
  let token: Secret?
}

/// The status of the capture of card and face.
enum CaptureStatus: Equatable {
  case created
  case submitted
  case failed(GoPayRefusal)
}

/// The status of a submission, as GoPay reports it in replies and in its calls to the daemon.
struct KYCStatus: Equatable {
  let submissionID: String
  /// The status; never ``KYCRecord/Status/submitted``, which only the daemon uses.
  let status: KYCRecord.Status
  let result: Result?
  let reasonCode: String?

  enum Result: String, CaseIterable {
    case valid = "VALID"
    case invalid = "INVALID"
  }

  /// Reads the status from a reply or call of GoPay.
  ///
  /// - Throws: A sentence that names the missing or invalid member.
  init(_ data: GoPayData) throws(UnusableReply) {
    let text = data.members["status"]?.stringValue
    guard let status = text.flatMap(KYCRecord.Status.init(rawValue:)), status != .submitted else {
      throw UnusableReply("status is missing or unknown")
    }
    self.status = status
    switch data.members["result"] {
    case nil, .null: result = nil
    case .some(let value):
      guard let text = value.stringValue else { throw UnusableReply("result is not a string") }
      result = Result(rawValue: text)
      // The vendor does not document the result of an unfinished submission.
      if result == nil, status == .completed { throw UnusableReply("result is unknown") }
    }
    reasonCode = data.members["reasonCode"]?.gopayCode
    submissionID = try data.submissionID()
  }
}
