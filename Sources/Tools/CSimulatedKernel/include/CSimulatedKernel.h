#pragma once

#include <stdbool.h>
#include <stdint.h>

// Replaces functions of the C library in the program that is linked with it, so that all code of
// the process, including the libraries', has the time of a simulation, threads are counted, and
// the files below one directory can fail and lose what was not synced.

/// Sets the times, in nanoseconds, that clock_gettime(2) and its relatives return from now on: the
/// time since boot and the UTC wall-clock time. All other threads, and the calling thread before
/// its first call, have the real times.
void simulated_kernel_set_time(uint64_t monotonic, uint64_t wall);

/// Ends the process with status 1 and a line on standard error after so many seconds of real time,
/// unless it is called again before. Finds code that never returns, for which no other thread is
/// there to look.
void simulated_kernel_watch(unsigned seconds, uint64_t seed);

/// The number of tasks and functions so far that did not run on the simulation's only thread: jobs
/// of Swift's global executor, and threads that were started.
int simulated_kernel_escapes(void);

/// Makes programs that this process executes from now on have the same addresses in each run.
void simulated_kernel_fix_addresses(void);

/// Permits as many descriptors as the kernel does: a killed daemon does not close its own.
void simulated_kernel_raise_limits(void);

/// Descriptors from this number on are not simulated.
enum { SIMULATED_DESCRIPTORS = 65536 };

/// Says that a socket belongs to the simulated machine, until it is closed.
void simulated_kernel_own_socket(int descriptor);

/// Ends the connections of the machine's sockets, as the kernel does when a process is killed. The
/// descriptors stay open and lead to /dev/null, because objects that will never run again have
/// them.
void simulated_kernel_cut_sockets(void);

/// Simulates a disk on which the files below a directory are. What earlier calls said is forgotten.
/// The path has at most 190 bytes and no slash at its end. If it is empty, no file is simulated.
void simulated_disk_mount(const char *directory);

enum simulated_disk_fault {
  /// All operations fail with EIO and have no effect, and simulated_disk_has_stopped() returns
  /// true, as if the process was killed before the first of them.
  SIMULATED_DISK_STOPS,
  /// Operations that need space fail with ENOSPC.
  SIMULATED_DISK_FULL,
  /// One operation fails with EIO.
  SIMULATED_DISK_FAILS_ONCE,
  /// All operations fail with EIO.
  SIMULATED_DISK_FAILS,
  /// Opening a file fails with EMFILE.
  SIMULATED_DISK_NO_DESCRIPTORS,
};

/// Makes operations fail: opening, writing, syncing, truncating, renaming and removing files, but
/// not reading them. The first `after` operations from now on succeed.
void simulated_disk_fail(enum simulated_disk_fault fault, uint64_t after);

/// Ends the failures, except those of a disk that has stopped.
void simulated_disk_heal(void);

bool simulated_disk_has_stopped(void);

/// The number of operations so far.
uint64_t simulated_disk_operations(void);

/// Takes back a part of what was written since the last sync, sector by sector, as a power failure
/// does. No descriptor of the files may be used afterwards.
void simulated_disk_lose_power(uint64_t seed);

/// Called by close(2) before it closes a descriptor.
void simulated_disk_closes(int descriptor);
