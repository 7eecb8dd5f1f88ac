#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// Runs before main, and before a library opens a descriptor. Where 0, 1 or 2 was closed at exec, a
// socket or a timer would get that number, and what is written to standard error would go into it.
__attribute__((constructor)) static void open_standard_streams(void) {
  for (int number = 0; number <= 2; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // The lowest free number is this one.
    if (open("/dev/null", O_RDWR) != number) abort();
  }
}
