import Foundation

/// The sources of programs next to this file; the `.py` files run with `/usr/bin/python3`.
package enum TestScript {
  /// The script that connects to a socket, or gets a page, as another user of this machine.
  package static let asUser = path("as_user.py")
  /// The C source of the library that moves the clocks of a program by LD_PRELOAD.
  static let movableClock = path("movable_clock.c")
  /// The script that runs a command with a chosen free process id.
  package static let takeNumber = path("take_number.py")

  private static func path(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
  }
}
