#define _GNU_SOURCE

#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 10 };

int bench_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address->sun_path, path);
  return 0;
}

int bench_connect(const char *path) {
  struct sockaddr_un address;
  if (bench_address(path, &address) != 0) return -1;
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  // SO_SNDTIMEO also limits the wait of connect(2) for a place in the server's backlog.
  const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(descriptor, (const struct sockaddr *)&address, sizeof address) == 0) {
    return descriptor;
  }
  const int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

int bench_send(int descriptor, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    const ssize_t sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes += sent;
      count -= (size_t)sent;
    } else if (errno == EAGAIN) {
      struct pollfd space = {.fd = descriptor, .events = POLLOUT};
      if (poll(&space, 1, PATIENCE_SECONDS * 1000) == 0) {
        errno = ETIMEDOUT;
        return -1;
      }
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return 0;
}

uint64_t bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
