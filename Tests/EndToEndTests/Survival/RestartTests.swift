import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherClient
import UsherTestKit

/// Programs that go on calling while the daemon is restarted: they are not to notice.
@Suite("restarts under load", .mayBlock, .timeLimit(.minutes(10)))
struct RestartTests {
  private static let restarts = 3

  private let sandbox: SandboxUnderTest
  private let daemon: HeldDaemon

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try HeldDaemon(
      config: """
        [limits]
        flow_starts_per_minute = 1000

        \(sandbox.provider())
        """)
    try daemon.client().signIn()
  }

  @Test("an answer that is given while the daemon restarts is given once")
  func submits() async throws {
    let tally = Tally()
    let people = try await people(12)
    let calls = (0..<people.count).reduce(0) { $0 + $1 * 50 }
    try await withThrowingTaskGroup { group in
      for (number, person) in people.enumerated() {
        group.addTask { [daemon] in
          let usher = UsherClient(socketPath: daemon.socketPath)
          // Some before, some at, some after a restart.
          for _ in 0..<(number * 50) {
            _ = try await usher.token(provider: "demo")
            tally.succeeded()
          }
          let session = try await usher.session(of: person.flow)
          try await session.submit(.redirect(url: person.wayBack))
          var end = session.flow
          for try await flow in session.steps { end = flow }
          #expect(end.status == .succeeded, "\(String(describing: end.failure))")
        }
      }
      group.addTask { [daemon] in
        try await aside {
          for _ in 0..<Self.restarts {
            try tally.await(more: 300, atMost: calls)
            try daemon.restart()
          }
        }
      }
      try await group.waitForAll()
    }
    // Theirs, and the one of the sign-in before.
    #expect(try sandbox.requests("token", grantType: "authorization_code") == people.count + 1)
    try daemon.stop()
  }

  @Test("usherctl flow run goes on over a restart, and the page that is open in the browser")
  func command() throws {
    let place = try TemporaryDirectory()
    let command = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["--socket", daemon.socketPath, "flow", "run", "demo", "authorize"],
      environment: ["DISPLAY": "", "WAYLAND_DISPLAY": ""], log: place.file("log"))
    var page: Substring?
    try eventually("it shows the page: \(command.log)") {
      page = command.log.firstMatch(of: /http:\/\/127\.0\.0\.1:\S+/)?.0
      return page != nil
    }
    try daemon.restart()
    let back = try #require(try UsherTestKit.Person.decide(at: String(page ?? "")).location)
    try eventually("the browser is answered") { (try? Web.get(back))?.status == 200 }
    #expect(try command.exitStatus() == 0, "\(command.log)")
    try daemon.stop()
  }

  @Test("a stream of events ends with the daemon; the next one says that it remembers nothing")
  func events() async throws {
    let usher = UsherClient(socketPath: daemon.socketPath)
    let events = usher.events([.flow])
    _ = try await usher.flow(provider: "demo", kind: "authorize")
    var last = 0
    var ended: EventsEnded?
    do {
      for try await event in events {
        if last == 0 { try await aside { [daemon] in try daemon.restart() } }
        last = event.cursor
      }
    } catch let error as EventsEnded {
      ended = error
    }
    #expect(ended == EventsEnded(.disconnected, cursor: last))
    do {
      for try await _ in usher.events([.flow], since: last) {}
      Issue.record("the stream ended by itself")
    } catch let error as EventsEnded {
      #expect(error.cause == .overflow)
      #expect(error.cursor > last)
    }
  }

  /// Somebody who has signed in at the provider, and whose browser has not come back.
  private struct Person: Sendable {
    let flow: FlowID
    let wayBack: Secret
  }

  private func people(_ count: Int) async throws -> [Person] {
    let client = try daemon.client()
    return try (0..<count).map { _ in
      let flow = try client.startFlow()
      let page = try flow.page()
      guard let back = try UsherTestKit.Person.decide(at: page).location,
        let id = flow["id"]?.stringValue
      else { throw TestError("nobody is sent back") }
      return Person(flow: FlowID(id), wayBack: Secret(back))
    }
  }
}

/// How many calls have succeeded.
private final class Tally: Sendable {
  private let count = Mutex(0)

  func succeeded() { count.withLock { $0 += 1 } }

  /// Until so many more calls have succeeded, or all have that are made.
  func await(more: Int, atMost most: Int) throws {
    let goal = min(count.withLock { $0 } + more, most)
    try eventually(within: 150, "calls succeed") { count.withLock { $0 } >= goal }
  }
}

/// Runs what blocks on a thread of its own.
private func aside(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
    Thread.detachNewThread { done.resume(with: Result { try body() }) }
  }
}
