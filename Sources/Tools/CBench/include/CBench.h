// What measures must not be slowed by: a client of many connections on one thread, the plainest of
// servers, and a histogram of times. Times are nanoseconds of CLOCK_MONOTONIC. And what Swift cannot
// do: a process that is not another program's.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Times

// Counts of times in steps of 1/256 of a time at most, exact below 512 ns, up to 2^41 ns (36 min);
// what is longer counts as that. NULL where there is no memory.
typedef struct bench_histogram bench_histogram;
bench_histogram *bench_histogram_new(void);
void bench_histogram_free(bench_histogram *histogram);
void bench_histogram_record(bench_histogram *histogram, uint64_t time);
// The time within which that share (0.99) of all lay: the highest of its step, and never above the
// longest. 0 where nothing was recorded.
uint64_t bench_histogram_at(const bench_histogram *histogram, double share);
uint64_t bench_histogram_total(const bench_histogram *histogram);

// MARK: Replies

// By what a reply ends.
typedef enum {
  BENCH_LINE,      // a newline: usherd
  BENCH_BULK,      // as "$4\r\nabcd\r\n" tells its length: redis
  BENCH_LENGTH32,  // as its first four bytes tell, highest first: ssh-agent
  BENCH_CLOSE,     // the connection's end, and each request has a connection: oidc-agent
} bench_framing;

#define BENCH_BAD_REPLY ((size_t)-1)

// The size of the whole reply that the bytes begin with; 0 where its end is not among them (always
// with BENCH_CLOSE); BENCH_BAD_REPLY where it cannot be one.
size_t bench_reply_size(bench_framing framing, const uint8_t *bytes, size_t count);

// MARK: The client

typedef struct {
  const char *path;        // of its Unix socket
  bench_framing framing;
  const uint8_t *request;  // one after another: requests of the same size, each answered alike
  size_t request_bytes;    // of one
  size_t requests;         // how many; a connection sends them in turn
  size_t reply_bytes;      // of each reply
  const pid_t *pids;       // whose CPU time is told
  size_t pid_count;
} bench_server;

typedef struct {
  unsigned connections;  // that call, each again when a reply has come
  unsigned depth;        // requests of a connection that are not answered, at most 64
  unsigned idle;         // connections that have called once
  int half_line;         // 1: and one that has sent the half of a request
  int cpu;               // the thread runs there meanwhile; -1: anywhere
  double warm_seconds;   // before the measured ones
  double seconds;        // measured, and at most ten more until the first reply
} bench_load;

typedef struct {
  uint64_t replies;  // within the measured seconds
  uint64_t odd;      // of another size, at any time
  uint64_t closed;   // connections that the server has ended, idle ones too
  double seconds;
  double client_cpu_seconds;
  // Of all threads of all its processes: as utime and stime in /proc/PID/stat, but unrounded.
  double server_cpu_seconds;
  uint64_t p50, p99, p999, longest;
} bench_result;

#define BENCH_TROUBLE 200

// Makes the load and measures it. 0, or -1 with what went wrong in `trouble`.
int bench_run(const bench_server *server, const bench_load *load, bench_result *result,
              char trouble[BENCH_TROUBLE]);

// Makes the first request once, on a connection of its own, and waits ten seconds at most. The
// reply's size (it may be larger than `capacity`, of which no more is written), or -1 with errno.
ssize_t bench_ask(const bench_server *server, uint8_t *reply, size_t capacity);

// MARK: The echo

// Answers every line on a Unix socket with the same bytes, without looking at it. Returns only where
// it cannot begin: errno.
int bench_echo(const char *path, const uint8_t *reply, size_t count);

// MARK: Processors

// The processors this process may run on, lowest first; how many there are.
int bench_cpus(int *cpus, int capacity);

// Keeps all threads of a process on one. 0, or errno.
int bench_pin(pid_t pid, int cpu);

// MARK: The end

// Once in a process: when that has ended, by whatever, SIGKILL too, the processes of a group are
// killed, and then a directory is removed with all that is in it; exit(3) waits for that. The group,
// which is empty but for its keeper, or -1 with errno.
pid_t bench_keep(const char *directory);
