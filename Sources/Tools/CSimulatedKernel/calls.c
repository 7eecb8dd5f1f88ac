#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(int error) {
  errno = error;
  return -1;
}

static int open_file(const char *path, int flags, mode_t mode) {
  if (!disk_has(path)) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  int error = disk_fails(OPENS);
  if (error) return refuse(error);
  if (flags & O_CREAT && access(path, F_OK) != 0) disk_note_name(path);
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor < 0 || descriptor >= SIMULATED_DESCRIPTORS) return descriptor;
  disk.by_descriptor[descriptor] = disk_track(path);
  disk.is_directory[descriptor] = false;
  return descriptor;
}

// Opening the directory itself, which is done for syncing it.
static int opened(const char *path, int descriptor) {
  if (!disk_has(path)) simulated_disk_closes(descriptor);
  if (descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS && disk.directory_length > 0 &&
      strncmp(path, disk.directory, disk.directory_length - 1) == 0 &&
      strlen(path) <= disk.directory_length)
    disk.is_directory[descriptor] = true;
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
  disk.by_descriptor[descriptor] = NULL;
  disk.is_directory[descriptor] = false;
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
  struct file *file = disk_file_of(descriptor);
  if (file) {
    int error = disk_fails(NEEDS_SPACE);
    if (error) return refuse(error);
    disk_keep(file, offset, offset + (off_t)count);
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
  struct file *file = disk_file_of(descriptor);
  if (file) {
    int error = disk_fails(NEEDS_SPACE);
    if (error) return refuse(error);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    disk_keep(file, offset, offset + (off_t)count);
  }
  return syscall(SYS_write, descriptor, bytes, count);
}

static int sync_file(int descriptor, long call) {
  struct file *file = disk_file_of(descriptor);
  bool is_of_directory =
      descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS && disk.is_directory[descriptor];
  if (!file && !is_of_directory) return (int)syscall(call, descriptor);
  int error = disk_fails(OTHER);
  if (error) {
    for (struct sector *sector = file ? file->unsynced : NULL; sector; sector = sector->next)
      sector->is_dropped = true;
    return refuse(error);
  }
  if (file) {
    struct stat status;
    if (fstat(descriptor, &status) == 0) file->synced_size = status.st_size;
    file->size_before = 0;
    disk_forget_sectors(file, false);
  } else {
    disk_forget_names();
  }
  return 0;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

static int truncate_file(int descriptor, off_t size) {
  struct file *file = disk_file_of(descriptor);
  if (file) {
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > size) {
      disk_keep(file, size, status.st_size);
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
  if (disk_file_of(descriptor)) {
    int error = disk_fails(NEEDS_SPACE);
    if (error) return error;
  }
  return syscall(SYS_fallocate, descriptor, 0, offset, length) == 0 ? 0 : errno;
}

int rename(const char *old_path, const char *new_path) {
  if (disk_has(old_path) || disk_has(new_path)) {
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    disk_note_name(new_path);
    disk_note_name(old_path);
    disk.names->is_second = true;
  }
  return (int)syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}

int unlink(const char *path) {
  if (disk_has(path)) {
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    if (access(path, F_OK) == 0) disk_note_name(path);
  }
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
