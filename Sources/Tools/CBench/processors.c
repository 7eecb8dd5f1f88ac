#define _GNU_SOURCE

#include "CBench.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int bench_cpus(int *cpus, int capacity) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  int count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &set)) continue;
    if (count < capacity) cpus[count] = cpu;
    count++;
  }
  return count;
}

// A new thread inherits the processors of the thread that starts it. The second call moves threads
// that were started by a thread that was not yet moved.
static int pin_threads(const char *threads, const cpu_set_t *set) {
  DIR *directory = opendir(threads);
  if (directory == NULL) return errno == ENOENT ? ESRCH : errno;
  int trouble = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    const pid_t thread = (pid_t)atoi(entry->d_name);
    if (thread <= 0) continue;
    // A thread that has ended in the meantime is no error.
    if (sched_setaffinity(thread, sizeof *set, set) != 0 && errno != ESRCH) trouble = errno;
  }
  closedir(directory);
  return trouble;
}

int bench_pin(pid_t pid, int cpu) {
  char threads[64];
  snprintf(threads, sizeof threads, "/proc/%d/task", (int)pid);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const int trouble = pin_threads(threads, &set);
  return trouble != 0 ? trouble : pin_threads(threads, &set);
}
