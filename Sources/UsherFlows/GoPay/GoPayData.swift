import JSONRPC
import UsherConfig
import UsherCore

/// What a yes brings: the `data` of identity and capture, the members of the others.
///
/// Whatever of it will stand in a header or a URL or be shown has been checked.
struct GoPayData: Equatable {
  let members: [String: JSONValue]

  /// Bytes of an auth code or a linking token; longer ones are none.
  static let longestToken = 4096
  /// Bytes of a token for the capture, a JWT in Base64 once more.
  static let longestCaptureToken = 16_384
  /// Bytes of a submission's id.
  static let longestID = 256

  /// Of `auth_code`.
  func authCode() throws(UnusableReply) -> Secret {
    try token(members["authCode"], "authCode")
  }

  /// Of `session_token` and `temporary_token`: passed on as it is.
  func captureToken() throws(UnusableReply) -> Secret {
    try token(members["token"], "token", limit: Self.longestCaptureToken)
  }

  /// Of `binding`.
  func linkingToken() throws(UnusableReply) -> Secret {
    try token(members["accessTokenInfo"]?["accessToken"], "accessToken")
  }

  /// Of `exchange`.
  func exchanged() throws(UnusableReply) -> GoPayExchanged {
    guard let correlationID = members["userCorrelationId"]?.stringValue else {
      throw UnusableReply("the backend's answer has no userCorrelationId")
    }
    // Something else than a text in its place is no reason, and no success either.
    guard [nil, .null].contains(members["reason"]) else {
      throw UnusableReply("the backend's reason is not a text")
    }
    let token: Secret? =
      switch members["token"] {
      case nil, .null: nil
      case .some(let value): try self.token(value, "token")
      }
    return GoPayExchanged(correlationID: correlationID, token: token)
  }

  /// Of `capture`.
  func capturePage() throws(UnusableReply) -> CapturePage {
    let url = members["url"]?.stringValue.flatMap { url in
      // What stands behind a `#` is the browser's own.
      ProviderURL(usable: String(url.prefix { $0 != "#" })) == nil
        || !url.utf8.allSatisfy(\.isVisible) || url.utf8.count > Self.longestToken ? nil : url
    }
    guard let url else {
      throw UnusableReply("the capture page's url is not https, or http on the loopback")
    }
    return CapturePage(
      submissionID: try submissionID(), url: url,
      expiresAt: members["expiresAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
  }

  /// Of `submission`.
  func capture(_ id: String) throws(UnusableReply) -> CaptureStanding {
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
          error: GPError(capture: code), code: code, message: members["message"]?.gopayText))
    default: throw UnusableReply("the provider does not say how the submission stands")
    }
  }

  fileprivate func submissionID() throws(UnusableReply) -> String {
    guard let id = members["submissionId"]?.stringValue,
      (1...Self.longestID).contains(id.utf8.count), id.utf8.allSatisfy(\.isVisible)
    else { throw UnusableReply("submissionId is missing or no id") }
    return id
  }

  private func token(
    _ value: JSONValue?, _ name: String, limit: Int = longestToken
  ) throws(UnusableReply) -> Secret {
    guard let text = value?.stringValue, !text.isEmpty else {
      throw UnusableReply("the provider's answer has no \(name)")
    }
    guard text.utf8.count <= limit, text.utf8.allSatisfy(\.isVisible) else {
      throw UnusableReply("the provider's \(name) has characters that no token has, or too many")
    }
    return Secret(text)
  }
}

/// What the partner's backend, or the app, made of an auth code.
struct GoPayExchanged: Equatable {
  /// As it was written; it is compared with the request's.
  let correlationID: String
  /// The linking token.
  let token: Secret?
}

/// Where the person photographs card and face.
struct CapturePage: Equatable {
  let submissionID: String
  /// `https`, or `http` on the loopback.
  let url: String
  let expiresAt: Timestamp?
}

/// How a capture stands.
enum CaptureStanding: Equatable {
  case created
  case submitted
  case failed(GoPayRefusal)
}

/// How a submission stands, as the provider says it when it is asked and when it calls.
struct KYCStanding: Equatable {
  let submissionID: String
  let status: Status
  let result: Result?
  let reasonCode: String?

  enum Status: String, CaseIterable {
    case initiated = "INITIATED"
    case inProgress = "IN_PROGRESS"
    case completed = "COMPLETED"
    case error = "ERROR"
  }

  enum Result: String, CaseIterable {
    case valid = "VALID"
    case invalid = "INVALID"
  }

  /// - Throws: A sentence that names the member that is missing or wrong.
  init(_ data: GoPayData) throws(UnusableReply) {
    guard let status = data.members["status"]?.stringValue.flatMap(Status.init(rawValue:)) else {
      throw UnusableReply("status is missing or unknown")
    }
    self.status = status
    switch data.members["result"] {
    case nil, .null: result = nil
    case .some(let value):
      guard let text = value.stringValue else { throw UnusableReply("result is no text") }
      result = Result(rawValue: text)
      // Of a submission that is under way the vendor does not say what it may be.
      if result == nil, status == .completed { throw UnusableReply("result is unknown") }
    }
    reasonCode = data.members["reasonCode"]?.gopayCode
    submissionID = try data.submissionID()
  }
}
