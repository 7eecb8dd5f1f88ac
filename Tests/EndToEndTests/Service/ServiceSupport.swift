import Foundation
import JSONRPC
import UsherTestKit

extension DaemonUnderTest {
  /// Returns the number of open descriptors of the daemon's process.
  func descriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
  }

  /// Signs in at the page of a flow, and follows the redirect to the daemon.
  func comeBack(from flow: JSONValue, user: String = "alice") throws {
    guard let page = flow["step"]?["url"]?.stringValue else {
      throw TestError("the flow has no page to open: \(flow.text)")
    }
    try Person.signIn(at: page, user: user)
  }
}

/// Clients that call `token.get` without pause, each on a connection of its own.
final class TokenCallers: @unchecked Sendable {
  private let lock = NSLock()
  private let group = DispatchGroup()
  private var isOver = false
  private var calls = 0
  private var failures: [String] = []

  init(_ count: Int, of daemon: DaemonUnderTest) throws {
    let clients = try (0..<count).map { _ in try daemon.client() }
    for client in clients {
      group.enter()
      Thread.detachNewThread { [self] in
        run(client)
        group.leave()
      }
    }
  }

  /// The number of calls so far.
  var count: Int { lock.withLock { calls } }

  /// Stops the clients.
  ///
  /// - Returns: The number of calls, and the first ten failures.
  func finish() -> (calls: Int, failures: [String]) {
    lock.withLock { isOver = true }
    group.wait()
    return lock.withLock { (calls, failures) }
  }

  private func run(_ client: RawClient) {
    while !lock.withLock({ isOver }) {
      let failure: String?
      do {
        let reply = try client.reply(to: "token.get", ["provider": "demo"])
        failure = reply["error"].map(\.text)
      } catch {
        failure = "\(error)"
      }
      lock.withLock {
        calls += 1
        if let failure, failures.count < 10 { failures.append(failure) }
      }
    }
  }
}
