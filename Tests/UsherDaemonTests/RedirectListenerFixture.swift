import Dispatch
import Logging
import NIOCore
import NIOPosix
import Synchronization
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// Redirect listeners on real loopback ports; the test says which user a browser belongs to.
final class RedirectListenerFixture: Sendable {
  /// The user every browser belongs to; nil where it cannot be told.
  let browserUser = Mutex<UInt32?>(1000)
  /// Holds up each lookup of a browser's user until it is signalled; nil where none is held up.
  let lookupGate = Mutex<DispatchSemaphore?>(nil)
  /// How often the kernel was asked for a browser's user.
  let lookups = Mutex(0)
  /// What the flow says became of its answer.
  let page = Mutex<RedirectPage?>(nil)
  let clock = FakeClock()
  let log = LoggedLines()
  private let received = Mutex<[RedirectAnswer]>([])
  let listeners: RedirectListeners

  init(times: RedirectTimes = .patient) {
    let box = LookupBox()
    let log = log
    listeners = RedirectListeners(
      world: .fake(clock), group: MultiThreadedEventLoopGroup.singleton,
      uid: { _, _ in box.body.withLock { $0 }() }, log: Logger(label: "test") { _ in log },
      times: times)
    box.body.withLock { body in
      body = { [weak self] in self?.lookUp() }
    }
  }

  var answers: [RedirectAnswer] { received.withLock { $0 } }

  /// Listens for the flow of a user.
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

  /// Opens a page, away from the threads that tasks run on.
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
    lookupGate.withLock { $0 }?.wait()
    return browserUser.withLock { $0 }
  }
}

extension RedirectTimes {
  /// Long enough for a machine whose threads are all held by other tests.
  static let patient = RedirectTimes(lookup: .seconds(600), outcome: .seconds(600))
}

/// Holds what the fixture answers, which is made before the fixture is.
private final class LookupBox: Sendable {
  let body = Mutex<@Sendable () -> UInt32?>({ nil })
}

/// Remembers what was logged, with the count of what was left out.
final class LoggedLines: LogHandler, Sendable {
  private let lines = Mutex<[String]>([])
  private let allCauses = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  /// The `cause` of each line that has one.
  var causes: [String] { allCauses.withLock { $0 } }
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
    let count = event.metadata?["count"].map { ", count \($0)" } ?? ""
    lines.withLock { $0.append("\(event.level): \(event.message)\(count)") }
    if let cause = event.metadata?["cause"] {
      allCauses.withLock { $0.append("\(cause)") }
    }
  }
}
