import Foundation
import Testing
import UsherTestKit

/// Attacks that start a daemon, and a provider where they need one, by themselves (`harness.py`).
@Suite("Attacks that prepare their victim", .serialized, .timeLimit(.minutes(10)))
struct PreparedAttackTests {
  @Test(
    "each is refused",
    arguments: [
      "broken_rule.py", "clock.py", "contract.py", "disk.py", "event_cursor.py", "namespaces.py",
      "retry_after.py", "rotated_key.py", "shared_redirect.py", "unread_batches.py",
      "userinfo_429.py",
    ])
  func refused(_ name: String) throws { try AttackScript.expectRefused(name) }

  @Test("each finding of the reviews has a script")
  func everyFinding() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let listed = try run(
      root.appendingPathComponent("Packaging/attack").path, ["--list"])
    #expect(listed.status == 0, "\(listed.output)\(listed.errors)")
  }
}
