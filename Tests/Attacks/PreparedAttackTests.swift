import Foundation
import Testing
import UsherTestKit

/// Attacks that start a daemon, and a provider where they need one, by themselves (`harness.py`).
@Suite(
  "Attacks that prepare their victim", .mayBlock, .ownProcess, .timeLimit(.minutes(10))
)
struct PreparedAttackTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  /// The scripts that are used by `NAME PROGRAMS`, as their text says.
  private static let names: [String] = {
    let scripts = folder.appendingPathComponent("scripts").path
    let all = (try? FileManager.default.contentsOfDirectory(atPath: scripts)) ?? []
    return all.sorted().filter { name in
      let text = try? String(contentsOfFile: "\(scripts)/\(name)", encoding: .utf8)
      return text?.contains("\n    \(name) PROGRAMS") ?? false
    }
  }()

  @Test("each is refused", arguments: names)
  func refused(_ name: String) throws { try AttackScript.expectRefused(name) }

  @Test("each finding of the reviews has a script")
  func everyFinding() throws {
    #expect(Self.names.contains("disk.py"))
    let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
    let listed = try run(root.appendingPathComponent("Packaging/attack").path, ["--list"])
    #expect(listed.status == 0, "\(listed.output)\(listed.errors)")
  }
}
