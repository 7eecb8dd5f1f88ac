import Foundation
package import JSONRPC

/// A flow as seen by a program that continues after the daemon has died.
package final class FlowStory<Fixture: ProviderFixture> {
  private let start: JSONValue
  /// The latest state of the flow that the daemon reported.
  package private(set) var told: JSONValue?

  /// - Parameter start: The parameters of `flow.start`, with a request id.
  package init(_ start: JSONValue) { self.start = start }

  /// Continues the flow from its present state until it ends.
  ///
  /// - Parameter act: Performs the step as a person or an app; returns nil to wait.
  package func run(_ fixture: Fixture, _ act: (JSONValue) throws -> JSONValue?) throws -> JSONValue
  {
    var flow = try begin(fixture)
    let deadline = TestDeadline(within: 120)
    while true {
      try hear(flow)
      guard flow["status"] == "active" else { return flow }
      guard !deadline.isOver else { throw TestError("the flow did not end: \(flow.text)") }
      let wait: JSONValue = [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 4000,
      ]
      flow = try act(flow) ?? fixture.app.flow(in: fixture.app.call("flow.wait", wait))
    }
  }

  /// Starts the flow. If an earlier start succeeded without a reply, finds the flow by its request
  /// id.
  private func begin(_ fixture: Fixture) throws -> JSONValue {
    let reply = try fixture.app.reply(to: "flow.start", start)
    if let flow = reply["result"]?["flow"] { return flow }
    guard reply["error"]?["data"]?["reason"] == "request_id_reused" else {
      throw TestError("flow.start failed: \(reply.text)")
    }
    return try fixture.flow(["id": reply["error"]?["data"]?["flow"] ?? .null])
  }

  private func hear(_ flow: JSONValue) throws {
    if let told {
      let before = told["revision"]?.integerValue ?? 0
      let now = flow["revision"]?.integerValue ?? -1
      guard told["id"] == flow["id"], now >= before, now > before || told["state"] == flow["state"]
      else { throw TestError("a reported state was lost: \(told.text), now \(flow.text)") }
    }
    told = flow
  }
}

/// The points at which a daemon dies: before and after a commit, and before the effects of a
/// commit.
package let failPoints = ["store.before-commit", "store.after-commit", "flow.before-effects"]

/// The points at which a daemon dies during a call to a provider: before the request is sent, and
/// after the reply has arrived.
package let callFailPoints = ["call.before-send", "call.after-reply"]

extension ProviderFixture {
  /// Runs stories in which the daemon dies at its first, second, … pass of a fail point, until the
  /// daemon survives a story. After each death, the story continues with a new daemon.
  ///
  /// - Parameter story: Creates a story; its argument is the number of the pass that is fatal.
  /// - Returns: The number of deaths.
  package func deaths(at point: String, _ story: (Int) throws -> (Self) throws -> Void) throws
    -> Int
  {
    for number in 1..<30 {
      let run = try story(number)
      do {
        try daemon.restart(environment: ["USHER_FAILPOINT": "\(point):\(number)"])
        try run(again())
        return number - 1
      } catch {
        // The connection breaks shortly before the kernel reports the end of the process.
        guard (try? daemon.exitStatus(within: 30)) == -SIGKILL else {
          throw TestError("\(point):\(number): \(error)")
        }
      }
      try daemon.start(environment: [:])
      do {
        try run(again())
      } catch {
        throw TestError("\(point):\(number), after the restart: \(error)")
      }
    }
    throw TestError("the daemon still dies at \(point) after 29 passes")
  }
}
