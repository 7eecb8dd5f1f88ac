#define _GNU_SOURCE

#include "CBench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// The keeper reads end-of-file from this socket when this process has ended.
static int line = -1;
static pid_t keeper = -1;

static void end_keeper(void) {
  close(line);
  while (keeper > 0 && waitpid(keeper, NULL, 0) < 0 && errno == EINTR) {
  }
}

// Keeps the process group in existence until it is killed.
static _Noreturn void hold(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (getppid() == parent) pause();
  _exit(0);
}

static void wait_for_end(void) {
  char byte;
  ssize_t count;
  do count = read(STDIN_FILENO, &byte, 1);
  while (count > 0 || (count < 0 && errno == EINTR));
}

// Only async-signal-safe functions may be called here, because the process was forked from a
// multithreaded one.
static _Noreturn void keep(int life, const char *directory) {
  // Signals for the other processes, such as those of a terminal, must not end the keeper.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  setpgid(0, 0);
  prctl(PR_SET_NAME, "usher-bench-end");
  // Standard error stays open until the end, so that its reader can wait for the clean-up.
  dup2(life, STDIN_FILENO);
  dup2(open("/dev/null", O_RDWR), STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  const pid_t own = getpid();
  const pid_t group = fork();
  if (group == 0) hold(own);
  if (group < 0 || setpgid(group, group) != 0 ||
      send(STDIN_FILENO, &group, sizeof group, MSG_NOSIGNAL) != sizeof group) {
    _exit(1);
  }
  wait_for_end();
  kill(-group, SIGKILL);
  waitpid(group, NULL, 0);
  // init reaps the killed processes. Some inits never do, so the wait is limited.
  for (int tries = 0; tries < 1000 && kill(-group, 0) == 0; tries++) usleep(1000);
  execl("/bin/rm", "rm", "-rf", "--", directory, (char *)NULL);
  _exit(1);
}

pid_t bench_keep(const char *directory) {
  int ends[2];
  if (keeper > 0) {
    errno = EALREADY;
    return -1;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  keeper = fork();
  if (keeper == 0) keep(ends[1], directory);
  const int reason = keeper < 0 ? errno : EAGAIN;
  close(ends[1]);
  pid_t group = -1;
  line = ends[0];
  if (keeper > 0 && recv(line, &group, sizeof group, MSG_WAITALL) == sizeof group &&
      atexit(end_keeper) == 0) {
    return group;
  }
  end_keeper();
  errno = reason;
  return -1;
}
