import Testing
import UsherTestKit

@Suite("Lines that are slow to read", .serialized, .timeLimit(.minutes(10)))
struct StallAttackTests {
  private let daemon: DaemonUnderTest

  init() throws { daemon = try DaemonUnderTest(config: "") }

  @Test("one caller's lines of 1 MiB do not hold up another caller")
  func stall() throws {
    try AttackScript("stall.py").expectRefused(
      daemon.socketPath, daemon.adminSocketPath)
  }

  @Test("a deeply nested id in rpc.cancel is refused without being decoded")
  func deepID() throws {
    try AttackScript("deep_id.py").expectRefused(daemon.socketPath, daemon.adminSocketPath)
  }
}
