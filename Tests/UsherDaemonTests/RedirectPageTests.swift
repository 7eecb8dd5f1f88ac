import Dispatch
import NIOCore
import Synchronization
import Testing
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// The pages that a browser shows after the redirect.
@Suite("Redirect pages", .timeLimit(.minutes(10)))
struct RedirectPageTests {
  private let fixture = RedirectListenerFixture()

  @Test("the redirect page shows the outcome that the flow reports")
  func outcome() async throws {
    let listener = try await fixture.open()
    defer { listener.close() }
    for (page, words) in [
      (RedirectPage.signedIn, "<h1>Signed in"), (.notSignedIn("the code is spent"), "the code is"),
      (.signedOut, "<h1>Signed out"), (.again("the provider was away"), "the provider was away"),
      (.pending, "terminal"),
    ] {
      fixture.page.withLock { $0 = page }
      let reply = try await RedirectListenerFixture.get(
        listener.redirectURI + "?code=abc&state=our-state")
      #expect(reply.status == 200)
      #expect(reply.text.contains(words), "\(reply.text)")
      #expect(reply.text.contains("<h1>Signed in") == (page == .signedIn))
    }
  }

  @Test("a redirect whose user lookup is slow gets 503 with a reload hint and is dropped")
  func slowLookup() async throws {
    let fixture = RedirectListenerFixture()
    let hold = DispatchSemaphore(value: 0)
    fixture.lookupHold.withLock { $0 = hold }
    let listener = try await fixture.open()
    defer { listener.close() }
    async let page = RedirectListenerFixture.get(listener.redirectURI + "?code=abc&state=our-state")
    try await reached("the browser's user is looked up") { fixture.lookups.withLock { $0 } == 1 }
    fixture.scheduler.advance(by: RedirectTimes.lookup)
    let reply = try await page
    #expect(reply.status == 503)
    #expect(reply.text.contains("Reload"), "\(reply.text)")
    // The first lookup ends only now and confirms the user. Only the reloaded page may deliver the
    // answer.
    fixture.lookupHold.withLock { $0 = nil }
    hold.signal()
    var reloaded = reply
    for _ in 1...100 where reloaded.status == 503 {
      reloaded = try await RedirectListenerFixture.get(
        listener.redirectURI + "?code=abc&state=our-state")
    }
    #expect(reloaded.status != 503)
    #expect(fixture.answers.count == 1)
  }

  @Test("a provider's error text is escaped on the redirect page")
  func escaped() {
    let page = RedirectPage.notSignedIn("<script>alert('&\"')</script>")
    #expect(!page.html.contains("<script>"))
    #expect(page.html.contains("&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;"))
  }

  @Test("a repeated notice is due once a minute, with the number of repeats since the last one")
  func notices() {
    let notice = RepeatedNotice(fixture.clock)
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 0))
    #expect([notice.due(), notice.due(), notice.due()] == [1, nil, nil])
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 60_000))
    #expect([notice.due(), notice.due()] == [3, nil])
    // A change of the wall clock has no effect.
    fixture.clock.advance(by: .seconds(3600))
    #expect(notice.due() == nil)
    fixture.clock.advance(by: .seconds(-7200))
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 120_000))
    #expect(notice.due() == 3)
  }

  @Test("flows beyond the limit of redirect listeners share an open one")
  func sharedPorts() async throws {
    var listeners: [RedirectListener] = []
    for number in 0..<(RedirectListeners.maxListeners + 8) {
      listeners.append(try await fixture.open("state-\(number)"))
    }
    #expect(Set(listeners.map(\.redirectURI)).count == RedirectListeners.maxListeners)
    let last = try #require(listeners.last)
    let number = RedirectListeners.maxListeners + 7
    let reply = try await RedirectListenerFixture.get(
      last.redirectURI + "?code=abc&state=state-\(number)")
    #expect(reply.status == 200)
    for listener in listeners { listener.closeAll() }
  }
}
