import Foundation
import Synchronization
import Testing
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// One fixed redirect port, as registered at a provider, and many flows.
@Suite("Flows that share a redirect port", .timeLimit(.minutes(10)))
struct SharedRedirectTests {
  private let fixture = RedirectListenerFixture()

  private func browse(_ listener: RedirectListener, _ state: String) async throws -> Web.Reply {
    try await RedirectListenerFixture.get(
      "\(listener.redirectURI)?code=\(state)-code&state=\(state)")
  }

  @Test("flows of three users at one fixed redirect port each get the redirect with their state")
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

  @Test("an ended flow leaves the fixed redirect port to others, and the last one frees it")
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

  @Test("a second flow with the same state at a fixed port is refused, and the first is unaffected")
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

  @Test("a redirect for an ended flow gets the same page as one for an unknown state")
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
