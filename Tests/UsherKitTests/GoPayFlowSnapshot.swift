typealias GoPayDaemon = ScriptedDaemon<GoPayFlowSnapshot>

/// A state of a `verify` flow (documentation page GoPay).
struct GoPayFlowSnapshot: FlowSnapshot {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the provider"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  static let preparing = GoPayFlowSnapshot(state: "preparing")
  static let authCode = GoPayFlowSnapshot(state: "authCode")
  static let exchanged = GoPayFlowSnapshot(state: "kyc")
  static let submitted = succeeded(metadata: #"{"status":"SUBMITTED"}"#)
  static let capture = page("https://capture.example/1", completes: "poll", state: "kyc")
  static let logIn = page("https://snap.example/get-auth-code?state=1")

  static func page(
    _ url: String, completes: String = "loopback", state: String = "login",
    problem: String? = nil
  ) -> GoPayFlowSnapshot {
    GoPayFlowSnapshot(
      state: state,
      step: #"""
        {"type":"openURL","url":"\#(url)","redirectURI":"http://127.0.0.1:8767/callback",\#
        "completes":"\#(completes)"}
        """#,
      problem: Self.problem(problem))
  }

  /// Returns a state that waits for the exchange of a code.
  static func asking(_ code: String = "code-1", problem: String? = nil) -> GoPayFlowSnapshot {
    GoPayFlowSnapshot(
      state: "waitAck",
      step: #"""
        {"type":"exchangeCredential","credential":{"type":"authCode","code":"\#(code)"},\#
        "requestId":"req-1","deadline":"2030-01-01T00:01:00Z"}
        """#,
      problem: Self.problem(problem))
  }

  static func succeeded(metadata: String) -> GoPayFlowSnapshot {
    GoPayFlowSnapshot(
      state: "submitted", status: "succeeded", step: "null",
      result: #"{"submissionId":"sub-1","account":"acc_1","metadata":\#(metadata)}"#)
  }

  static func failed(
    _ reason: String, _ code: Int, message: String = "why it failed", status: String = "failed"
  ) -> GoPayFlowSnapshot {
    GoPayFlowSnapshot(
      state: "waitAck", status: status, step: "null",
      failure: #"""
        {"reason":"\#(reason)","title":"t","message":"\#(message)","retryable":false,\#
        "provider":{"name":"gopay","code":"GPE-\#(code)"}}
        """#)
  }

  static let cancelled = failed("cancelled", 2207, status: "cancelled")

  private static func problem(_ reason: String?) -> String {
    reason.map { #"{"reason":"\#($0)","title":"t","message":"what went wrong"}"# } ?? "null"
  }
}
