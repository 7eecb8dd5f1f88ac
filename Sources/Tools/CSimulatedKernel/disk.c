#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct disk disk = {.limit = UINT64_MAX};

void simulated_disk_mount(const char *path) {
  while (disk.files) {
    struct file *file = disk.files;
    disk.files = file->next;
    disk_forget_sectors(file, true);
    free(file->by_number);
    syscall(SYS_close, file->descriptor);
    free(file);
  }
  disk_forget_names();
  memset(disk.by_descriptor, 0, sizeof disk.by_descriptor);
  memset(disk.is_directory, 0, sizeof disk.is_directory);
  snprintf(disk.directory, sizeof disk.directory, "%s/", path);
  disk.directory_length = *path ? strlen(disk.directory) : 0;
  disk.limit = UINT64_MAX;
  disk.has_stopped = false;
}

void simulated_disk_fail(enum simulated_disk_fault kind, uint64_t after) {
  disk.fault = kind;
  disk.limit = disk.operations + after;
}

void simulated_disk_heal(void) { disk.limit = UINT64_MAX; }

bool simulated_disk_has_stopped(void) { return disk.has_stopped; }

uint64_t simulated_disk_operations(void) { return disk.operations; }

int disk_fails(enum operation operation) {
  if (disk.has_stopped) return EIO;
  if (disk.operations++ < disk.limit) return 0;
  switch (disk.fault) {
  case SIMULATED_DISK_STOPS: disk.has_stopped = true; return EIO;
  case SIMULATED_DISK_FULL: return operation == NEEDS_SPACE ? ENOSPC : 0;
  case SIMULATED_DISK_FAILS_ONCE: disk.limit = UINT64_MAX; return EIO;
  case SIMULATED_DISK_FAILS: return EIO;
  case SIMULATED_DISK_NO_DESCRIPTORS: return operation == OPENS ? EMFILE : 0;
  }
  return 0;
}

bool disk_has(const char *path) {
  // The index of the write-ahead log is memory that survives no process (sqlite.org/wal.html).
  size_t length = strlen(path);
  return disk.directory_length > 0 && strncmp(path, disk.directory, disk.directory_length) == 0 &&
         !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

struct file *disk_file_of(int descriptor) {
  if (descriptor < 0 || descriptor >= SIMULATED_DESCRIPTORS) return NULL;
  return disk.by_descriptor[descriptor];
}

struct file *disk_track(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
  for (struct file *file = disk.files; file; file = file->next)
    if (file->inode == status.st_ino) return file;
  struct file *file = calloc(1, sizeof *file);
  file->inode = status.st_ino;
  file->descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (file->descriptor < 0) abort();
  file->synced_size = status.st_size;
  file->next = disk.files;
  disk.files = file;
  return file;
}
