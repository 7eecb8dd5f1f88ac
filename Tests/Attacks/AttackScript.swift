import Foundation
import Testing
import UsherTestKit

/// One program of `Tests/Attacks/scripts`, which tries to break a promise of the threat model.
///
/// Its exit status is the verdict: 0 refused, 1 succeeded, 2 unknown (the victim did not start or
/// does not work), 77 not possible on this machine.
struct AttackScript {
  let path: String

  /// - Parameter name: The file's name, such as `stall.py`.
  init(_ name: String) {
    path =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("scripts/\(name)").path
  }

  /// Runs an attack that starts its own daemon from the programs of this build.
  static func expectRefused(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let programs = URL(fileURLWithPath: BuiltProduct.path("usherd")).deletingLastPathComponent()
    try AttackScript(name).expectRefused(programs.path, sourceLocation: sourceLocation)
  }

  /// Runs the attack and expects it to be refused.
  ///
  /// - Parameters:
  ///   - launcher: A program that becomes the attacker, such as `["/usr/bin/setpriv", "--nnp"]`.
  ///   - seconds: The time after which the attack is killed and the test fails.
  func expectRefused(
    _ arguments: String..., launcher: [String] = [], within seconds: Double = 240,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let command = launcher + ["/usr/bin/python3", path] + arguments
    let ended = try run(command[0], Array(command.dropFirst()), within: seconds)
    if ended.status == 77 {
      print("SKIPPED, NOT PROVEN: the attack \(path) cannot be tried here: \(ended.output)")
      return
    }
    #expect(
      ended.status == 0, "status \(ended.status) in place of 0: \(ended.output)\(ended.errors)",
      sourceLocation: sourceLocation)
  }
}
