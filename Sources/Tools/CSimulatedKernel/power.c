#define _GNU_SOURCE
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// SplitMix64, as in RandomStream.
static uint64_t next_random(uint64_t *state) {
  uint64_t mixed = *state += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31);
}

// Restores some of the sectors that were not synced, as if they had not been written. File systems
// truncate a file as a whole: its size is a part of the journal.
static void lose_sectors(struct file *file, unsigned percent, uint64_t *random) {
  struct stat status;
  if (fstat(file->descriptor, &status) != 0) return;
  bool is_size_lost = next_random(random) % 100 < percent;
  for (struct sector *sector = file->unsynced; sector; sector = sector->next) {
    bool is_lost = sector->is_truncated ? is_size_lost : next_random(random) % 100 < percent;
    if (!is_lost) continue;
    ssize_t count = (ssize_t)syscall(
        SYS_pwrite64, file->descriptor, sector->before, SECTOR, sector->number * SECTOR);
    (void)count;
  }
  off_t size = status.st_size;
  if (is_size_lost) size = file->size_before > 0 ? file->size_before : file->synced_size;
  syscall(SYS_ftruncate, file->descriptor, size);
}

void simulated_disk_lose_power(uint64_t seed) {
  uint64_t random = seed;
  // From none to all of what was not synced is lost.
  unsigned percent = (unsigned)(next_random(&random) % 101);
  for (struct file *file = disk.files; file; file = file->next)
    lose_sectors(file, percent, &random);
  // File systems write the changes of a directory in their order, so the last ones are lost.
  bool is_half_undone = false;
  while (disk.names && (is_half_undone || next_random(&random) % 100 < percent)) {
    struct name_change *change = disk.names;
    is_half_undone = change->is_second;
    disk.names = change->next;
    disk_remove_name(change->path);
    if (change->before[0])
      syscall(SYS_renameat2, AT_FDCWD, change->before, AT_FDCWD, change->path, 0);
    free(change);
  }
}
