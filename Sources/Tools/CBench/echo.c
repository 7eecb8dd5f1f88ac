#define _GNU_SOURCE

#include "CBench.h"
#include "sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EVENTS = 256, READ_BYTES = 65536, REPLIES = 64 };

static int add(int loop, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  return epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
}

static size_t lines_in(const uint8_t *bytes, size_t count) {
  size_t lines = 0;
  const uint8_t *end = bytes + count;
  while (bytes < end && (bytes = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
    lines++;
    bytes++;
  }
  return lines;
}

// Never returns.
static void serve(int loop, int listener, const uint8_t *replies, size_t size) {
  static uint8_t buffer[READ_BYTES];
  struct epoll_event events[EVENTS];
  for (;;) {
    const int ready = epoll_wait(loop, events, EVENTS, -1);
    for (int place = 0; place < ready; place++) {
      const int descriptor = events[place].data.fd;
      if (descriptor == listener) {
        const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0 && add(loop, connection) != 0) close(connection);
        continue;
      }
      const ssize_t count = recv(descriptor, buffer, sizeof buffer, 0);
      size_t lines = count > 0 ? lines_in(buffer, (size_t)count) : 0;
      int trouble = count <= 0;
      while (lines > 0 && !trouble) {
        const size_t now = lines < REPLIES ? lines : REPLIES;
        trouble = bench_send(descriptor, replies, now * size);
        lines -= now;
      }
      if (trouble) close(descriptor);
    }
  }
}

int bench_echo(const char *path, const uint8_t *reply, size_t count) {
  struct sockaddr_un address;
  if (bench_address(path, &address) != 0) return errno;
  uint8_t *replies = malloc(REPLIES * count);
  if (replies == NULL) return ENOMEM;
  for (size_t place = 0; place < REPLIES; place++) memcpy(replies + place * count, reply, count);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  if (listener >= 0 && loop >= 0 &&
      bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
      listen(listener, 1024) == 0 && add(loop, listener) == 0) {
    serve(loop, listener, replies, count);
  }
  const int reason = errno;
  if (listener >= 0) close(listener);
  if (loop >= 0) close(loop);
  free(replies);
  return reason;
}
