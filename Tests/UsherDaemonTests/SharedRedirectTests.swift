import Foundation
import Synchronization
import Testing
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// One fixed redirect port, as a provider has it registered, and many flows.
@Suite("Flows that share a redirect port", .timeLimit(.minutes(1)))
struct SharedRedirectTests {
  private let fixture = RedirectListenerFixture()

  private func browse(_ listener: RedirectListener, _ state: String) async throws -> Web.Reply {
    try await RedirectListenerFixture.get(
      "\(listener.redirectURI)?code=\(state)-code&state=\(state)")
  }

  @Test("flows of two users at one fixed port are both answered, each by its own state")
  func twoUsers() async throws {
    let port = try LoopbackPort.unused()
    let anna = try await fixture.open("anna", port: port, for: 1000)
    let ben = try await fixture.open("ben", port: port, path: "/other", for: 1001)
    let more = try await fixture.open("carl", port: port, for: 1002)
    for (listener, state, user) in [(ben, "ben", 1001), (more, "carl", 1002), (anna, "anna", 1000)]
    {
      fixture.browserUser.withLock { $0 = UInt32(user) }
      #expect(try await browse(listener, state).status == 200)
    }
    #expect(
      fixture.answers.map(\.code)
        == [Secret("ben-code"), Secret("carl-code"), Secret("anna-code")])
    for listener in [anna, ben, more] { listener.close() }
  }

  @Test("a flow that ends leaves the fixed port to the others, and the last one gives it back")
  func ends() async throws {
    let port = try LoopbackPort.unused()
    let first = try await fixture.open("first", port: port)
    let second = try await fixture.open("second", port: port)
    first.close()
    #expect(try await browse(second, "second").status == 200)
    second.close()
    let third = try await fixture.open("third", port: port)
    #expect(try await browse(third, "third").status == 200)
    third.close()
  }

  @Test("a flow with the state of another one is refused, and the first one keeps its answer")
  func sameState() async throws {
    let port = try LoopbackPort.unused()
    let anna = try await fixture.open("chosen", port: port, for: 1000)
    await #expect(throws: RedirectListenError.self) {
      try await fixture.open("chosen", port: port, for: 1001)
    }
    #expect(try await browse(anna, "chosen").status == 200)
    #expect(fixture.answers.map(\.code) == [Secret("chosen-code")])
    anna.close()
    let ben = try await fixture.open("chosen", port: port, for: 1001)
    ben.close()
  }

  @Test("an answer for a flow that has ended looks like one for no flow, and names the terminal")
  func finished() async throws {
    let port = try LoopbackPort.unused()
    let ended = try await fixture.open("ended", port: port)
    let open = try await fixture.open("open", port: port)
    ended.close()
    let replies = try await [browse(open, "ended"), browse(open, "never-there")]
    for reply in replies {
      #expect(reply.status == 400)
      #expect(reply.text.contains("terminal"), "\(reply.text)")
    }
    #expect(Set(replies.map(\.text)).count == 1)
    #expect(fixture.answers.isEmpty)
    open.close()
  }
}
