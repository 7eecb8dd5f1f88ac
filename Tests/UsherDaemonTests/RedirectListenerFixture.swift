import Dispatch
import Logging
import NIOCore
import NIOPosix
import Synchronization
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Redirect listeners on real loopback ports. The test sets the user of the browsers.
final class RedirectListenerFixture: Sendable {
  /// The user of every browser, or `nil` if it is unknown.
  let browserUser = Mutex<UInt32?>(1000)
  /// Blocks each lookup of a browser's user until it is signalled; `nil` does not block.
  let lookupHold = Mutex<DispatchSemaphore?>(nil)
  /// The number of lookups of a browser's user.
  let lookups = Mutex(0)
  /// The flow's outcome that the page shows.
  let page = Mutex<RedirectPage?>(nil)
  let clock: FakeClock
  let scheduler: FakeScheduler
  let log = LoggedLines()
  private let received = Mutex<[AuthorizationResponse]>([])
  let listeners: RedirectListeners

  init() {
    clock = FakeClock()
    scheduler = FakeScheduler(clock)
    let box = LookupBox()
    let log = log
    let sockets = LocalSockets(
      loopbackUser: { _, _ in box.body.withLock { $0 }() }, loopbackListeners: { _ in nil })
    listeners = RedirectListeners(
      dependencies: .fake(
        clock, scheduler, sockets: sockets, log: Logger(label: "test") { _ in log }),
      group: MultiThreadedEventLoopGroup.singleton)
    box.body.withLock { body in
      body = { [weak self] in self?.lookUp() }
    }
  }

  var answers: [AuthorizationResponse] { received.withLock { $0 } }

  /// Opens a listener for a user's flow.
  func open(
    _ state: String = "our-state", port: Int? = nil, path: String = "/callback",
    for owner: UInt32 = 1000
  ) async throws -> RedirectListener {
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: port, path: path, state: Secret(state))
    return try await listeners.open(expectation, for: owner) { [weak self] answer in
      self?.received.withLock { $0.append(answer) }
      return self?.page.withLock { $0 }
    }
  }

  /// Opens a page outside of the cooperative thread pool.
  static func get(_ url: String) async throws -> Web.Reply {
    try await offPool { try Web.send("GET", url, within: 60) }
  }

  static func offPool<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }

  private func lookUp() -> UInt32? {
    lookups.withLock { $0 += 1 }
    lookupHold.withLock { $0 }?.wait()
    return browserUser.withLock { $0 }
  }
}

/// Holds the lookup function, because the listeners are created before the fixture.
private final class LookupBox: Sendable {
  let body = Mutex<@Sendable () -> UInt32?>({ nil })
}

/// Records the logged lines.
final class LoggedLines: LogHandler, Sendable {
  typealias Line = (level: Logger.Level, message: String, metadata: [String: String])
  private let lines = Recorded<Line>()
  /// Each line, with the `count` of its metadata.
  var all: [String] {
    lines.all.map { line in
      let count = line.metadata["count"].map { ", count \($0)" } ?? ""
      return "\(line.level): \(line.message)\(count)"
    }
  }

  /// The `cause` of each line that has one.
  var causes: [String] { lines.all.compactMap { $0.metadata["cause"] } }
  /// The lines about flows.
  var ofFlows: [Line] { lines.all.filter { $0.metadata["flow"] != nil } }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }

  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
    lines.add((event.level, "\(event.message)", metadata))
  }
}
