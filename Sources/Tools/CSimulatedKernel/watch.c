#include "CSimulatedKernel.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char message[80];

static void report(int signal) {
  (void)signal;
  ssize_t written = write(STDERR_FILENO, message, strlen(message));
  (void)written;
  _exit(1);
}

void simulated_kernel_watch(unsigned seconds, uint64_t seed) {
  snprintf(message, sizeof message, "seed %" PRIu64 ": not finished after %u s\n", seed, seconds);
  signal(SIGALRM, report);
  alarm(seconds);
}
