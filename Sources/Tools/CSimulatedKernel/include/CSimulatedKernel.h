#pragma once

#include <stdint.h>

// Replaces functions of the C library in the program that is linked with it, so that all code of
// the process, including the libraries', has the time of a simulation and none starts a thread.

/// Sets the times, in nanoseconds, that clock_gettime(2) and its relatives return from now on: the
/// time since boot and the UTC wall-clock time. All other threads, and the calling thread before
/// its first call, have the real times.
void simulated_kernel_set_time(uint64_t monotonic, uint64_t wall);

/// The time that passes, in nanoseconds, each time a clock is read.
void simulated_kernel_set_quantum(uint64_t quantum);

/// The nanoseconds by which reading the clocks has advanced them since the last call of
/// simulated_kernel_set_time().
uint64_t simulated_kernel_elapsed(void);

/// Ends the process with status 1 and a line on standard error after so many seconds of real time,
/// unless it is called again before. Finds code that never returns, for which no other thread is
/// there to look.
void simulated_kernel_watch(unsigned seconds, uint64_t seed);

/// The number of tasks and functions so far that did not run on the simulation's only thread: jobs
/// of Swift's global executor, and threads that were started.
int simulated_kernel_escapes(void);
