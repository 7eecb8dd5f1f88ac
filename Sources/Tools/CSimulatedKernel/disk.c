#define _GNU_SOURCE
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const off_t UNLIMITED = INT64_MAX;

struct disk disk = {.limit = UINT64_MAX, .stop = UINT64_MAX, .size = UNLIMITED};

void disk_abort(const char *reason, const char *what) {
  fprintf(stderr, "the simulated disk: %s: %s\n", reason, what);
  abort();
}

void disk_forget(struct file *file) {
  disk_forget_changes(file);
  free(file->written);
  syscall(SYS_close, file->descriptor);
  free(file);
}

void disk_forget_descriptors(void) {
  memset(disk.by_descriptor, 0, sizeof disk.by_descriptor);
  memset(disk.is_directory, 0, sizeof disk.is_directory);
}

void disk_set_directory(const char *path) {
  // SQLite opens files by their real paths.
  char *real = realpath(path, NULL);
  if (!real || strcmp(real, path) != 0) disk_abort("not the real path of a directory", path);
  free(real);
  if (strlen(path) > 190) disk_abort("the path is too long", path);
  disk.directory_length = (size_t)snprintf(disk.directory, sizeof disk.directory, "%s/", path);
}

void simulated_disk_mount(const char *path) {
  while (disk.files) {
    struct file *file = disk.files;
    disk.files = file->next;
    disk_forget(file);
  }
  disk_forget_names();
  disk_forget_descriptors();
  simulated_disk_heal();
  disk.has_stopped = false;
  disk.directory_length = 0;
  if (!*path) return;
  disk_set_directory(path);
  disk_visit(NULL);
}

void simulated_disk_fail(enum simulated_disk_fault kind, uint64_t after) {
  if (kind == SIMULATED_DISK_STOPS) {
    disk.stop = disk.operations + after;
  } else {
    disk.fault = kind;
    disk.limit = disk.operations + after;
  }
}

// The bytes of all files that have a name.
static off_t used(void) {
  off_t bytes = 0;
  for (struct file *file = disk.files; file; file = file->next) {
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) continue;
    nlink_t names = status.st_nlink;
    for (struct name_change *change = disk.names; change; change = change->older)
      if (change->file == file) names--;
    if (names > 0) bytes += status.st_size;
  }
  return bytes;
}

void simulated_disk_fill(uint64_t room) { disk.size = used() + (off_t)room; }

off_t disk_room(void) {
  if (disk.size == UNLIMITED) return UNLIMITED;
  off_t room = disk.size - used();
  return room < 0 ? 0 : room;
}

void simulated_disk_heal(void) {
  disk.limit = disk.stop = UINT64_MAX;
  disk.size = UNLIMITED;
}

bool simulated_disk_has_stopped(void) { return disk.has_stopped; }

uint64_t simulated_disk_operations(void) { return disk.operations; }

int disk_fails(enum operation operation) {
  if (disk.has_stopped) return EIO;
  uint64_t number = disk.operations++;
  if (number >= disk.stop) {
    disk.has_stopped = true;
    return EIO;
  }
  if (number < disk.limit) return 0;
  switch (disk.fault) {
  case SIMULATED_DISK_STOPS: return 0;
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
  if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
  for (struct file *file = disk.files; file; file = file->next)
    if (file->inode == status.st_ino) return file;
  struct file *file = calloc(1, sizeof *file);
  file->inode = status.st_ino;
  file->descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (file->descriptor < 0) disk_abort("cannot be opened", path);
  file->next = disk.files;
  disk.files = file;
  return file;
}

// readdir(3) lists files in any order.
static int by_name(const struct dirent **one, const struct dirent **other) {
  return strcmp((*one)->d_name, (*other)->d_name);
}

void disk_visit(void (*visit)(const char *name, struct file *)) {
  struct dirent **entries;
  int count = scandir(disk.directory, &entries, NULL, by_name);
  if (count < 0) disk_abort("cannot be listed", disk.directory);
  for (int number = 0; number < count; number++) {
    const char *name = entries[number]->d_name;
    char path[sizeof disk.directory + sizeof entries[number]->d_name];
    snprintf(path, sizeof path, "%s%s", disk.directory, name);
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && disk_has(path)) {
      struct file *file = disk_track(path);
      if (!file) disk_abort("not a regular file", path);
      if (visit) visit(name, file);
    }
    free(entries[number]);
  }
  free(entries);
}

off_t disk_size_of(const struct file *file) {
  struct stat status;
  if (fstat(file->descriptor, &status) != 0) disk_abort("fstat", strerror(errno));
  return status.st_size;
}

void simulated_disk_closes(int descriptor) {
  if (descriptor < 0 || descriptor >= SIMULATED_DESCRIPTORS) return;
  disk.by_descriptor[descriptor] = NULL;
  disk.is_directory[descriptor] = false;
}
