import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The daemon dies at every place where something is half done, and comes back.
@Suite("a daemon that dies by itself", .mayBlock, .ownProcess)
struct FailPointTests {
  static let signInPoints = ["store.before-commit", "store.after-commit", "flow.before-effects"]

  @Test(
    "wherever it dies in a sign-in, nothing that was told is lost and the sign-in is finished",
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
    // Shown, come back, exchanged, verified, finished: at least.
    #expect(counts.allSatisfy { $0 >= 5 }, "passed so often: \(counts)")
  }

  @Test("a flow that was told to be cancelled is, and one that was not can be again")
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
    try must(isDead || told?["status"] == "cancelled", "\(point): \(told?.text ?? "nothing")")
    try daemon.restart(environment: ["USHER_FAILPOINT": ""])
    let client = try daemon.client()
    if let told { try must(try client.call("flow.get", id)["flow"] == told, "it lives again") }
    let again = try client.call("flow.cancel", id)["flow"]
    try must(again?["status"] == "cancelled", "\(point): \(again?.text ?? "nothing")")
    try must(
      told == nil || again?["revision"] == told?["revision"], "it was cancelled a second time")
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
      try must(end["status"] == "succeeded", "not signed in: \(end.text)")
      try story.checkNothingLost()
      try story.checkToken(sandbox)
      return false
    } catch {
      guard try died(daemon) else { throw TestError("\(kind) \(point), alive: \(error)") }
    }
    do {
      try daemon.start(environment: ["USHER_FAILPOINT": ""])
      try story.checkNothingLost()
      let end = try story.run()
      try must(end["status"] == "succeeded", "not signed in: \(end.text)")
      try story.checkNothingLost()
      try story.checkToken(sandbox)
    } catch {
      throw TestError("\(kind) \(point): \(error); told \(story.told?.text ?? "nothing")")
    }
    return true
  }

  /// A connection breaks a moment before the kernel tells of the death.
  private func died(_ daemon: DaemonUnderTest) throws -> Bool {
    guard let status = try? daemon.exitStatus(within: 30) else { return false }
    try must(status == -SIGKILL, "it ended otherwise: \(status)")
    return true
  }

  /// Runs with 1, 2, 3, … , some at a time, until one did not die.
  ///
  /// - Returns: How many died.
  private func deaths(
    at point: String, _ run: @escaping @Sendable (Int) throws -> Bool
  ) throws -> Int {
    let width = 4
    for first in stride(from: 1, to: 40, by: width) {
      let died = try atOnce(first..<first + width) { try run($0) }
      if died.contains(false) { return first - 1 + died.count { $0 } }
    }
    throw TestError("\(point) is passed without end")
  }
}
