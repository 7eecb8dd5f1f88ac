#define _GNU_SOURCE
#include "CSimulatedKernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// What a disk guarantees to write as a whole.
enum { SECTOR = 512 };

// A sector that was written since the file was synced.
struct sector {
  off_t number;
  unsigned char before[SECTOR];
  // Whether a sync failed since it was written. Linux does not write it again (fsync(2)).
  bool is_dropped;
  // Whether it was cut off since then.
  bool is_truncated;
  struct sector *next;
};

// A file below the simulated directory, by its inode.
struct file {
  ino_t inode;
  // A descriptor of the simulation's own, for restoring sectors. It is never passed to SQLite.
  int descriptor;
  off_t synced_size;
  // The size before the file was truncated since it was synced, or 0.
  off_t size_before;
  struct sector *unsynced;
  // The unsynced sectors by their numbers.
  struct sector **by_number;
  off_t capacity;
  struct file *next;
};

// A change of a name in the directory since the directory was synced.
struct name_change {
  char path[256];
  // Another name of the file that had this name; empty if there was none.
  char before[256];
  // Whether the change before it is a part of the same operation.
  bool is_second;
  struct name_change *next;
};

static char directory[200];
static size_t directory_length;
static struct file *files;
static struct name_change *names;
static struct file *by_descriptor[SIMULATED_DESCRIPTORS];
static bool is_directory[SIMULATED_DESCRIPTORS];
static uint64_t operations, limit = UINT64_MAX;
static enum simulated_disk_fault fault;
static bool has_stopped;

static void remove_name(const char *path) { syscall(SYS_unlinkat, AT_FDCWD, path, 0); }

// Forgets the contents before the last writes, for a file that was synced or is not needed.
static void forget_sectors(struct file *file, bool with_dropped) {
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

static void forget_names(void) {
  while (names) {
    struct name_change *change = names;
    names = change->next;
    remove_name(change->before);
    free(change);
  }
}

void simulated_disk_mount(const char *path) {
  while (files) {
    struct file *file = files;
    files = file->next;
    forget_sectors(file, true);
    free(file->by_number);
    syscall(SYS_close, file->descriptor);
    free(file);
  }
  forget_names();
  memset(by_descriptor, 0, sizeof by_descriptor);
  memset(is_directory, 0, sizeof is_directory);
  snprintf(directory, sizeof directory, "%s/", path);
  directory_length = *path ? strlen(directory) : 0;
  limit = UINT64_MAX;
  has_stopped = false;
}

void simulated_disk_fail(enum simulated_disk_fault kind, uint64_t after) {
  fault = kind;
  limit = operations + after;
}

void simulated_disk_heal(void) { limit = UINT64_MAX; }

bool simulated_disk_has_stopped(void) { return has_stopped; }

uint64_t simulated_disk_operations(void) { return operations; }

enum operation { OPENS, NEEDS_SPACE, OTHER };

// Counts an operation on the disk; returns the errno with which it fails, or 0.
static int fails(enum operation operation) {
  if (has_stopped) return EIO;
  if (operations++ < limit) return 0;
  switch (fault) {
  case SIMULATED_DISK_STOPS: has_stopped = true; return EIO;
  case SIMULATED_DISK_FULL: return operation == NEEDS_SPACE ? ENOSPC : 0;
  case SIMULATED_DISK_FAILS_ONCE: limit = UINT64_MAX; return EIO;
  case SIMULATED_DISK_FAILS: return EIO;
  case SIMULATED_DISK_NO_DESCRIPTORS: return operation == OPENS ? EMFILE : 0;
  }
  return 0;
}

static int refuse(int error) {
  errno = error;
  return -1;
}

static bool is_simulated(const char *path) {
  // The index of the write-ahead log is memory that survives no process (sqlite.org/wal.html).
  size_t length = strlen(path);
  return directory_length > 0 && strncmp(path, directory, directory_length) == 0 &&
         !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

static struct file *file_of(int descriptor) {
  return descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS ? by_descriptor[descriptor] : NULL;
}

static struct file *track(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
  for (struct file *file = files; file; file = file->next)
    if (file->inode == status.st_ino) return file;
  struct file *file = calloc(1, sizeof *file);
  file->inode = status.st_ino;
  file->descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (file->descriptor < 0) abort();
  file->synced_size = status.st_size;
  file->next = files;
  files = file;
  return file;
}

static void note_name(const char *path) {
  struct name_change *change = calloc(1, sizeof *change);
  snprintf(change->path, sizeof change->path, "%s", path);
  static unsigned count;
  snprintf(change->before, sizeof change->before, "%.*s.name-%u", (int)directory_length - 1,
           directory, count++);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, change->before, 0) != 0)
    change->before[0] = 0;
  change->next = names;
  names = change;
}

