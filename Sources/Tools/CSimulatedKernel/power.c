#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

static bool happens(unsigned percent, uint64_t *random) {
  return next_random(random) % 100 < percent;
}

static void restore(struct file *file, const struct change *change) {
  off_t offset = change->number * SECTOR;
  if (syscall(SYS_pwrite64, file->descriptor, change->before, SECTOR, offset) != SECTOR)
    disk_abort("pwrite", strerror(errno));
}

// Returns how many of so many changes are lost that reach the disk in their order.
static uint64_t choose(uint64_t count, unsigned percent, uint64_t *random) {
  return count > 0 && happens(percent, random) ? 1 + next_random(random) % count : 0;
}

static uint64_t sizes_of(const struct file *file) {
  uint64_t count = 0;
  for (struct change *change = file->changes; change; change = change->older)
    count += change->kind == RESIZED;
  return count;
}

// Undoes changes, the newest first. What was written after a truncation that is lost is lost, too,
// where the truncation had cut off the file. What was there before a truncation that is not lost
// does not come back, even if the file has grown again.
static void lose_changes(struct file *file, unsigned percent, uint64_t *random) {
  uint64_t lost_sizes = choose(sizes_of(file), percent, random);
  off_t size = disk_size_of(file), cut = INT64_MAX;
  for (struct change *change = file->changes; change; change = change->older) {
    switch (change->kind) {
    case WRITTEN:
      if (happens(percent, random) && disk_clip(change, cut)) restore(file, change);
      break;
    case CUT:
      if (lost_sizes > 0) restore(file, change);
      break;
    case RESIZED:
      if (lost_sizes > 0) {
        size = change->old_size;
        lost_sizes--;
      } else if (change->new_size < cut) {
        cut = change->new_size;
      }
      break;
    }
  }
  if (syscall(SYS_ftruncate, file->descriptor, size) != 0)
    disk_abort("ftruncate", strerror(errno));
  disk_forget_changes(file);
}

static void undo_name(void) {
  const struct name_change *change = disk.names;
  syscall(SYS_unlinkat, AT_FDCWD, change->path, 0);
  if (change->file && syscall(SYS_linkat, AT_FDCWD, change->before, AT_FDCWD, change->path, 0) != 0)
    disk_abort("cannot be linked", change->path);
  disk_forget_name();
}

void simulated_disk_lose_power(uint64_t seed) {
  uint64_t random = seed;
  // From none to all of what was not synced is lost.
  unsigned percent = (unsigned)(next_random(&random) % 101);
  for (struct file *file = disk.files; file; file = file->next)
    lose_changes(file, percent, &random);
  // File systems write the changes of a directory in their order, too.
  uint64_t count = 0;
  for (struct name_change *change = disk.names; change; change = change->older)
    count += !change->is_second;
  for (uint64_t lost = choose(count, percent, &random); lost > 0; lost--) {
    while (disk.names->is_second) undo_name();
    undo_name();
  }
  disk_forget_names();
}
