import Foundation

/// A wall clock of a program under test that a test moves while the program runs.
///
/// Only what the program takes for the time of day moves: waits go on as they are.
package final class MovableClock: Sendable {
  private let place: Workplace

  /// - Throws: Where there is no C compiler.
  package init() throws {
    place = try Workplace()
    try Data(count: 8).write(to: URL(fileURLWithPath: place.file("ahead")))
    let built = try run(
      "/usr/bin/env",
      ["clang", "-shared", "-fPIC", "-o", place.file("clock.so"), TestScript.movableClock])
    guard built.status == 0 else { throw TestTrouble("no clock: \(built.errors)") }
  }

  /// What the program is started with.
  package var environment: [String: String] {
    ["LD_PRELOAD": place.file("clock.so"), "USHER_TEST_AHEAD": place.file("ahead")]
  }

  /// - Parameter seconds: How far ahead of this machine's clock it is from now on; negative: behind.
  package func set(ahead seconds: Int64) throws {
    guard let file = FileHandle(forWritingAtPath: place.file("ahead")) else {
      throw TestTrouble("the clock is gone")
    }
    // In place: the program has it mapped.
    try file.write(contentsOf: withUnsafeBytes(of: seconds) { Data($0) })
    try file.close()
  }
}
