#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// Runs before main and before any library opens a descriptor. If 0, 1 or 2 was closed at exec, a
// socket or timer would get that number and receive what is written to standard error.
__attribute__((constructor)) static void open_standard_streams(void) {
  for (int number = 0; number <= 2; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // open returns the lowest free number, which is this one.
    if (open("/dev/null", O_RDWR) != number) abort();
  }
}
