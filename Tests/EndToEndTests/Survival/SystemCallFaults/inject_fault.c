/* Runs a program in which one system call fails, without being executed, with a chosen error.

   inject_fault LOG CALL ERRNO POSITION PROGRAM ARGUMENT...

   CALL is a name of CALLS, ERRNO a number, POSITION the call's number among all calls of that name
   of the process, from 1. If CALL is "count", no call fails. When the program has ended, LOG has a
   line "count NAME NUMBER" for each watched call, and a line "failed …" that describes the call.

   strace -e inject= counts the calls of each thread, so it makes a call of every thread fail, and
   the failing calls of the loader hide those of the other threads. Here a second process decides
   about each call of the first one by seccomp_unotify(2), which also needs no right to trace. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The compiler's command line defines CALLS: C(openat) C(read) … */
#define C(name) {#name, SYS_##name},
static const struct { const char *name; int number; } calls[] = {CALLS};
#define CALL_COUNT (sizeof calls / sizeof calls[0])

/* Shared by both processes. `state` is 1 when the supervisor is ready, and 2 when it has failed. */
static struct { atomic_int listener, state; } *shared;
static const char *wanted;
static unsigned long counts[CALL_COUNT], position;

static void fail(const char *what) {
  fprintf(stderr, "inject_fault: %s: %s\n", what, strerror(errno));
  if (shared) atomic_store(&shared->state, 2);
  _exit(77);
}

/* Describes a call: its thread, its arguments, and the file or path that they name. */
static void describe(FILE *log, const char *name, const struct seccomp_notif *call) {
  const unsigned long long *arguments = call->data.args;
  char path[64], text[200] = "", thread[32] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", call->pid);
  int file = open(path, O_RDONLY);
  if (file >= 0 && read(file, thread, sizeof thread - 1) > 0) thread[strcspn(thread, "\n")] = 0;
  close(file);
  fprintf(log, "failed %s(0x%llx, 0x%llx, 0x%llx) in %s", name, arguments[0], arguments[1],
          arguments[2], thread);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", call->pid, (int)arguments[0]);
  if (readlink(path, text, sizeof text - 1) > 0) fprintf(log, " of %s", text);
  snprintf(path, sizeof path, "/proc/%d/mem", call->pid);
  file = open(path, O_RDONLY);
  for (int which = 0; which < 2; which++) {
    memset(text, 0, sizeof text);
    if (pread(file, text, sizeof text - 1, (off_t)arguments[which]) > 1 && text[0] == '/')
      fprintf(log, " at %s", text);
  }
  close(file);
  fprintf(log, "\n");
  fflush(log);
}

/* Returns whether the kernel never lets a call fail: a read or write of an eventfd, a timer or a
   file of /proc, and a change in an epoll instance other than an addition. */
static int never_fails(const struct seccomp_notif *call) {
  char path[64], text[64] = "";
  if (call->data.nr == SYS_epoll_ctl) return call->data.args[1] != EPOLL_CTL_ADD;
  if (call->data.nr != SYS_read && call->data.nr != SYS_write) return 0;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", call->pid, (int)call->data.args[0]);
  return readlink(path, text, sizeof text - 1) > 0 &&
         (!strncmp(text, "anon_inode:", 11) || !strncmp(text, "/proc/", 6));
}

/* Answers each watched call until the program has ended. */
static void supervise(int listener, int error, FILE *log) {
  for (;;) {
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    if (poll(&ready, 1, -1) < 0) continue;
    if (!(ready.revents & POLLIN)) break;
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) continue;
    struct seccomp_notif_resp answer = {
        .id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    size_t which = 0;
    while (which < CALL_COUNT - 1 && calls[which].number != call.data.nr) which++;
    if (!never_fails(&call) && ++counts[which] == position && !strcmp(wanted, calls[which].name)) {
      describe(log, wanted, &call);
      answer.flags = 0;
      answer.error = -error;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  for (size_t which = 0; which < CALL_COUNT; which++)
    if (counts[which]) fprintf(log, "count %s %lu\n", calls[which].name, counts[which]);
  fprintf(log, "end\n");
  fclose(log);
}

/* Starts the supervisor, which shares this process's descriptors until it has the listener. It is a
   grandchild, so that the program has no child that it does not know. */
static void start_supervisor(const char *path, int error) {
  pid_t child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (child < 0) fail("clone");
  if (child > 0) {
    waitpid(child, NULL, 0);
    return;
  }
  if (syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0) != 0) _exit(0);
  int listener;
  for (int tries = 0; (listener = atomic_load(&shared->listener)) < 0; tries++) {
    if (atomic_load(&shared->state) == 2 || tries == 100000) _exit(77);
    usleep(100);
  }
  if (unshare(CLONE_FILES) != 0) fail("unshare");
  FILE *log = fopen(path, "w");
  if (!log) fail(path);
  atomic_store(&shared->state, 1);
  supervise(listener, error, log);
  _exit(0);
}

/* Makes the kernel ask the supervisor about the watched calls of this process. */
static int install_filter(void) {
  struct sock_filter filter[2 * CALL_COUNT + 5] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 4;
  for (size_t which = 0; which < CALL_COUNT; which++) {
    if (strcmp(wanted, "count") && strcmp(wanted, calls[which].name)) continue;
    filter[length++] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[which].number, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {.len = length, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("prctl");
  /* A signal must not interrupt a call that the supervisor has seen: it would be counted twice. */
  return (int)syscall(
      SYS_seccomp, SECCOMP_SET_MODE_FILTER,
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

int main(int count, char **arguments) {
  if (count < 6) return 64;
  wanted = arguments[2];
  position = strtoul(arguments[4], NULL, 10);
  void *memory =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  shared = memory;
  atomic_store(&shared->listener, -1);
  start_supervisor(arguments[1], atoi(arguments[3]));
  int listener = install_filter();
  if (listener < 0) fail("seccomp");
  atomic_store(&shared->listener, listener);
  /* From here on until execve(2) no call that may be watched is made. */
  while (!atomic_load(&shared->state)) __builtin_ia32_pause();
  if (atomic_load(&shared->state) != 1) _exit(77);
  execv(arguments[5], arguments + 5);
  _exit(127);
}
