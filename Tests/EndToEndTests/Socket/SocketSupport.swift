import Foundation
import JSONRPC
import UsherTestKit

/// A provider whose pages the configuration names: a flow reaches the browser's step, and stays
/// there, without a server anywhere.
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

/// How many files may be open.
enum OpenFiles {
  /// Lets this process, and what it starts, have that many where the system allows.
  static func allow(_ count: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < count else { return }
    limit.rlim_cur = min(count, limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

extension RawClient {
  /// The line that comes after `line` was sent; a closed connection is an error.
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

  /// Sends a call, and leaves its reply to come.
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

  /// A flow that stays at the browser's step.
  func startSilentFlow() throws -> JSONValue { try startFlow("silent") }

  /// Leaves a call in flight that only its time-out or a cancel ends.
  func beginWaiting(_ id: JSONValue, for flow: JSONValue, milliseconds: Int64 = 60_000) throws {
    try begin(
      id, "flow.wait",
      ["flow": flow["id"] ?? .null, "revision": 1_000_000, "timeoutMs": .integer(milliseconds)])
  }

  /// Whether the next thing that happens is the end of the connection.
  func isClosed(within seconds: Double = 60) throws -> Bool { try receive(within: seconds) == nil }
}

extension MovableClock {
  /// Waits until a call has so long to wait, and lets that time pass. For a clock that is stopped.
  func endWait(ofSeconds seconds: Int64) throws {
    try eventually("a call waits") { hasTimer(in: .seconds(seconds)) }
    try advance(by: seconds)
  }
}

extension JSONValue {
  // Of a reply.
  var replyCode: Int64? { self["error"]?["code"]?.integerValue }
  var replyReason: String? { self["error"]?["data"]?["reason"]?.stringValue }
  var replyField: String? { self["error"]?["data"]?["field"]?.stringValue }
  var replyLimit: String? { self["error"]?["data"]?["limit"]?.stringValue }
}
