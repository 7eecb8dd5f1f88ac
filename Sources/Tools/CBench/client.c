#define _GNU_SOURCE

#include "CBench.h"
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_DEPTH = 64, EVENTS = 256, BUFFER_BYTES = 1 << 18 };
// The time within which missing replies must arrive, in nanoseconds.
static const uint64_t PATIENCE = 10000000000;

typedef struct {
  int descriptor;
  // The unanswered requests are in a ring of `depth` slots. `oldest` is the slot of the oldest one;
  // the others follow it.
  unsigned oldest;
  unsigned unanswered;
  // The start of an incomplete reply.
  size_t rest_bytes;
  uint8_t *rest;
  uint64_t sent[MOST_DEPTH];
} connection;

typedef struct {
  const bench_server *server;
  const bench_load *load;
  bench_result *result;
  char *error;
  int loop;
  connection *calling;
  int *idle;
  unsigned idle_count;
  // The requests of all slots, twice in a row, so that any sequence of slots is contiguous.
  uint8_t *requests;
  uint8_t *buffer;
  bench_histogram *times;
  size_t unanswered;
  int is_measuring;
  int is_ending;  // no more requests are sent
} bench_client;

static int fail(bench_client *client, const char *format, ...) {
  va_list words;
  va_start(words, format);
  vsnprintf(client->error, BENCH_ERROR, format, words);
  va_end(words);
  return -1;
}

// MARK: Connections

static int open_one(bench_client *client) {
  const int descriptor = bench_connect(client->server->path);
  if (descriptor < 0) fail(client, "cannot connect to %s: %s", client->server->path,
                           strerror(errno));
  return descriptor;
}

// Fills `count` slots with requests, starting with the oldest, and sends them together.
static int send_some(bench_client *client, connection *one, unsigned count, uint64_t now) {
  if (client->is_ending) return 0;
  const size_t size = client->server->request_bytes;
  client->unanswered += count;
  one->unanswered += count;
  for (unsigned place = 0; place < count; place++) {
    one->sent[(one->oldest + place) % client->load->depth] = now;
  }
  if (bench_send(one->descriptor, client->requests + one->oldest * size, count * size) == 0) {
    return 0;
  }
  return fail(client, "cannot send to %s: %s", client->server->path, strerror(errno));
}

