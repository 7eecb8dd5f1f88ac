#define _GNU_SOURCE
#include "CSimulatedKernel.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// Whether the calling thread is the simulation's. Dispatch has threads of its own, whose timers
// must not follow the simulated time.
static _Thread_local bool is_simulated;
static uint64_t monotonic_ns, wall_ns;

void simulated_kernel_set_time(uint64_t monotonic, uint64_t wall) {
  is_simulated = true;
  monotonic_ns = monotonic;
  wall_ns = wall;
}

// The time that a thread or the process has used counts as the time since boot: the only thread
// never waits.
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!is_simulated) return (int)syscall(SYS_clock_gettime, clock, time);
  bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  uint64_t now = is_wall ? wall_ns : monotonic_ns;
  time->tv_sec = (time_t)(now / 1000000000);
  time->tv_nsec = (long)(now % 1000000000);
  return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}
