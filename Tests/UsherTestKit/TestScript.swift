import Foundation

/// A script next to this file, which tests run with `/usr/bin/python3`.
package enum TestScript {
  /// See as_user.py.
  package static let asUser = path("as_user.py")
  /// See movable_clock.c, which is compiled.
  static let movableClock = path("movable_clock.c")
  /// See take_number.py.
  package static let takeNumber = path("take_number.py")

  private static func path(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
  }
}
