import Foundation

/// A wall clock of a program under test that a test moves while the program runs.
///
/// Only what the program takes for the time of day moves: waits go on as they are.
package final class MovableClock: Sendable {
  private let place: Workplace

  /// - Throws: Where there is no C compiler.
  package init() throws {
    place = try Workplace()
    try place.write(Self.source, to: "clock.c")
    try Data(count: 8).write(to: URL(fileURLWithPath: place.file("ahead")))
    let built = try run(
      "/usr/bin/env",
      ["clang", "-shared", "-fPIC", "-o", place.file("clock.so"), place.file("clock.c")])
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

  private static let source = """
    #include <fcntl.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>

    static volatile int64_t *ahead(void) {
      static volatile int64_t *seconds;
      const char *path = seconds ? 0 : getenv("USHER_TEST_AHEAD");
      if (path) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        void *page = mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (page == MAP_FAILED) abort();
        seconds = page;
      }
      return seconds;
    }

    int clock_gettime(clockid_t clock, struct timespec *time) {
      int result = (int)syscall(SYS_clock_gettime, clock, time);
      if (result == 0 && clock == CLOCK_REALTIME && ahead()) time->tv_sec += *ahead();
      return result;
    }

    """
}
