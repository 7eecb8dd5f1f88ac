#define _GNU_SOURCE
#include "CSystemd.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Static_assert(USHER_READABLE == (int)EPOLLIN && USHER_WRITABLE == (int)EPOLLOUT, "the kernel's");
_Static_assert(USHER_BROKEN == (int)EPOLLERR && USHER_HUNG_UP == (int)EPOLLHUP, "the kernel's");

int usher_epoll_create(void) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  return epoll < 0 ? -errno : epoll;
}

static int control(int epoll, int operation, int fd, uint64_t key, uint32_t events) {
  struct epoll_event event = {.events = events, .data.u64 = key};
  return epoll_ctl(epoll, operation, fd, &event) < 0 ? -errno : 0;
}

int usher_epoll_add(int epoll, int fd, uint64_t key, uint32_t events) {
  return control(epoll, EPOLL_CTL_ADD, fd, key, events);
}

int usher_epoll_change(int epoll, int fd, uint64_t key, uint32_t events) {
  return control(epoll, EPOLL_CTL_MOD, fd, key, events);
}

int usher_epoll_remove(int epoll, int fd) { return control(epoll, EPOLL_CTL_DEL, fd, 0, 0); }

static int wait_for(int epoll, struct epoll_event *events, int most, int64_t nanoseconds) {
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  int count = epoll_pwait2(epoll, events, most, nanoseconds < 0 ? NULL : &time, NULL);
  if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
  // epoll_pwait2 is missing before Linux 5.11, and under a system-call filter that does not know
  // it. epoll_wait has a resolution of milliseconds, but turns of the event loop are timed in
  // microseconds, so ppoll waits.
  struct pollfd any = {.fd = epoll, .events = POLLIN};
  if (ppoll(&any, 1, nanoseconds < 0 ? NULL : &time, NULL) < 0) return -1;
  return epoll_wait(epoll, events, most, 0);
}

int usher_epoll_wait(int epoll, uint64_t *keys, uint32_t *events, int most, int64_t nanoseconds) {
  struct epoll_event ready[USHER_MOST_READY];
  if (most > USHER_MOST_READY) most = USHER_MOST_READY;
  int count = wait_for(epoll, ready, most, nanoseconds);
  if (count < 0) return -errno;
  for (int index = 0; index < count; index++) {
    keys[index] = ready[index].data.u64;
    events[index] = ready[index].events;
  }
  return count;
}

int usher_wait_exactly(void) { return prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) < 0 ? -errno : 0; }

int usher_name_thread(const char *name) {
  return prctl(PR_SET_NAME, name, 0, 0, 0) < 0 ? -errno : 0;
}

int usher_accept(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

static int is_of(int fd, const uint32_t *uids, size_t count) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return 0;
  for (size_t index = 0; index < count; index++)
    if (uids[index] == peer.uid) return 1;
  return 0;
}

int usher_accept_others(int listener, const uint32_t *uids, size_t count, int *theirs, int most,
                        int below, int *found) {
  for (*found = 0; *found < most;) {
    int fd = usher_accept(listener);
    if (fd < 0 || !is_of(fd, uids, count)) return fd;
    theirs[(*found)++] = fd;
    if (fd >= below) break;
  }
  return -EBUSY;
}
