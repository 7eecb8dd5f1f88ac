// Moves the clocks that a program reads, with LD_PRELOAD. The file $USHER_TEST_AHEAD contains the
// seconds as int64_t: first for the wall clock, then, optionally, for the time since boot. Used by
// MovableClock.swift and the attacks' harness.py.

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
    // Bytes of the page after the end of the file are zero.
    void *page = mmap(0, 2 * sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) abort();
    seconds = page;
  }
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && ahead()) time->tv_sec += ahead()[0];
  if (result == 0 && clock == CLOCK_BOOTTIME && ahead()) time->tv_sec += ahead()[1];
  return result;
}
