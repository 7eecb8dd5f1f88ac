import Foundation
package import JSONRPC

extension RawClient {
  /// Starts a flow and returns it at its first step other than `wait`.
  package func startFlow(
    _ provider: String = "demo", _ kind: String = "authorize", params: JSONValue = [:]
  ) throws -> JSONValue {
    let result = try call(
      "flow.start",
      ["provider": .string(provider), "kind": .string(kind), "params": params, "waitMs": 60_000],
      within: 120)
    return try flow(in: result)
  }

  /// Waits until a flow has ended.
  package func finished(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    let deadline = TestDeadline()
    while flow["status"] == "active" {
      guard !deadline.isOver else {
        let text = String(decoding: flow.encoded(), as: UTF8.self)
        throw TestError("the flow has not ended in time: \(text)")
      }
      let result = try call(
        "flow.wait",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
          "timeoutMs": 30_000,
        ])
      flow = try self.flow(in: result)
    }
    return flow
  }

  /// Waits until a flow has ended; moves the clock ahead by a second between polls.
  package func finished(_ flow: JSONValue, moving clock: MovableClock) throws -> JSONValue {
    var flow = flow
    try eventually("the flow ends", moving: clock) {
      flow = try self.flow(in: call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["status"] != "active"
    }
    return flow
  }

  /// Signs a user in at the sandbox, from `flow.start` to the finished flow.
  @discardableResult
  package func signIn(_ provider: String = "demo", user: String = "alice") throws -> JSONValue {
    let flow = try startFlow(provider)
    guard let url = flow["step"]?["url"]?.stringValue else {
      throw TestError(
        "the flow has no page to open: \(String(decoding: flow.encoded(), as: UTF8.self))")
    }
    try Person.signIn(at: url, user: user)
    let end = try finished(flow)
    guard end["status"] == "succeeded" else {
      throw TestError(
        "the sign-in did not succeed: \(String(decoding: end.encoded(), as: UTF8.self))")
    }
    return end
  }

  package func flow(in result: JSONValue) throws -> JSONValue {
    guard let flow = result["flow"] else { throw TestError("the result has no flow") }
    return flow
  }
}
