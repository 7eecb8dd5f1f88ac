import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A browser resolves `localhost` to 127.0.0.1 or to ::1. Whoever listens at either address gets
/// the provider's answer.
@Suite("Redirects to localhost", .enabled(if: hasIPv6Loopback), .timeLimit(.minutes(10)))
struct LocalhostRedirectTests {
  private let answers = Recorded<AuthorizationResponse>()

  private func listeners(_ sockets: LocalSockets? = nil) -> RedirectListeners {
    RedirectListeners(
      dependencies: .fake(sockets: sockets ?? .browsers(of: 1000)),
      group: MultiThreadedEventLoopGroup.singleton)
  }

  private func open(
    _ listeners: RedirectListeners, port: Int? = nil, state: String = "our-state",
    isLocalhost: Bool = true
  ) async throws(RedirectListenError) -> RedirectListener {
    let expectation = RedirectExpectation(
      host: "127.0.0.1", port: port, path: "/callback", state: Secret(state),
      isLocalhost: isLocalhost)
    return try await listeners.open(expectation, for: 1000) { [answers] answer in
      answers.add(answer)
      return nil
    }
  }

  private func port(of listener: RedirectListener) throws -> UInt16 {
    try #require(URLComponents(string: listener.redirectURI)?.port.flatMap(UInt16.init(exactly:)))
  }

  /// Delivers a provider's answer to an address, and returns the status line of the page.
  private func deliver(
    _ code: String, to address: TestSocket.Address, port: UInt16, state: String = "our-state"
  ) async throws -> String {
    try await RedirectListenerFixture.offPool {
      let deadline = TestDeadline()
      let socket = try TestSocket(connectedTo: address, by: deadline)
      let request =
        "GET /callback?code=\(code)&state=\(state) HTTP/1.1\r\nHost: localhost:\(port)\r\n"
        + "Connection: close\r\n\r\n"
      try socket.send(Array(request.utf8), by: deadline)
      var bytes: [UInt8] = []
      while let more = try? socket.receive(by: deadline) { bytes += more }
      return String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
    }
  }

  @Test(
    "a listener for localhost serves the same port of 127.0.0.1 and ::1", arguments: [false, true])
  func both(isFixed: Bool) async throws {
    let fixed = isFixed ? try Int(LoopbackPort.unused()) : nil
    let listener = try await open(listeners(), port: fixed)
    let port = try port(of: listener)
    for (code, address) in [
      ("one", TestSocket.Address.loopback(port: port)), ("two", .loopbackIPv6(port: port)),
    ] {
      #expect(try await deliver(code, to: address, port: port).contains("200"), "\(address)")
    }
    #expect(answers.all.map(\.code) == [Secret("one"), Secret("two")])
    listener.close()
    try await reached("both addresses are free again") {
      (try? TestSocket(listeningAt: .loopbackIPv6(port: port))) != nil
        && (try? TestSocket(listeningAt: .loopback(port: port))) != nil
    }
  }

  @Test("a fixed port that another program holds at ::1 is in use, and 127.0.0.1 is not served")
  func taken() async throws {
    let port = try LoopbackPort.unused()
    let other = try TestSocket(listeningAt: .loopbackIPv6(port: UInt16(port)))
    defer { withExtendedLifetime(other) {} }
    do throws(RedirectListenError) {
      _ = try await open(listeners(), port: Int(port))
      Issue.record("a listener was opened")
    } catch {
      guard case .portInUse(let message, byOtherUser: _) = error else {
        Issue.record("the listener was refused for another reason: \(error)")
        return
      }
      #expect(message.contains("\(port)"))
    }
    try await TestSocket.nobodyListens(at: UInt16(port))
  }

  @Test("without a fixed port, another port is chosen if another program holds the first at ::1")
  func another() async throws {
    let tried = Recorded<Int>()
    var sockets = LocalSockets.browsers(of: 1000)
    sockets.bindForBrowsers = { address in
      if address.ipAddress == "::1" {
        tried.add(address.port ?? 0)
        guard tried.all.count > 2 else {
          throw IOError(errnoCode: EADDRINUSE, reason: "bind")
        }
      }
      return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(to: address).get()
    }
    let listener = try await open(listeners(sockets))
    defer { listener.close() }
    let port = try port(of: listener)
    #expect(tried.all.count == 3 && tried.all.last == Int(port))
  }

  @Test(
    "on a machine without the address ::1, 127.0.0.1 alone is served",
    arguments: [
      EADDRNOTAVAIL, EAFNOSUPPORT,
    ])
  func withoutIPv6(errorNumber: CInt) async throws {
    var sockets = LocalSockets.browsers(of: 1000)
    sockets.bindForBrowsers = { address in
      if address.ipAddress == "::1" { throw IOError(errnoCode: errorNumber, reason: "bind") }
      return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(to: address).get()
    }
    let listener = try await open(listeners(sockets))
    #expect(listener.redirectURI.hasPrefix("http://localhost:"))
    listener.close()
  }

  @Test("a flow for localhost that joins a fixed port of 127.0.0.1 is served at ::1, too")
  func joined() async throws {
    let port = try LoopbackPort.unused()
    let listeners = self.listeners()
    let first = try await open(listeners, port: Int(port), state: "first", isLocalhost: false)
    let second = try await open(listeners, port: Int(port), state: "second")
    let page = try await deliver(
      "joined", to: .loopbackIPv6(port: UInt16(port)), port: UInt16(port), state: "second")
    #expect(page.contains("200"))
    // The addresses are bound once for all flows.
    let third = try await open(listeners, port: Int(port), state: "third")
    third.close()
    first.close()
    second.close()
  }
}

/// Whether the machine has the IPv6 loopback address.
private let hasIPv6Loopback = (try? TestSocket(boundTo: .loopbackIPv6(port: 0))) != nil
