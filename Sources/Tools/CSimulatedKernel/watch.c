#include "CSimulatedKernel.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
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

// If the kernel refuses it, the order of a few collections may differ between two processes.
void simulated_kernel_fix_addresses(void) { personality(ADDR_NO_RANDOMIZE); }

void simulated_kernel_raise_limits(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}
