import Foundation
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Reload of callback listeners", .mayBlock, .timeLimit(.minutes(10)))
struct CallbackReloadTests {
  private let harness: LockControllerHarness

  init() throws { harness = try LockControllerHarness() }

  private func gopay(
    at port: UInt16, _ name: String = "gopay", client: String = "acme"
  ) throws -> ProviderConfig {
    var settings = GoPaySettings(clientID: client, merchantID: "merchant")
    settings.callbackListen = try LoopbackAddress(setting: "127.0.0.1:\(port)")
    return ProviderConfig(name: ProviderName(name), settings: settings)
  }

  private func begun(_ providers: [ProviderConfig]) async throws -> LockController {
    try harness.files.change { $0.providers = providers }
    let lockController = try await harness.begun()
    #expect(try await Reload(lockController: lockController).run().isEmpty)
    return lockController
  }

  private func reload(_ lockController: LockController, _ providers: [ProviderConfig]) async throws
    -> [ConfigProblem]
  {
    try harness.files.change { $0.providers = providers }
    return try await Reload(lockController: lockController).run()
  }

  @Test("a reload opens the listener of a new callback address and closes an unused one")
  func moved() async throws {
    let (first, second) = (UInt16(try LoopbackPort.unused()), UInt16(try LoopbackPort.unused()))
    let lockController = try await begun([try gopay(at: first)])
    #expect(try TestSocket(connectedTo: first).answer(to: "GET / HTTP/1.1\r\n\r\n") != "")
    #expect(try await reload(lockController, [try gopay(at: second)]).isEmpty)
    try await TestSocket.nobodyListens(at: first)
    #expect(try TestSocket(connectedTo: second).answer(to: "GET / HTTP/1.1\r\n\r\n") != "")
    #expect(try await reload(lockController, []).isEmpty)
    try await TestSocket.nobodyListens(at: second)
    await lockController.end()
  }

  @Test("a callback listener that stays keeps its socket and connections, also for a new provider")
  func kept() async throws {
    let port = UInt16(try LoopbackPort.unused())
    let lockController = try await begun([try gopay(at: port)])
    let caller = try TestSocket(connectedTo: port)
    try caller.send(Array("GET / HTTP/1.1\r\n".utf8))
    // Connections are accepted in order: once this later one has its answer, `caller` is accepted.
    _ = try TestSocket(connectedTo: port).answer(to: "GET / HTTP/1.1\r\n\r\n")
    #expect(try await reload(lockController, [try gopay(at: port)]).isEmpty)
    #expect(
      try await reload(lockController, [try gopay(at: port, "other", client: "else")]).isEmpty)
    #expect(try caller.answer(to: "\r\n").hasPrefix("HTTP/1.1 4"))
    await lockController.end()
  }

  @Test("a reload that cannot bind one callback address fails and changes no other listener")
  func taken() async throws {
    let squatter = try TestSocket(listeningAt: .loopback(port: 0))
    let (first, second) = (UInt16(try LoopbackPort.unused()), UInt16(try LoopbackPort.unused()))
    let lockController = try await begun([try gopay(at: first)])
    let problems = try await reload(
      lockController, [try gopay(at: second), try gopay(at: squatter.port, "third")])
    #expect(
      problems.map(\.message) == [
        "cannot listen at 127.0.0.1:\(squatter.port) for provider third's callback: "
          + "Address already in use"
      ])
    #expect(problems.map(\.key) == ["provider[1].callback_listen"])
    let providers = try lockController.services().dependencies.config.providers
    #expect(providers.map(\.name.rawValue) == ["gopay"])
    try await TestSocket.nobodyListens(at: second)
    #expect(try TestSocket(connectedTo: first).answer(to: "GET / HTTP/1.1\r\n\r\n") != "")
    await lockController.end()
  }

  @Test("a reload is refused if two providers have the same callback address")
  func twins() async throws {
    let port = UInt16(try LoopbackPort.unused())
    let lockController = try await begun([])
    let problems = try await reload(
      lockController, [try gopay(at: port, "a"), try gopay(at: port, "b")])
    #expect(
      problems.map(\.message) == ["cannot listen at 127.0.0.1:\(port) for provider b's callback"])
    try await TestSocket.nobodyListens(at: port)
    await lockController.end()
  }

  @Test("64 silent connections do not block the callback listener: the oldest are closed")
  func flood() async throws {
    let port = UInt16(try LoopbackPort.unused())
    let lockController = try await begun([try gopay(at: port)])
    let request = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    var silent: [TestSocket] = []
    for _ in 0..<8 {
      for _ in 0..<8 { silent.append(try TestSocket(connectedTo: port)) }
      // Connections are accepted in order: once this later one has its answer, all before are
      // accepted.
      let answer = try TestSocket(connectedTo: port).answer(to: request)
      #expect(answer.hasPrefix("HTTP/1.1 4"), "beside \(silent.count) silent ones: \(answer)")
    }
    withExtendedLifetime(silent) {}
    await lockController.end()
  }
}
