import JSONRPC
import UsherTestKit

/// A state of a flow of a ``ScriptedDaemon``. The members other than `state` and `status` are JSON.
protocol FlowSnapshot: Sendable {
  var state: String { get }
  var status: String { get }
  var step: String { get set }
  var problem: String { get }
  var result: String { get set }
  var failure: String { get }

  /// The state of a flow after `flow.cancel`.
  static var cancelled: Self { get }

  /// Returns the key of a flow; nil if flows of its kind have no key.
  ///
  /// - Parameter start: The parameters of `flow.start`.
  static func key(of start: JSONValue) -> String?

  /// Configures an SDK that is global to the process for the daemon at this path.
  static func configure(socketPath: String)
}

extension FlowSnapshot {
  static func key(of start: JSONValue) -> String? { nil }

  static func configure(socketPath: String) {}

  /// Returns the flow in this state as JSON.
  ///
  /// - Parameter start: The parameters of `flow.start`.
  func flow(_ id: String, _ revision: Int, of start: JSONValue = [:]) -> String {
    let provider = (start["provider"] ?? "demo").text
    let kind = (start["kind"] ?? "demo").text
    let requestID = (start["requestId"] ?? .null).text
    let key = Self.key(of: start).map { #""key":"\#($0)","# } ?? ""
    return #"""
      {"id":"\#(id)","provider":\#(provider),"kind":\#(kind),\#(key)"status":"\#(status)",\#
      "state":"\#(state)","revision":\#(revision),"step":\#(step),"problem":\#(problem),\#
      "result":\#(result),"failure":\#(failure),"requestId":\#(requestID),\#
      "createdAt":"2030-01-01T00:00:00Z","updatedAt":"2030-01-01T00:00:00Z",\#
      "expiresAt":"2030-01-01T00:10:00Z"}
      """#
  }
}
