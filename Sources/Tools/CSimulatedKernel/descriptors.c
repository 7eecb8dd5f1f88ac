#define _GNU_SOURCE
#include "CSimulatedKernel.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_of_machine[SIMULATED_DESCRIPTORS];

static bool is_small(int descriptor) {
  return descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS;
}

void simulated_kernel_own_socket(int descriptor) {
  if (is_small(descriptor)) is_of_machine[descriptor] = true;
}

void simulated_kernel_cut_sockets(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int descriptor = 0; descriptor < SIMULATED_DESCRIPTORS; descriptor++) {
    if (!is_of_machine[descriptor]) continue;
    dup3(null, descriptor, O_CLOEXEC);
    is_of_machine[descriptor] = false;
  }
  close(null);
}

int close(int descriptor) {
  if (is_small(descriptor)) is_of_machine[descriptor] = false;
  simulated_disk_closes(descriptor);
  return (int)syscall(SYS_close, descriptor);
}
