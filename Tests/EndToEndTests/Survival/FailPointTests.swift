import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The daemon dies at each fail point of a sign-in or a cancellation, and is started again.
@Suite(
  "Deaths of usherd at fail points of a flow", .mayBlock, .timeLimit(.minutes(10)), .ownProcess)
struct FailPointTests {
  static let signInPoints = ["store.before-commit", "store.after-commit", "flow.before-effects"]

  @Test(
    "after a death at any fail point of a sign-in, no reported state is lost and the sign-in ends",
    arguments: ["authorize", "device"])
  func signIn(kind: String) throws {
    let sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    let counts = try atOnce(0..<Self.signInPoints.count) { index in
      let point = Self.signInPoints[index]
      return try deaths(at: point) { number in
        try signIn(kind, sandbox, dyingAt: "\(point):\(number)")
      }
    }
    // At least the transitions shown, come back, exchanged, verified and finished.
    #expect(counts.allSatisfy { $0 >= 5 }, "number of passes of each fail point: \(counts)")
  }

  @Test("an answered flow.cancel survives a death of usherd, and an unanswered one can be repeated")
  func cancel() throws {
    let sandbox = try SandboxUnderTest()
    for point in ["store.before-commit", "store.after-commit"] {
      let deaths = try deaths(at: point) { number in
        try cancel(sandbox, dyingAt: "\(point):\(number)")
      }
      #expect(deaths >= 1)
    }
  }

  private func cancel(_ sandbox: SandboxUnderTest, dyingAt point: String) throws -> Bool {
    let daemon = try DaemonUnderTest(config: sandbox.provider())
    let id: JSONValue = ["flow": try daemon.client().startFlow()["id"] ?? .null]
    try? daemon.restart(environment: ["USHER_FAILPOINT": point])
    let told = try? daemon.client().call("flow.cancel", id)["flow"]
    let isDead = try told == nil && died(daemon)
    try must(
      isDead || told?["status"] == "cancelled",
      "\(point): flow.cancel neither succeeded nor killed the daemon: \(told?.text ?? "no reply")")
    try daemon.restart(environment: ["USHER_FAILPOINT": ""])
    let client = try daemon.client()
    if let told {
      try must(
        try client.call("flow.get", id)["flow"] == told,
        "the cancelled flow changed after the restart")
    }
    let again = try client.call("flow.cancel", id)["flow"]
    try must(
      again?["status"] == "cancelled",
      "\(point): the repeated flow.cancel failed: \(again?.text ?? "no flow")")
    try must(
      told == nil || again?["revision"] == told?["revision"], "the flow was cancelled a second time"
    )
    return isDead
  }

  /// - Returns: Whether the daemon died.
  private func signIn(
    _ kind: String, _ sandbox: SandboxUnderTest, dyingAt point: String
  ) throws -> Bool {
    let daemon = try DaemonUnderTest(config: sandbox.provider())
    let story = Story(daemon, kind: kind, requestID: "once")
    do {
      try daemon.restart(environment: ["USHER_FAILPOINT": point])
      let end = try story.run()
      try must(end["status"] == "succeeded", "the sign-in did not succeed: \(end.text)")
      try story.checkNothingLost()
      try story.checkToken(sandbox)
      return false
    } catch {
      guard try died(daemon) else {
        throw TestError("\(kind) \(point): the daemon survived, but: \(error)")
      }
    }
    do {
      try daemon.start(environment: ["USHER_FAILPOINT": ""])
      try story.checkNothingLost()
      let end = try story.run()
      try must(end["status"] == "succeeded", "the sign-in did not succeed: \(end.text)")
      try story.checkNothingLost()
      try story.checkToken(sandbox)
    } catch {
      throw TestError("\(kind) \(point): \(error); last reply: \(story.told?.text ?? "none")")
    }
    return true
  }

  /// Whether the daemon was killed. Waits, because its connections break before it can be reaped.
  private func died(_ daemon: DaemonUnderTest) throws -> Bool {
    guard let status = try? daemon.exitStatus(within: 30) else { return false }
    try must(status == -SIGKILL, "the daemon ended with \(status) instead of SIGKILL")
    return true
  }

  /// Runs the body with 1, 2, 3, …, four at a time, until a daemon survives.
  ///
  /// - Returns: How many daemons died.
  private func deaths(
    at point: String, _ run: @escaping @Sendable (Int) throws -> Bool
  ) throws -> Int {
    let width = 4
    for first in stride(from: 1, to: 40, by: width) {
      let died = try atOnce(first..<first + width) { try run($0) }
      if died.contains(false) { return first - 1 + died.count { $0 } }
    }
    throw TestError("the daemon still dies at \(point) after 40 passes")
  }
}
