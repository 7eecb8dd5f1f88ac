import JSONRPC
import Logging
import NIOPosix
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Who is let in while descriptors are few", .timeLimit(.minutes(2)))
struct ConnectionAdmissionTests {
  /// What a connection gets, and how many are counted, where the process may have so many descriptors.
  private func admitted(
    isAdmin: Bool, descriptors: Int
  ) async throws -> (lines: String, told: String?, count: Int) {
    let stage = try SafeStage(descriptors: DescriptorBudget(limit: descriptors))
    let safe = try await stage.begun()
    let loop = try SocketLoop()
    let count = safe.life.count
    let door = Door(
      service: RPCService(safe), realm: DaemonSetting.realm, count: count,
      open: safe.life.connections)
    let (near, far) = try FarEnd.pair()
    _ = far.send(Array(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#.utf8) + [0x0A])
    far.finish()
    let told = try await loop.submit { door.admit(near, on: loop, isAdmin: isAdmin) }
    let bytes = try await far.receiveAll()
    await safe.end()
    await loop.stop()
    return (String(decoding: bytes, as: UTF8.self), told, count.count(of: nil))
  }

  @Test("a program is refused before the last descriptors are used, and the journal says so")
  func program() async throws {
    let (lines, told, count) = try await admitted(isAdmin: false, descriptors: 0)
    #expect(lines.contains(#""reason":"overloaded""#), "\(lines)")
    #expect(lines.contains(#""limit":"LimitNOFILE""#) && lines.contains(#""retryable":true"#))
    #expect(told == DescriptorBudget.exhausted.message)
    #expect(count == 0)
  }

  @Test("the administrator is let in while a program is not")
  func administrator() async throws {
    // The lowest free number of this process; the connection gets one that is not far above.
    let (near, _) = try FarEnd.pair()
    let next = Int(near.raw)
    near.close()
    // Callers end a quarter below the limit, the administrator a sixteenth below.
    let limit = (next + 40) * 16 / 15
    let (lines, told, _) = try await admitted(isAdmin: true, descriptors: limit)
    #expect(lines.contains(#""result""#), "\(lines)")
    #expect(told == nil)
    if limit * 3 / 4 < next {
      let program = try await admitted(isAdmin: false, descriptors: limit)
      #expect(program.lines.contains("LimitNOFILE"))
    }
  }

  @Test("a flow is refused as overloaded before it begins, and takes nothing of the user's rate")
  func flow() async throws {
    let stage = try SafeStage(descriptors: DescriptorBudget(limit: 0))
    let safe = try await stage.begun()
    let engine = try safe.domain().flows.engine
    for _ in 0..<40 {
      let error = #expect(throws: UsherError.self) { _ = try engine.admit(.anna) }
      #expect(error?.reason == .overloaded && error?.isRetryable == true)
      #expect(error?.detail.limit == "LimitNOFILE")
    }
    await safe.end()
  }
}