// Connects, and sends as many requests as the load allows.
static int start(bench_client *client, connection *one) {
  const uint64_t now = bench_now();
  one->descriptor = open_one(client);
  if (one->descriptor < 0) return -1;
  one->oldest = 0;
  one->unanswered = 0;
  one->rest_bytes = 0;
  fcntl(one->descriptor, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
  if (epoll_ctl(client->loop, EPOLL_CTL_ADD, one->descriptor, &event) != 0) {
    return fail(client, "epoll: %s", strerror(errno));
  }
  return send_some(client, one, client->load->depth, now);
}

// Reads one reply from a blocking socket. Returns its size, or -1 with errno.
static ssize_t wait_for_reply(bench_framing framing, int descriptor, uint8_t *bytes) {
  size_t count = 0;
  while (count < BUFFER_BYTES) {
    const ssize_t more = recv(descriptor, bytes + count, BUFFER_BYTES - count, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    if (more == 0 && framing == BENCH_CLOSE) return (ssize_t)count;
    count += (size_t)more;
    const size_t size = bench_reply_size(framing, bytes, count);
    if (size != 0 && size != BENCH_BAD_REPLY) return (ssize_t)size;
    if (more == 0 || size == BENCH_BAD_REPLY) {
      errno = EPROTO;
      return -1;
    }
  }
  errno = EMSGSIZE;
  return -1;
}

static int open_idle(bench_client *client) {
  const bench_server *server = client->server;
  const unsigned wanted = client->load->idle + (client->load->half_line ? 1 : 0);
  for (; client->idle_count < wanted; client->idle_count++) {
    const int descriptor = open_one(client);
    if (descriptor < 0) return -1;
    client->idle[client->idle_count] = descriptor;
    const int is_half = client->idle_count >= client->load->idle;
    const size_t size = is_half ? server->request_bytes / 2 : server->request_bytes;
    if (bench_send(descriptor, server->request, size) != 0 ||
        (!is_half && wait_for_reply(server->framing, descriptor, client->buffer) < 0)) {
      const int reason = errno;
      client->idle_count++;
      return fail(client, "an idle connection got no reply: %s", strerror(reason));
    }
  }
  return 0;
}

// Returns the number of idle connections that the server has closed.
static unsigned closed_idle(const bench_client *client) {
  unsigned closed = 0;
  uint8_t byte;
  for (unsigned place = 0; place < client->idle_count; place++) {
    const ssize_t count = recv(client->idle[place], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN)) closed++;
  }
  return closed;
}

// MARK: Replies

static void has_reply(bench_client *client, connection *one, size_t size, uint64_t now) {
  if (size != client->server->reply_bytes) client->result->odd++;
  if (client->is_measuring) {
    client->result->replies++;
    bench_histogram_record(client->times, now - one->sent[one->oldest]);
  }
  one->oldest = (one->oldest + 1) % client->load->depth;
  one->unanswered--;
  client->unanswered--;
}

// Handles the complete replies in the buffer, sends a new request for each, and keeps the rest.
static int handle_replies(bench_client *client, connection *one, size_t count, uint64_t now) {
  const unsigned first = one->oldest;
  unsigned replies = 0;
  size_t place = 0;
  while (place < count) {
    const size_t size =
        bench_reply_size(client->server->framing, client->buffer + place, count - place);
    if (size == BENCH_BAD_REPLY) return fail(client, "a reply is malformed");
    if (size == 0) break;
    if (one->unanswered == 0) return fail(client, "more replies than requests");
    has_reply(client, one, size, now);
    place += size;
    replies++;
  }
  one->rest_bytes = count - place;
  if (one->rest_bytes > 0) {
    if (one->rest == NULL) one->rest = malloc(BUFFER_BYTES);
    if (one->rest == NULL) return fail(client, "out of memory");
    memcpy(one->rest, client->buffer + place, one->rest_bytes);
  }
  if (replies == 0) return 0;
  // The free slots are those that held the oldest requests.
  const unsigned next = one->oldest;
  one->oldest = first;
  const int error = send_some(client, one, replies, now);
  one->oldest = next;
  return error;
}

static int read_from(bench_client *client, connection *one) {
  if (one->rest_bytes > 0) memcpy(client->buffer, one->rest, one->rest_bytes);
  const size_t space = BUFFER_BYTES - one->rest_bytes;
  if (space == 0) return fail(client, "a reply is too long");
  const ssize_t count = recv(one->descriptor, client->buffer + one->rest_bytes, space, 0);
  const uint64_t now = bench_now();
  if (count > 0) return handle_replies(client, one, one->rest_bytes + (size_t)count, now);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count == 0 && client->server->framing == BENCH_CLOSE) {
    has_reply(client, one, one->rest_bytes, now);
  } else {
    client->result->closed++;
    client->unanswered -= one->unanswered;
  }
  close(one->descriptor);
  one->descriptor = -1;
  return client->is_ending ? 0 : start(client, one);
}

// MARK: The measure

static double seconds_of(clockid_t clock) {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double server_seconds(const bench_server *server) {
  double seconds = 0;
  for (size_t place = 0; place < server->pid_count; place++) {
    clockid_t clock;
    if (clock_getcpuclockid(server->pids[place], &clock) == 0) seconds += seconds_of(clock);
  }
  return seconds;
}

// Waits for events for at most ten milliseconds, and handles them.
static int step(bench_client *client) {
  struct epoll_event events[EVENTS];
  const int ready = epoll_wait(client->loop, events, EVENTS, 10);
  for (int place = 0; place < ready; place++) {
    if (read_from(client, events[place].data.ptr) != 0) return -1;
  }
  return 0;
}

// Waits for the outstanding replies, so that no connection is closed before its reply.
static int finish(bench_client *client) {
  client->is_measuring = 0;
  client->is_ending = 1;
  const uint64_t end = bench_now() + PATIENCE;
  while (client->unanswered > 0) {
    if (bench_now() >= end) return fail(client, "%zu replies are missing", client->unanswered);
    if (step(client) != 0) return -1;
  }
  return 0;
}

static int measure(bench_client *client) {
  bench_result *result = client->result;
  const uint64_t begin = bench_now() + (uint64_t)(client->load->warm_seconds * 1e9);
  const uint64_t end = begin + (uint64_t)(client->load->seconds * 1e9);
  uint64_t begun = 0;
  double client_cpu = 0, server_cpu = 0;
  for (;;) {
    const uint64_t now = bench_now();
    // On a busy machine, the server may not have had any processor time yet.
    if (now >= end && (result->replies > 0 || now >= end + PATIENCE)) {
      result->server_cpu_seconds = server_seconds(client->server) - server_cpu;
      result->client_cpu_seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID) - client_cpu;
      result->seconds = (double)(now - begun) / 1e9;
      return finish(client);
    }
    if (!client->is_measuring && now >= begin) {
      client->is_measuring = 1;
      begun = now;
      server_cpu = server_seconds(client->server);
      client_cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    }
    if (step(client) != 0) return -1;
  }
}

