import Dispatch
import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Attacks of another local user on a redirect listener without knowledge of a flow's state.
@Suite("Floods of a redirect listener", .mayBlock, .timeLimit(.minutes(10)))
struct RedirectFloodTests {
  private let fixture = RedirectListenerFixture()

  @Test("a redirect without the flow's state is refused without a lookup of the browser's user")
  func stateFirst() async throws {
    let listener = try await fixture.open()
    defer { listener.close() }
    for query in ["", "?state=", "?code=abc&state=another", "?code=abc&state=our-stat"] {
      let reply = try await RedirectListenerFixture.get(listener.redirectURI + query)
      #expect(reply.status == 400)
    }
    #expect(fixture.lookups.withLock { $0 } == 0)
    let good = try await RedirectListenerFixture.get(
      listener.redirectURI + "?code=abc&state=our-state")
    #expect(good.status == 200)
    #expect(fixture.lookups.withLock { $0 } == 1)
    #expect(fixture.answers == [AuthorizationResponse(code: Secret("abc"))])
  }

  @Test("the lookup of a browser's user does not block the listener's event loop")
  func lookupOffTheLoop() async throws {
    let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let isLoopFree = DispatchSemaphore(value: 0)
    let sockets = LocalSockets(loopbackUser: { _, _ in
      loop.next().execute { isLoopFree.signal() }
      return TestDeadline().isSignalled(isLoopFree) ? 1000 : nil
    })
    let listeners = RedirectListeners(dependencies: .fake(sockets: sockets), group: loop)
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: nil, path: "/callback", state: Secret("our-state"))
    let listener = try await listeners.open(expectation, for: 1000) { _ in nil }
    let reply = try await RedirectListenerFixture.get(
      listener.redirectURI + "?code=abc&state=our-state")
    #expect(reply.status == 200, "the event loop was blocked during the lookup of the user")
    listener.closeAll()
    try await loop.shutdownGracefully()
  }

  @Test("a redirect listener keeps at most 64 of 200 silent connections and still answers browsers")
  func connections() async throws {
    let listener = try await fixture.open()
    defer { listener.closeAll() }
    let port = try #require(URLComponents(string: listener.redirectURI)?.port)
    let flood = try SilentConnections(200, port: UInt16(port))
    let reply = try await RedirectListenerFixture.get(
      listener.redirectURI + "?code=abc&state=our-state")
    #expect(reply.status == 200)
    let open = flood.open(afterClosed: 136)
    #expect(open <= 64, "\(open) silent connections are open")
  }

  @Test("20 redirects by another user are refused and logged once")
  func journal() async throws {
    let listener = try await fixture.open()
    defer { listener.close() }
    fixture.browserUser.withLock { $0 = 1001 }
    for _ in 0..<20 {
      let reply = try await RedirectListenerFixture.get(
        listener.redirectURI + "?code=abc&state=our-state")
      #expect(reply.status == 403 || reply.status == 503)
    }
    #expect(fixture.log.all.count == 1, "\(fixture.log.all)")
    #expect(fixture.answers.isEmpty)
  }
}

/// Connections that send nothing.
private struct SilentConnections {
  private let sockets: [TestSocket]

  init(_ count: Int, port: UInt16) throws {
    sockets = try (0..<count).map { _ in try TestSocket(connectedTo: port) }
  }

  /// Waits until the listener has closed `wanted` connections, or the time is over.
  /// - Returns: The number of connections that are still open.
  func open(afterClosed wanted: Int) -> Int {
    var closed = 0
    _ = TestDeadline().isMet { isLast in
      var polls = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      _ = poll(&polls, nfds_t(polls.count), isLast ? 0 : 50)
      closed = polls.count { $0.revents != 0 }
      return closed >= wanted
    }
    return sockets.count - closed
  }
}
