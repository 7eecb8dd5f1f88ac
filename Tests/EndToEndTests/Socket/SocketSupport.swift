import Foundation
import JSONRPC
import UsherTestKit

/// A provider with configured endpoints and no server: a flow reaches the browser step and stays
/// there.
enum SilentProvider {
  static let config = """
    [[provider]]
    name = "silent"
    type = "oidc"
    issuer = "http://127.0.0.1:1/oidc"
    client_id = "usher"

    [provider.endpoints]
    authorization = "http://127.0.0.1:1/authorize"
    token = "http://127.0.0.1:1/token"
    jwks = "http://127.0.0.1:1/jwks"

    """

  static let start: JSONValue = [
    "provider": "silent", "kind": "authorize", "params": [:],
  ]
}

/// The limit on open files of this process.
enum OpenFiles {
  /// Raises the soft limit of this process, which its children inherit, to `count` or the hard
  /// limit.
  static func allow(_ count: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < count else { return }
    limit.rlim_cur = min(count, limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

extension RawClient {
  /// Sends a line and returns the next line that arrives; a closed connection is an error.
  func answer(to line: String, within seconds: Double = 60) throws -> JSONValue {
    try send(line)
    return try next(within: seconds)
  }

  func next(within seconds: Double = 60) throws -> JSONValue {
    guard let message = try receive(within: seconds) else {
      throw TestError("the daemon closed the connection")
    }
    return message
  }

  /// Sends a call without waiting for its reply.
  func begin(_ id: JSONValue, _ method: String, _ params: JSONValue? = nil) throws {
    var request: JSONValue = ["jsonrpc": "2.0", "id": id, "method": .string(method)]
    request["params"] = params
    try send(request.text)
  }

  /// Sends a notification.
  func tell(_ method: String, _ params: JSONValue? = nil) throws {
    var request: JSONValue = ["jsonrpc": "2.0", "method": .string(method)]
    request["params"] = params
    try send(request.text)
  }

  /// Starts a flow that stays at the browser step.
  func startSilentFlow() throws -> JSONValue { try startFlow("silent") }

  /// Sends a `flow.wait` that stays in flight until its time-out or `rpc.cancel`.
  func beginWaiting(_ id: JSONValue, for flow: JSONValue, milliseconds: Int64 = 60_000) throws {
    try begin(
      id, "flow.wait",
      ["flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": .integer(milliseconds)])
  }

  /// Sends a `flow.wait` that stays in flight until the flow changes.
  func beginWaitingForChange(_ id: JSONValue, of flow: JSONValue) throws {
    try begin(
      id, "flow.wait",
      ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 60_000])
  }

  /// Whether the connection ends before another line arrives.
  func isClosed(within seconds: Double = 60) throws -> Bool { try receive(within: seconds) == nil }
}

extension JSONValue {
  // Members of a reply's error.
  var replyCode: Int64? { self["error"]?["code"]?.integerValue }
  var replyReason: String? { self["error"]?["data"]?["reason"]?.stringValue }
  var replyField: String? { self["error"]?["data"]?["field"]?.stringValue }
  var replyLimit: String? { self["error"]?["data"]?["limit"]?.stringValue }
}
