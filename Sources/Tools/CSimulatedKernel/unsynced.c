#define _GNU_SOURCE
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct change *add(struct file *file, int kind, off_t number) {
  struct change *change = calloc(1, sizeof *change);
  change->kind = kind;
  change->number = number;
  if (kind != RESIZED) {
    // Beyond the end of the file, the contents are zeros.
    ssize_t count = pread(file->descriptor, change->before, SECTOR, number * SECTOR);
    (void)count;
  }
  change->older = file->changes;
  file->changes = change;
  return change;
}

static struct change **written(struct file *file, off_t number) {
  if (number >= file->capacity) {
    off_t capacity = number + number / 2 + 1024;
    file->written = realloc(file->written, (size_t)capacity * sizeof *file->written);
    memset(file->written + file->capacity, 0,
           (size_t)(capacity - file->capacity) * sizeof *file->written);
    file->capacity = capacity;
  }
  return &file->written[number];
}

void disk_note_write(struct file *file, off_t begin, off_t end) {
  for (off_t number = begin / SECTOR; number * SECTOR < end; number++) {
    struct change **known = written(file, number);
    if (*known) {
      (*known)->is_dropped = false;
    } else {
      *known = add(file, WRITTEN, number);
    }
  }
}

void disk_note_size(struct file *file, off_t size) {
  off_t old_size = disk_size_of(file);
  if (size == old_size) return;
  // File systems write zeros into the rest of the last sector that stays.
  if (size < old_size && size % SECTOR != 0) disk_note_write(file, size, size + 1);
  struct change *change = add(file, RESIZED, 0);
  change->old_size = old_size;
  change->new_size = size;
  for (off_t number = (size + SECTOR - 1) / SECTOR; number * SECTOR < old_size; number++) {
    add(file, CUT, number);
    *written(file, number) = NULL;
  }
}

bool disk_clip(struct change *change, off_t size) {
  off_t left = size - change->number * SECTOR;
  if (left <= 0) return false;
  if (left < SECTOR) memset(change->before + left, 0, (size_t)(SECTOR - left));
  return true;
}

void disk_synced(struct file *file) {
  off_t cut = INT64_MAX;
  struct change **link = &file->changes;
  while (*link) {
    struct change *change = *link;
    if (change->kind == RESIZED && change->new_size < cut) cut = change->new_size;
    if (change->kind == WRITTEN && change->is_dropped && disk_clip(change, cut)) {
      link = &change->older;
      continue;
    }
    *link = change->older;
    if (change->kind == WRITTEN && file->written[change->number] == change)
      file->written[change->number] = NULL;
    free(change);
  }
}

void disk_sync_failed(struct file *file) {
  for (struct change *change = file->changes; change; change = change->older)
    change->is_dropped = true;
}

void disk_forget_changes(struct file *file) {
  while (file->changes) {
    struct change *change = file->changes;
    file->changes = change->older;
    free(change);
  }
  if (file->written) memset(file->written, 0, (size_t)file->capacity * sizeof *file->written);
}

void disk_name_outside(char path[256]) {
  static unsigned count;
  snprintf(path, 256, "%.*s.name-%u", (int)disk.directory_length - 1, disk.directory, count++);
}

void disk_note_name(const char *path) {
  struct name_change *change = calloc(1, sizeof *change);
  if (strlen(path) >= sizeof change->path) disk_abort("the path is too long", path);
  snprintf(change->path, sizeof change->path, "%s", path);
  change->file = disk_track(path);
  if (change->file) {
    disk_name_outside(change->before);
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, change->before, 0) != 0)
      disk_abort("cannot be linked", path);
  }
  change->older = disk.names;
  disk.names = change;
}

void disk_forget_name(void) {
  struct name_change *change = disk.names;
  disk.names = change->older;
  if (change->file) syscall(SYS_unlinkat, AT_FDCWD, change->before, 0);
  free(change);
}

void disk_forget_names(void) {
  while (disk.names) disk_forget_name();
}
