import Foundation
import UsherTestKit

extension FreedomScene {
  /// Kills the daemon and starts it again with a wall clock that is ahead by so many seconds.
  ///
  /// The provider's clock stays as it is.
  func restart(ahead seconds: Int) throws {
    let place = try Workplace()
    try place.write(Self.clock, to: "ahead.c")
    let library = daemon.place.file("ahead.so")
    let built = try run(
      "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, place.file("ahead.c")])
    guard built.status == 0 else { throw TestTrouble("no clock: \(built.errors)") }
    try daemon.restart(
      environment: environment.merging([
        "LD_PRELOAD": library, "USHER_TEST_AHEAD": String(seconds),
      ]) { $1 })
  }

  private static let clock = """
    #include <stdlib.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>

    int clock_gettime(clockid_t clock, struct timespec *time) {
      int result = (int)syscall(SYS_clock_gettime, clock, time);
      const char *ahead = getenv("USHER_TEST_AHEAD");
      if (result == 0 && clock == CLOCK_REALTIME && ahead) time->tv_sec += atol(ahead);
      return result;
    }

    """
}
