#define _GNU_SOURCE
#include "CSystemd.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// The headers of Debian 12 lack these constants, although its kernel supports them.
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int usher_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
  struct ucred who;
  socklen_t size = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) return -errno;
  *pid = who.pid;
  *uid = who.uid;
  *gid = who.gid;
  return 0;
}

int usher_peer_groups(int fd, uint32_t *groups, size_t *count) {
  socklen_t size = (socklen_t)(*count * sizeof *groups);
  int result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0 ? -errno : 0;
  if (result == 0 || result == -ERANGE) *count = size / sizeof *groups;
  return result;
}

int usher_peer_pidfd(int fd) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 ? -errno : pidfd;
}

int usher_pidfd_open(int32_t pid) {
  int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  return pidfd < 0 ? -errno : pidfd;
}

int usher_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0; }

int usher_is_dumpable(void) {
  int result = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  return result < 0 ? -errno : result;
}