static int run(bench_client *client) {
  const bench_load *load = client->load;
  const size_t size = client->server->request_bytes;
  for (unsigned slot = 0; slot < 2 * load->depth; slot++) {
    const size_t which = slot % load->depth % client->server->requests;
    memcpy(client->requests + slot * size, client->server->request + which * size, size);
  }
  if (open_idle(client) != 0) return -1;
  for (unsigned place = 0; place < load->connections; place++) {
    if (start(client, &client->calling[place]) != 0) return -1;
  }
  if (measure(client) != 0) return -1;
  client->result->closed += closed_idle(client);
  client->result->p50 = bench_histogram_at(client->times, 0.5);
  client->result->p99 = bench_histogram_at(client->times, 0.99);
  client->result->p999 = bench_histogram_at(client->times, 0.999);
  client->result->longest = bench_histogram_at(client->times, 1);
  return 0;
}

static int prepare_and_run(bench_client *client) {
  const bench_load *load = client->load;
  if (load->depth == 0 || load->depth > MOST_DEPTH || client->server->requests == 0 ||
      (client->server->framing == BENCH_CLOSE && (load->depth != 1 || load->idle != 0))) {
    return fail(client, "unsupported load");
  }
  client->loop = epoll_create1(EPOLL_CLOEXEC);
  client->calling = calloc(load->connections, sizeof *client->calling);
  client->idle = calloc(load->idle + 1, sizeof *client->idle);
  client->requests = malloc(2 * load->depth * client->server->request_bytes);
  client->buffer = malloc(BUFFER_BYTES);
  client->times = bench_histogram_new();
  if (client->loop < 0 || client->calling == NULL || client->idle == NULL ||
      client->requests == NULL || client->buffer == NULL || client->times == NULL) {
    return fail(client, "out of memory or descriptors");
  }
  for (unsigned place = 0; place < load->connections; place++) {
    client->calling[place].descriptor = -1;
  }
  const int error = run(client);
  for (unsigned place = 0; place < load->connections; place++) {
    if (client->calling[place].descriptor >= 0) close(client->calling[place].descriptor);
    free(client->calling[place].rest);
  }
  for (unsigned place = 0; place < client->idle_count; place++) close(client->idle[place]);
  return error;
}

int bench_run(const bench_server *server, const bench_load *load, bench_result *result,
              char error[BENCH_ERROR]) {
  memset(result, 0, sizeof *result);
  cpu_set_t before, wanted;
  const int is_moved = load->cpu >= 0 && sched_getaffinity(0, sizeof before, &before) == 0;
  if (is_moved) {
    CPU_ZERO(&wanted);
    CPU_SET(load->cpu, &wanted);
    sched_setaffinity(0, sizeof wanted, &wanted);
  }
  bench_client client = {.server = server, .load = load, .result = result, .error = error,
                         .loop = -1};
  const int status = prepare_and_run(&client);
  if (client.loop >= 0) close(client.loop);
  free(client.calling);
  free(client.idle);
  free(client.requests);
  free(client.buffer);
  bench_histogram_free(client.times);
  if (is_moved) sched_setaffinity(0, sizeof before, &before);
  return status;
}

ssize_t bench_ask(const bench_server *server, uint8_t *reply, size_t capacity) {
  uint8_t *bytes = malloc(BUFFER_BYTES);
  const int descriptor = bytes == NULL ? -1 : bench_connect(server->path);
  ssize_t size = -1;
  if (descriptor >= 0 && bench_send(descriptor, server->request, server->request_bytes) == 0) {
    size = wait_for_reply(server->framing, descriptor, bytes);
  }
  const int reason = errno;
  if (size > 0) memcpy(reply, bytes, (size_t)size < capacity ? (size_t)size : capacity);
  if (descriptor >= 0) close(descriptor);
  free(bytes);
  errno = reason;
  return size;
}
