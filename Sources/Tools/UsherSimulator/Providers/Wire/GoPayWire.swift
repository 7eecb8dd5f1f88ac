import JSONRPC

/// GoPay at `/gopay`.
struct GoPayWire: ProviderWire {
  let prefix = "/gopay"

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    let code = request["authCode"] ?? ""
    return switch request.segments.last {
    case "registration-account-binding":
      SingleRequest(
        name: "binding with the code \(code)", idempotencyKey: request.headers["x-external-id"])
    case "exchange":
      SingleRequest(
        name: "exchange of the code \(code)", idempotencyKey: request["requestId"])
    default: nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    // The person who logged in recorded the code.
    if let token = reply["accessTokenInfo"]?["accessToken"]?.stringValue {
      provided.record(token, owner: provided.owner(of: request["authCode"] ?? ""))
    }
    if request.segments.last == "exchange", let token = reply["token"]?.stringValue {
      provided.record(token, owner: provided.owner(of: request["authCode"] ?? ""))
    }
    if let code = reply["data"]?["authCode"]?.stringValue {
      provided.record(code, owner: SandboxAccount.owner(request.headers["authorization"] ?? ""))
    }
    if let submission = reply["data"]?["submissionId"]?.stringValue {
      let session = request.headers["x-partner-session-id"] ?? request.headers["request-id"]
      provided.record(submission, owner: SandboxAccount.owner(session ?? ""))
    }
  }
}
