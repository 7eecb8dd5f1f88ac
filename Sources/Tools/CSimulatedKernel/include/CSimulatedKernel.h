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

/// Simulates a disk on which the files below a directory are. What is there already is synced. What
/// earlier calls said is forgotten. The directory has no directories in it. The path is real, and
/// has at most 190 bytes and no slash at its end. If it is empty, no file is simulated.
///
/// The files have other names beside the directory for as long as a name may come back: the path
/// with `.name-` and a number. A use of a file for which there is no simulation ends the process.
void simulated_disk_mount(const char *directory);

/// Copies the files to an empty directory, and simulates the disk there from now on: what the next
/// process finds after a kill. What was not synced is still not synced, and a disk that is full or
/// fails is still so. The descriptors that are open belong to the killed process and are not
/// simulated any more. The path is one as for simulated_disk_mount().
void simulated_disk_move(const char *directory);

enum simulated_disk_fault {
  /// All operations fail with EIO and have no effect, and simulated_disk_has_stopped() returns
  /// true, as if the process was killed before the first of them.
  SIMULATED_DISK_STOPS,
  /// One operation fails with EIO.
  SIMULATED_DISK_FAILS_ONCE,
  /// All operations fail with EIO.
  SIMULATED_DISK_FAILS,
  /// Opening a file fails with EMFILE.
  SIMULATED_DISK_NO_DESCRIPTORS,
};

/// Makes operations fail: opening, writing, syncing, truncating, renaming and removing files, but
/// not reading them. The first `after` operations from now on succeed. A disk can stop while
/// another failure lasts; otherwise the last call counts.
void simulated_disk_fail(enum simulated_disk_fault fault, uint64_t after);

/// Leaves the disk room for so many bytes more. Files need it for growing, but not for what is
/// overwritten; if they are truncated or removed, they give it back. A write for which the room is
/// not enough writes a part; without any room, it fails with ENOSPC.
void simulated_disk_fill(uint64_t room);

/// Ends the failures, except those of a disk that has stopped, and gives the disk room without end.
void simulated_disk_heal(void);

bool simulated_disk_has_stopped(void);

/// The number of operations so far.
uint64_t simulated_disk_operations(void);

/// Takes back a part of what was not synced, as a power failure does: writes sector by sector, but
/// changes of a file's size, and changes of names, only the last ones. No descriptor of the files
/// may be used until simulated_disk_move().
void simulated_disk_lose_power(uint64_t seed);

/// Called by close(2) before it closes a descriptor.
void simulated_disk_closes(int descriptor);
