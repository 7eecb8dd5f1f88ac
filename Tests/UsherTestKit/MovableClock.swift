import Foundation
import Synchronization

/// The clocks of a program under test, which a test moves while the program runs.
///
/// Only what the program reads moves: waits go on as they are.
package final class MovableClock: Sendable {
  private let place: Workplace
  private let passed = Mutex<Int64>(0)

  /// - Throws: Where there is no C compiler.
  package init() throws {
    place = try Workplace()
    try Data(count: 16).write(to: URL(fileURLWithPath: place.file("ahead")))
    let built = try run(
      "/usr/bin/env",
      ["clang", "-shared", "-fPIC", "-o", place.file("clock.so"), TestScript.movableClock])
    guard built.status == 0 else { throw TestTrouble("no clock: \(built.errors)") }
  }

  /// What the program is started with.
  package var environment: [String: String] {
    ["LD_PRELOAD": place.file("clock.so"), "USHER_TEST_AHEAD": place.file("ahead")]
  }

  /// Sets the wall clock, as an administrator may.
  ///
  /// - Parameter seconds: How far ahead of this machine's clock it is from now on; negative: behind.
  package func set(ahead seconds: Int64) throws {
    try write([seconds, passed.withLock { $0 }])
  }

  /// Lets time pass: both the wall clock and the clock that nobody sets go ahead.
  ///
  /// - Parameter seconds: Since the program began.
  package func pass(_ seconds: Int64) throws {
    passed.withLock { $0 = seconds }
    try write([seconds, seconds])
  }

  private func write(_ ahead: [Int64]) throws {
    guard let file = FileHandle(forWritingAtPath: place.file("ahead")) else {
      throw TestTrouble("the clock is gone")
    }
    // In place: the program has it mapped.
    try file.write(contentsOf: ahead.withUnsafeBytes { Data($0) })
    try file.close()
  }
}
