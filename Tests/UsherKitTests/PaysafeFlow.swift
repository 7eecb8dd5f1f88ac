import JSONRPC

/// Replies of the daemon about flows of a Paysafe provider (documentation page Paysafe).
enum PaysafeFlow {
  static let none = #"{"flows":[]}"#

  /// The result of an SCA flow whose event is verified.
  static let verified = #"{"status":"VERIFIED"}"#

  /// Returns a reply to `flow.list`, which contains no steps and no results.
  static func list(_ kind: String, _ ids: String...) -> String {
    let flows = ids.map { body(kind, $0, 2, "active", "s", step: "null") }
    return #"{"flows":[\#(flows.joined(separator: ","))]}"#
  }

  /// Returns a reply to `flow.start`, `flow.get` or `flow.submit`.
  static func snapshot(
    _ kind: String, _ revision: Int, _ state: String, id: String = "flw_1",
    step: String = wait, problem: String = "null"
  ) -> String {
    #"{"flow":\#(body(kind, id, revision, "active", state, step: step, problem: problem))}"#
  }

  static func succeeded(
    _ kind: String, _ revision: Int, id: String = "flw_1", result: String
  ) -> String {
    #"{"flow":\#(body(kind, id, revision, "succeeded", "s", step: "null", result: result))}"#
  }

  static func failed(
    _ kind: String, _ revision: Int, id: String = "flw_1", status: String = "failed",
    failure: String
  ) -> String {
    #"{"flow":\#(body(kind, id, revision, status, "s", step: "null", failure: failure))}"#
  }

  static func cancelled(_ kind: String, _ revision: Int) -> String {
    failed(kind, revision, status: "cancelled", failure: failure("cancelled"))
  }

  /// Returns the reply to `flow.wait` with the flow of another reply.
  static func waited(_ reply: String) -> String { reply.dropLast() + #","transitions":[]}"# }

  private static func body(
    _ kind: String, _ id: String, _ revision: Int, _ status: String, _ state: String, step: String,
    problem: String = "null", result: String = "null", failure: String = "null"
  ) -> String {
    #"""
    {"id":"\#(id)","provider":"paysafe","kind":"\#(kind)","status":"\#(status)",\#
    "state":"\#(state)","revision":\#(revision),"step":\#(step),"problem":\#(problem),\#
    "result":\#(result),"failure":\#(failure),"requestId":"req-\#(id)",\#
    "createdAt":"2030-01-01T00:00:00Z","updatedAt":"2030-01-01T00:00:00Z",\#
    "expiresAt":"2030-01-01T00:10:00Z"}
    """#
  }
}

// Steps.
extension PaysafeFlow {
  static let wait = #"{"type":"wait","for":"the provider"}"#

  static let page = #"""
    {"type":"openURL","url":"https://wallet.example/authorize?state=random-string",\#
    "redirectURI":"http://www.partner.com/wallet/dashboard","completes":"submit"}
    """#

  static func exchange(_ requestID: String = "req-flw_1") -> String {
    #"""
    {"type":"exchangeCredential","credential":{"type":"authCode","code":"code-1"},\#
    "redirectURI":"http://www.partner.com/wallet/dashboard","requestId":"\#(requestID)",\#
    "deadline":"2030-01-01T00:01:00Z"}
    """#
  }

  static func enterCode(
    _ channel: String = "sms", attemptsLeft: Int = 3, alternative: String? = nil,
    operationID: String = "w"
  ) -> String {
    let others = alternative.map { #","alternatives":[{"id":"\#($0)","label":"another"}]"# } ?? ""
    return #"""
      {"type":"enterCode","purpose":"sca","channel":"\#(channel)","maskedTarget":"+44 ••• 123",\#
      "digits":6,"expiresAt":"2030-01-01T00:05:00Z","resendAt":"2030-01-01T00:00:30Z",\#
      "attemptsLeft":\#(attemptsLeft),"alsoAsk":[],"operationId":"\#(operationID)"\#(others)}
      """#
  }

  static let enterPassword = #"""
    {"type":"enterPassword","purpose":"pin","attemptsLeft":2,"operationId":"w"}
    """#

  static let redirectPage = #"""
    {"type":"openURL","url":"https://wallet.example/redirect/1",\#
    "redirectURI":"https://www.partner.com/sca","completes":"poll"}
    """#

  /// Returns the step that waits for the page of a verification, such as `PIN.REDIRECT`.
  static func page(of option: String) -> String {
    redirectPage.replacing(#""completes""#, with: #""option":"\#(option)","completes""#)
  }

  /// Returns the step that waits for the device's answer to a verification.
  static func push(of option: String) -> String {
    wait.replacing("{", with: #"{"option":"\#(option)","#)
  }

  static let choose = #"""
    {"type":"choose","what":"verification","options":[{"id":"OTP.SMS","label":"SMS"},\#
    {"id":"PIN","label":"PIN"}]}
    """#

  static func problem(_ reason: String, more: String = "") -> String {
    #"{"reason":"\#(reason)","title":"t","message":"what went wrong"\#(more)}"#
  }

  static func failure(_ reason: String, code: String? = nil, message: String? = nil) -> String {
    let said = message.map { #","message":"\#($0)""# } ?? ""
    let provider = code.map { #","provider":{"name":"paysafe","code":"\#($0)"\#(said)}"# } ?? ""
    return #"""
      {"reason":"\#(reason)","title":"t","message":"why it failed","retryable":false\#(provider)}
      """#
  }

  static func error(_ reason: String, field: String? = nil) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)}}
      """#
  }
}

// Calls.
extension PaysafeFlow {
  static let authorizeFlows: JSONValue = [
    "provider": "paysafe", "kind": "authorize", "status": "active",
  ]

  static func scaFlows(_ event: String) -> JSONValue {
    ["provider": "paysafe", "kind": "sca", "key": .string(event), "status": "active"]
  }

  /// The search for the flows of any status about the SCA event `e`.
  static let anyFlows: JSONValue = ["provider": "paysafe", "kind": "sca", "key": "e"]

  static func flow(_ id: String = "flw_1") -> JSONValue { ["flow": .string(id)] }

  static func change(after revision: Int, of id: String = "flw_1") -> JSONValue {
    ["flow": .string(id), "revision": .integer(Int64(revision)), "timeoutMs": 30000]
  }

  static func answer(
    _ input: JSONValue, at revision: Int, of id: String = "flw_1"
  ) -> JSONValue {
    ["flow": .string(id), "revision": .integer(Int64(revision)), "input": input]
  }

  static func start(_ kind: String, _ params: JSONValue) -> JSONValue {
    ["provider": "paysafe", "kind": .string(kind), "params": params]
  }
}
