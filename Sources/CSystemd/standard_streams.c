#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// Opens the standard streams that were closed at exec. Otherwise a socket or timer would get the
// number of a closed one and receive what is written to standard error. Runs before main and before
// any library opens a descriptor.
__attribute__((constructor)) static void open_standard_streams(void) {
  for (int number = 0; number <= 2; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // open(2) returns the lowest free number, which is `number`.
    if (open("/dev/null", O_RDWR) != number) abort();
  }
}
