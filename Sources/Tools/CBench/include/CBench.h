// The parts of usher-bench that must be fast: a client with many connections on one thread, a
// minimal server, and a histogram of times. Also a process for clean-up, made with fork(2), which
// Swift does not offer. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Times

// A histogram with a resolution of at least 1/256 of the value, exact below 512 ns, up to 2^41 ns
// (36 min); longer times count as that. NULL if there is no memory.
typedef struct bench_histogram bench_histogram;
bench_histogram *bench_histogram_new(void);
void bench_histogram_free(bench_histogram *histogram);
void bench_histogram_record(bench_histogram *histogram, uint64_t time);
// Returns the time within which this share (0.99 for example) of all values lies: the upper end of
// its step, but at most the longest recorded time. Returns 0 if nothing was recorded.
uint64_t bench_histogram_at(const bench_histogram *histogram, double share);
uint64_t bench_histogram_total(const bench_histogram *histogram);

// MARK: Replies

// How the end of a reply is found.
typedef enum {
  BENCH_LINE,      // at a newline: usherd
  BENCH_BULK,      // by the length in "$4\r\nabcd\r\n": Redis
  BENCH_LENGTH32,  // by the first four bytes, big-endian: ssh-agent
  BENCH_CLOSE,     // at the end of the connection, one per request: oidc-agent
} bench_framing;

#define BENCH_BAD_REPLY ((size_t)-1)

// Returns the size of the reply at the start of the bytes; 0 if it is incomplete (always with
// BENCH_CLOSE); BENCH_BAD_REPLY if it is malformed.
size_t bench_reply_size(bench_framing framing, const uint8_t *bytes, size_t count);

// MARK: The client

typedef struct {
  const char *path;        // the server's Unix socket
  bench_framing framing;
  const uint8_t *request;  // requests of one size with replies of one size
  size_t request_bytes;    // the size of one request
  size_t requests;         // their number; a connection sends them in turn
  size_t reply_bytes;      // the size of one reply
  const pid_t *pids;       // the processes whose CPU time is measured
  size_t pid_count;
} bench_server;

typedef struct {
  unsigned connections;  // each sends a new request after a reply
  unsigned depth;        // unanswered requests per connection, at most 64
  unsigned idle;         // connections that send one request
  int half_line;         // 1: one more connection that sends half a request
  int cpu;               // the processor of this thread; -1: any
  double warm_seconds;   // before the measurement
  double seconds;        // of the measurement; at most ten more until the first reply
} bench_load;

typedef struct {
  uint64_t replies;  // during the measurement
  uint64_t odd;      // replies of another size, at any time
  uint64_t closed;   // connections that the server closed, idle ones included
  double seconds;
  double client_cpu_seconds;
  // The processor time of all threads of all processes of the server: utime and stime of
  // /proc/PID/stat, without their rounding.
  double server_cpu_seconds;
  uint64_t p50, p99, p999, longest;
} bench_result;

#define BENCH_ERROR 200

// Applies the load and measures it. Returns 0, or -1 with the cause in `error`.
int bench_run(const bench_server *server, const bench_load *load, bench_result *result,
              char error[BENCH_ERROR]);

// Sends the first request once, on a connection of its own, and waits for at most ten seconds.
// Returns the size of the reply, of which at most `capacity` bytes are written, or -1 with errno.
ssize_t bench_ask(const bench_server *server, uint8_t *reply, size_t capacity);

// MARK: The echo

// Replies to every line on a Unix socket with the same bytes, without reading the line. Returns
// errno if the server cannot start; otherwise does not return.
int bench_echo(const char *path, const uint8_t *reply, size_t count);

// MARK: Processors

// Writes the processors that this process may use, lowest first. Returns their number, which may
// exceed `capacity`.
int bench_cpus(int *cpus, int capacity);

// Restricts all threads of a process to one processor. Returns 0 or errno.
int bench_pin(pid_t pid, int cpu);

// MARK: The end

// Starts a keeper process; works once per process. When this process ends for any reason, SIGKILL
// included, the keeper kills the processes of a group and then removes a directory with its
// contents; exit(3) waits for that. Returns the group, which contains only one process of the
// keeper's, or -1 with errno.
pid_t bench_keep(const char *directory);
