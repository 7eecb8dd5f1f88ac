#define _GNU_SOURCE
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void disk_forget_sectors(struct file *file, bool with_dropped) {
  struct sector **link = &file->unsynced;
  while (*link) {
    struct sector *sector = *link;
    if (sector->is_dropped && !with_dropped) {
      link = &sector->next;
    } else {
      *link = sector->next;
      file->by_number[sector->number] = NULL;
      free(sector);
    }
  }
}

static struct sector **slot(struct file *file, off_t number) {
  if (number >= file->capacity) {
    off_t capacity = number + number / 2 + 1024;
    file->by_number = realloc(file->by_number, (size_t)capacity * sizeof *file->by_number);
    memset(file->by_number + file->capacity, 0,
           (size_t)(capacity - file->capacity) * sizeof *file->by_number);
    file->capacity = capacity;
  }
  return &file->by_number[number];
}

void disk_keep(struct file *file, off_t begin, off_t end) {
  for (off_t number = begin / SECTOR; number * SECTOR < end; number++) {
    struct sector **known = slot(file, number);
    if (*known) {
      (*known)->is_dropped = false;
      continue;
    }
    struct sector *sector = *known = calloc(1, sizeof *sector);
    sector->number = number;
    ssize_t count = pread(file->descriptor, sector->before, SECTOR, number * SECTOR);
    (void)count;
    sector->next = file->unsynced;
    file->unsynced = sector;
  }
}

void disk_remove_name(const char *path) { syscall(SYS_unlinkat, AT_FDCWD, path, 0); }

void disk_forget_names(void) {
  while (disk.names) {
    struct name_change *change = disk.names;
    disk.names = change->next;
    disk_remove_name(change->before);
    free(change);
  }
}

void disk_note_name(const char *path) {
  struct name_change *change = calloc(1, sizeof *change);
  snprintf(change->path, sizeof change->path, "%s", path);
  static unsigned count;
  snprintf(change->before, sizeof change->before, "%.*s.name-%u", (int)disk.directory_length - 1,
           disk.directory, count++);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, change->before, 0) != 0)
    change->before[0] = 0;
  change->next = disk.names;
  disk.names = change;
}