static int open_file(const char *path, int flags, mode_t mode) {
  if (!is_simulated(path)) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  int error = fails(OPENS);
  if (error) return refuse(error);
  if (flags & O_CREAT && access(path, F_OK) != 0) note_name(path);
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor < 0 || descriptor >= SIMULATED_DESCRIPTORS) return descriptor;
  by_descriptor[descriptor] = track(path);
  is_directory[descriptor] = false;
  return descriptor;
}

// Opening the directory itself, which is done for syncing it.
static int opened(const char *path, int descriptor) {
  if (!is_simulated(path)) simulated_disk_closes(descriptor);
  if (descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS && directory_length > 0 &&
      strncmp(path, directory, directory_length - 1) == 0 && strlen(path) <= directory_length)
    is_directory[descriptor] = true;
  return descriptor;
}

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                      \
    mode_t mode = 0;                                                \
    if (flags & (O_CREAT | __O_TMPFILE)) {                          \
      va_list arguments;                                            \
      va_start(arguments, flags);                                   \
      mode = va_arg(arguments, mode_t);                             \
      va_end(arguments);                                            \
    }                                                               \
    return opened(path, open_file(path, flags, mode));              \
  }

OPEN(open)
OPEN(open64)
void simulated_disk_closes(int descriptor) {
  if (descriptor < 0 || descriptor >= SIMULATED_DESCRIPTORS) return;
  by_descriptor[descriptor] = NULL;
  is_directory[descriptor] = false;
}

// Remembers the contents of the sectors in a range before they change.
static void keep(struct file *file, off_t begin, off_t end) {
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

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
  struct file *file = file_of(descriptor);
  if (file) {
    int error = fails(NEEDS_SPACE);
    if (error) return refuse(error);
    keep(file, offset, offset + (off_t)count);
  }
  return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return write_at(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return write_at(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  struct file *file = file_of(descriptor);
  if (file) {
    int error = fails(NEEDS_SPACE);
    if (error) return refuse(error);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    keep(file, offset, offset + (off_t)count);
  }
  return syscall(SYS_write, descriptor, bytes, count);
}

static int sync_file(int descriptor, long call) {
  struct file *file = file_of(descriptor);
  bool is_of_directory =
      descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS && is_directory[descriptor];
  if (!file && !is_of_directory) return (int)syscall(call, descriptor);
  int error = fails(OTHER);
  if (error) {
    for (struct sector *sector = file ? file->unsynced : NULL; sector; sector = sector->next)
      sector->is_dropped = true;
    return refuse(error);
  }
  if (file) {
    struct stat status;
    if (fstat(descriptor, &status) == 0) file->synced_size = status.st_size;
    file->size_before = 0;
    forget_sectors(file, false);
  } else {
    forget_names();
  }
  return 0;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

static int truncate_file(int descriptor, off_t size) {
  struct file *file = file_of(descriptor);
  if (file) {
    int error = fails(OTHER);
    if (error) return refuse(error);
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > size) {
      keep(file, size, status.st_size);
      if (file->size_before == 0) file->size_before = status.st_size;
      for (struct sector *sector = file->unsynced; sector; sector = sector->next)
        if (sector->number * SECTOR >= size) sector->is_truncated = true;
    }
  }
  return (int)syscall(SYS_ftruncate, descriptor, size);
}

int ftruncate(int descriptor, off_t size) { return truncate_file(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_file(descriptor, size); }

int truncate(const char *path, off_t size) {
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  int result = ftruncate(descriptor, size);
  int error = errno;
  close(descriptor);
  errno = error;
  return result;
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  if (file_of(descriptor)) {
    int error = fails(NEEDS_SPACE);
    if (error) return error;
  }
  return syscall(SYS_fallocate, descriptor, 0, offset, length) == 0 ? 0 : errno;
}

int rename(const char *old_path, const char *new_path) {
  if (is_simulated(old_path) || is_simulated(new_path)) {
    int error = fails(OTHER);
    if (error) return refuse(error);
    note_name(new_path);
    note_name(old_path);
    names->is_second = true;
  }
  return (int)syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}

int unlink(const char *path) {
  if (is_simulated(path)) {
    int error = fails(OTHER);
    if (error) return refuse(error);
    if (access(path, F_OK) == 0) note_name(path);
  }
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

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
  for (struct file *file = files; file; file = file->next) lose_sectors(file, percent, &random);
  // File systems write the changes of a directory in their order, so the last ones are lost.
  bool is_half_undone = false;
  while (names && (is_half_undone || next_random(&random) % 100 < percent)) {
    struct name_change *change = names;
    is_half_undone = change->is_second;
    names = change->next;
    remove_name(change->path);
    if (change->before[0])
      syscall(SYS_renameat2, AT_FDCWD, change->before, AT_FDCWD, change->path, 0);
    free(change);
  }
}
