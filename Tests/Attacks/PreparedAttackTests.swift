import Foundation
import Testing
import UsherTestKit

/// Attacks that start their own daemon, and a provider if they need one (`harness.py`).
@Suite(
  "Attacks that start their own daemon", .mayBlock, .ownProcess, .timeLimit(.minutes(10))
)
struct PreparedAttackTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  /// The scripts whose usage text says `NAME PROGRAMS`.
  private static let names: [String] = {
    let scripts = folder.appendingPathComponent("scripts").path
    let all = (try? FileManager.default.contentsOfDirectory(atPath: scripts)) ?? []
    return all.sorted().filter { name in
      let text = try? String(contentsOfFile: "\(scripts)/\(name)", encoding: .utf8)
      return text?.contains("\n    \(name) PROGRAMS") ?? false
    }
  }()

  @Test(
    "an attack script that starts its own daemon reports that the attack was refused",
    arguments: names)
  func refused(_ name: String) throws { try AttackScript.expectRefused(name) }

  @Test("each finding of the security reviews has an attack script")
  func everyFinding() throws {
    #expect(Self.names.contains("disk.py"))
    let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
    let listed = try run(root.appendingPathComponent("Packaging/attack").path, ["--list"])
    #expect(listed.status == 0, "\(listed.output)\(listed.errors)")
  }
}
