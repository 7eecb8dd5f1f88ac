import Foundation
import Testing
import UsherTestKit

@Suite("Attacks on the configuration", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct ConfigurationAttackTests {
  @Test("a file in the home directory of the daemon's user does not replace root's configuration")
  func home() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    try AttackScript("config_home.py").expectRefused(
      BuiltProduct.path("usherd"), root.appendingPathComponent("Units/usherd.service").path)
  }
}
