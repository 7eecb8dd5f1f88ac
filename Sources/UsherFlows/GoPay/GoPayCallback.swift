import JSONRPC
import UsherConfig
import UsherCore

/// The form of the call by which GoPay reports the verdict on a submission (provider contract §3.4;
/// page GoPay in Usher.docc).
struct GoPayCallback: CallbackDialect {
  let address: LoopbackAddress
  let path: String
  let credentialName: String?

  var method: HTTPRequest.Method { .put }

  /// Creates the dialect; nil if no callback listener is configured.
  init?(_ settings: GoPaySettings) {
    guard let address = settings.callbackListen else { return nil }
    self.address = address
    path = settings.paths.callback.text
    credentialName = settings.callbackCredential
  }

  /// The members of GoPay's JSON body that the daemon keeps. It drops all others, which may be
  /// personal data.
  private static let members: Set = [
    "submissionId", "partnerSessionId", "status", "result", "reasonCode",
  ]

  /// Reads GoPay's request. `partnerSessionId` is the `requestId` as it is or as the header
  /// `x-partner-session-id` had it, because GoPay does not document whether it decodes the header.
  /// A missing `Authorization` header is read as an empty one, which equals
  /// neither a user's linking token nor the callback credential.
  func read(authorization: Secret?, body: [UInt8]) throws(CallbackRefusal) -> ProviderCallback {
    guard let all = (try? JSONValue(parsing: body))?.objectValue else {
      throw CallbackRefusal("the body is not a JSON object")
    }
    let members = all.filter { Self.members.contains($0.key) }
    guard let requestID = members["partnerSessionId"]?.stringValue, !requestID.isEmpty else {
      throw CallbackRefusal("partnerSessionId is missing or not a string")
    }
    try Self.check(members)
    return ProviderCallback(
      requestID: HeaderEncoding.decode(requestID), authorization: authorization ?? Secret(""),
      members: members)
  }

  private static func check(_ members: [String: JSONValue]) throws(CallbackRefusal) {
    let reported: KYCStatus
    do throws(UnusableReply) {
      reported = try KYCStatus(GoPayData(members: members))
    } catch {
      throw CallbackRefusal(error.message)
    }
    switch members["reasonCode"] {
    case nil, .null, .string, .integer: break
    case .bool, .number, .array, .object:
      throw CallbackRefusal("reasonCode is neither a string nor an integer")
    }
    switch reported.status {
    case .submitted, .initiated, .inProgress:
      throw CallbackRefusal("status is neither COMPLETED nor ERROR")
    case .completed:
      if reported.result == nil {
        throw CallbackRefusal("result is missing, but status is COMPLETED")
      }
    case .error: break
    }
  }

  func callKey(of callback: ProviderCallback) -> String { callback.requestID ?? "" }

  func answer(_ outcome: CallbackOutcome) -> HTTPReply {
    switch outcome {
    case .accepted: .json(200, ["success": true])
    case .unreadable(let refusal): Self.refusal(400, 1500, refusal.message)
    case .unauthorized: Self.refusal(401, 1401, "authorization is not accepted")
    case .unknown: Self.refusal(404, 1519, "partnerSessionId is unknown")
    case .conflict: Self.refusal(409, 1409, "submissionId does not match")
    case .otherPath: Self.refusal(404, 1404, "there is nothing at this path")
    case .otherMethod: Self.refusal(405, 1405, "the method is not PUT", ["allow": "PUT"])
    case .tooLarge: Self.refusal(413, 1413, "the body is too large")
    case .unavailable: Self.refusal(503, 1503, "the call could not be processed: send it again")
    }
  }

  private static func refusal(
    _ status: Int, _ code: Int64, _ cause: String, _ headers: [String: String] = [:]
  ) -> HTTPReply {
    let error: JSONValue = ["code": .integer(code), "entity": "USHERD", "cause": .string(cause)]
    return .json(status, ["success": false, "errors": [error]], headers)
  }
}
