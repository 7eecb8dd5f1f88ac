/// Replies and errors in the daemon's JSON.
enum Sample {
  static let token = #"""
    {"accessToken":"at-1","tokenType":"Bearer","expiresAt":"2030-01-01T00:00:00Z",\#
    "scope":"openid","account":"acc_1"}
    """#

  static let status = #"""
    {"version":"0","uptimeSeconds":1,"ready":true,"providers":[],"flows":0,"connections":1}
    """#

  static func flow(
    _ revision: Int, _ status: String = "active", step: String = "null", result: String = "null"
  ) -> String {
    #"""
    {"flow":{"id":"flw_1","provider":"work","kind":"authorize","status":"\#(status)",\#
    "state":"s\#(revision)","revision":\#(revision),"step":\#(step),"problem":null,\#
    "result":\#(result),"failure":null,"createdAt":"2030-01-01T00:00:00Z",\#
    "updatedAt":"2030-01-01T00:00:00Z","expiresAt":"2030-01-01T00:10:00Z"}}
    """#
  }

  /// A reply to `flow.wait`.
  static func waited(
    _ revision: Int, _ status: String = "active", step: String = "null", result: String = "null"
  ) -> String {
    flow(revision, status, step: step, result: result).dropLast() + #","transitions":[]}"#
  }

  static let openURL = #"""
    {"type":"openURL","url":"https://id.example/a","redirectURI":"http://127.0.0.1:1/c",\#
    "completes":"loopback"}
    """#

  static func error(
    _ code: Int, _ reason: String, _ message: String, more: String = ""
  ) -> String {
    #"""
    {"code":\#(code),"message":"\#(message)","data":{"reason":"\#(reason)","retryable":false,\#
    "correlationId":"cor_1"\#(more)}}
    """#
  }
}
