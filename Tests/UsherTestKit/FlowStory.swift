import Foundation
package import JSONRPC

/// One flow as a program sees it that outlives the daemon.
package final class FlowStory<Fixture: ProviderFixture> {
  private let start: JSONValue
  /// The flow as it was last told.
  package private(set) var told: JSONValue?

  /// - Parameter start: Of `flow.start`, with a request id.
  package init(_ start: JSONValue) { self.start = start }

  /// Goes on from wherever things are, to the flow's end.
  ///
  /// - Parameter act: What a person or an app does at a step; nil to wait.
  package func run(_ fixture: Fixture, _ act: (JSONValue) throws -> JSONValue?) throws -> JSONValue
  {
    var flow = try begin(fixture)
    for _ in 0..<40 {
      try hear(flow)
      guard flow["status"] == "active" else { return flow }
      let wait: JSONValue = [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 4000,
      ]
      flow = try act(flow) ?? fixture.app.flow(in: fixture.app.call("flow.wait", wait))
    }
    throw TestError("the flow does not end: \(flow.text)")
  }

  /// Starts the flow, or finds the one that an earlier start made without our hearing of it.
  private func begin(_ fixture: Fixture) throws -> JSONValue {
    let reply = try fixture.app.reply(to: "flow.start", start)
    if let flow = reply["result"]?["flow"] { return flow }
    guard reply["error"]?["data"]?["reason"] == "request_id_reused" else {
      throw TestError("flow.start: \(reply.text)")
    }
    return try fixture.flow(["id": reply["error"]?["data"]?["flow"] ?? .null])
  }

  private func hear(_ flow: JSONValue) throws {
    if let told {
      let before = told["revision"]?.integerValue ?? 0
      let now = flow["revision"]?.integerValue ?? -1
      guard told["id"] == flow["id"], now >= before, now > before || told["state"] == flow["state"]
      else { throw TestError("what was told is lost: \(told.text), now \(flow.text)") }
    }
    told = flow
  }
}

/// Where a daemon dies: before and after it commits, and before it does what it has committed.
package let failPoints = ["store.before-commit", "store.after-commit", "flow.before-effects"]

extension ProviderFixture {
  /// Lets the daemon die at the first, second, … passing of a point, each in a story of its own that
  /// goes on with the next daemon, until it does not die any more.
  ///
  /// - Parameter story: Makes the story of a number.
  /// - Returns: How often it has died.
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
        // A connection breaks a moment before the kernel tells of the death.
        guard (try? daemon.exitStatus(within: 30)) == -SIGKILL else {
          throw TestError("\(point):\(number): \(error)")
        }
      }
      try daemon.start(environment: [:])
      do {
        try run(again())
      } catch {
        throw TestError("\(point):\(number), the next daemon: \(error)")
      }
    }
    throw TestError("\(point) is passed without end")
  }
}
