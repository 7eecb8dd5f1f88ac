import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherClient
import UsherTestKit

/// Programs keep calling while the daemon restarts, and must not notice it.
@Suite("Restarts under load", .mayBlock, .timeLimit(.minutes(10)))
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

  @Test("a flow answered around restarts of usherd succeeds and redeems its code once")
  func submits() async throws {
    let tally = Tally()
    let people = try await people(12)
    let calls = (0..<people.count).reduce(0) { $0 + $1 * 50 }
    try await withThrowingTaskGroup { group in
      for (number, person) in people.enumerated() {
        group.addTask { [daemon] in
          let usher = UsherClient(socketPath: daemon.socketPath)
          // Spreads the answers over the time before, during and after the restarts.
          for _ in 0..<(number * 50) {
            _ = try await usher.token(provider: "demo")
            tally.succeeded()
          }
          let session = try await usher.session(of: person.flow)
          try await session.submit(.redirect(url: person.wayBack))
          var end = session.flow
          for try await flow in session.steps {
            end = flow
            // A flow that has lost its code asks for another sign-in, for which nobody is there.
            if case .openURL? = flow.step { break }
          }
          #expect(
            end.status == .succeeded,
            "\(String(describing: end.problem)) \(String(describing: end.failure))")
        }
      }
      group.addTask { [daemon] in
        for _ in 0..<Self.restarts {
          try tally.await(more: 300, atMost: calls)
          try daemon.restart()
        }
      }
      try await group.waitForAll()
    }
    // One for each flow, and one for the sign-in of the fixture.
    #expect(try sandbox.requests("token", grantType: "authorization_code") == people.count + 1)
    try daemon.stop()
  }

  @Test(
    "usherctl flow run and the page that is open in the browser continue over a restart of usherd")
  func command() throws {
    let place = try TemporaryDirectory()
    let command = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["--socket", daemon.socketPath, "flow", "run", "demo", "authorize"],
      environment: ["DISPLAY": "", "WAYLAND_DISPLAY": ""], log: place.file("log"))
    var page: Substring?
    try eventually("usherctl prints the page's URL: \(command.log)") {
      page = command.log.firstMatch(of: /http:\/\/127\.0\.0\.1:\S+/)?.0
      return page != nil
    }
    try daemon.restart()
    let back = try #require(try UsherTestKit.Person.decide(at: String(page ?? "")).location)
    try eventually("the restarted daemon answers at the redirect URL") {
      (try? Web.get(back))?.status == 200
    }
    #expect(try command.exitStatus() == 0, "\(command.log)")
    try daemon.stop()
  }

  @Test(
    "an event stream ends when usherd restarts, and a stream from the old cursor reports an overflow"
  )
  func events() async throws {
    let usher = UsherClient(socketPath: daemon.socketPath)
    // The stream subscribes in a task of its own, maybe after the flow's last event.
    let now = try daemon.client().call("events.subscribe", ["topics": ["flow"]])["cursor"]
    let events = usher.events([.flow], since: Int(try #require(now?.integerValue)))
    _ = try await usher.flow(provider: "demo", kind: "authorize")
    var last = 0
    var ended: EventsEnded?
    do {
      for try await event in events {
        if last == 0 { try daemon.restart() }
        last = event.cursor
      }
    } catch let error as EventsEnded {
      ended = error
    }
    #expect(ended == EventsEnded(.disconnected, cursor: last))
    do {
      for try await _ in usher.events([.flow], since: last) {}
      Issue.record("the event stream ended without an error")
    } catch let error as EventsEnded {
      #expect(error.cause == .overflow)
      #expect(error.cursor > last)
    }
  }

  /// A person who has signed in at the provider, and whose browser has not followed the redirect.
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
      else { throw TestError("the provider did not redirect") }
      return Person(flow: FlowID(id), wayBack: Secret(back))
    }
  }
}

/// A counter of successful calls.
private final class Tally: Sendable {
  private let count = Mutex(0)

  func succeeded() { count.withLock { $0 += 1 } }

  /// Waits until `more` further calls have succeeded, or `most` in total.
  func await(more: Int, atMost most: Int) throws {
    let goal = min(count.withLock { $0 } + more, most)
    try eventually(within: 150, "\(goal) calls have succeeded") { count.withLock { $0 } >= goal }
  }
}
