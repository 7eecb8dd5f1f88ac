import JSONRPC

/// GoPay at `/gopay`.
struct GoPayWire: ProviderWire {
  let prefix = "/gopay"

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    guard request.path.hasSuffix("/registration-account-binding") else { return nil }
    let code = request["authCode"] ?? ""
    return SingleRequest(
      name: "binding with the code \(code)", idempotencyKey: request.headers["x-external-id"])
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    // The person who logged in recorded the code.
    if let token = reply["accessTokenInfo"]?["accessToken"]?.stringValue {
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
