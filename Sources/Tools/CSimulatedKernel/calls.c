#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The functions of the C library that are replaced. Those that nobody uses for these files are in
// refused.c. Calls inside of the C library come to neither.

static int refuse(int error) {
  errno = error;
  return -1;
}

static bool is_writable(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

static int resize(int descriptor, struct file *file, off_t size) {
  disk_note_size(file, size);
  return (int)syscall(SYS_ftruncate, descriptor, size);
}

static int open_file(const char *path, int flags, mode_t mode) {
  int error = disk_fails(OPENS);
  if (error) return refuse(error);
  bool is_new = flags & O_CREAT && access(path, F_OK) != 0;
  if (is_new) disk_note_name(path);
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags & ~O_TRUNC, mode);
  if (descriptor < 0) {
    int reason = errno;
    if (is_new) disk_forget_name();
    return refuse(reason);
  }
  if (descriptor >= SIMULATED_DESCRIPTORS) disk_abort("too many descriptors", path);
  struct file *file = disk.by_descriptor[descriptor] = disk_track(path);
  disk.is_directory[descriptor] = false;
  if (file && flags & O_TRUNC && is_writable(flags)) resize(descriptor, file, 0);
  return descriptor;
}

// Whether a path is that of the directory itself, which is opened for syncing it.
static bool is_directory(const char *path) {
  return disk.directory_length > 0 && strlen(path) == disk.directory_length - 1 &&
         strncmp(path, disk.directory, disk.directory_length - 1) == 0;
}

static int open_directory(const char *path, int flags, mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) disk_abort("not simulated", "O_TMPFILE");
  int error = disk_fails(OPENS);
  if (error) return refuse(error);
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor < 0) return descriptor;
  if (descriptor >= SIMULATED_DESCRIPTORS) disk_abort("too many descriptors", path);
  disk.is_directory[descriptor] = true;
  disk.by_descriptor[descriptor] = NULL;
  return descriptor;
}

static int open_other(int directory, const char *path, int flags, mode_t mode) {
  int descriptor = (int)syscall(SYS_openat, directory, path, flags, mode);
  simulated_disk_closes(descriptor);
  if (descriptor >= 0 && is_writable(flags)) disk_check_path(descriptor);
  return descriptor;
}

static int open_any(int directory, const char *path, int flags, mode_t mode) {
  if (!disk_is_plain(directory, path)) return open_other(directory, path, flags, mode);
  if (disk_has(path)) return open_file(path, flags, mode);
  if (is_directory(path)) return open_directory(path, flags, mode);
  return open_other(AT_FDCWD, path, flags, mode);
}

#define MODE(flags, mode)                                           \
  mode_t mode = 0;                                                  \
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {        \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    mode = va_arg(arguments, mode_t);                               \
    va_end(arguments);                                              \
  }

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                      \
    MODE(flags, mode)                                               \
    return open_any(AT_FDCWD, path, flags, mode);                   \
  }

#define OPENAT(name)                                                \
  int name(int directory, const char *path, int flags, ...) {       \
    MODE(flags, mode)                                               \
    return open_any(directory, path, flags, mode);                  \
  }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode) {
  return open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

// Prepares a write of `count` bytes; returns how many of them can be written, or -1.
static ssize_t begin_write(struct file *file, size_t count, off_t offset) {
  int error = disk_fails(OTHER);
  if (error) return refuse(error);
  off_t end = offset + (off_t)count, growth = end - disk_size_of(file);
  if (growth > 0) {
    off_t missing = growth - disk_room();
    if (missing >= (off_t)count) return refuse(ENOSPC);
    if (missing > 0) end -= missing;
    if (end > disk_size_of(file)) disk_note_size(file, end);
  }
  disk_note_write(file, offset, end);
  return end - offset;
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
  struct file *file = disk_file_of(descriptor);
  if (file && count > 0) {
    ssize_t writable = begin_write(file, count, offset);
    if (writable < 0) return -1;
    count = (size_t)writable;
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
  if (file && count > 0) {
    bool is_appended = fcntl(descriptor, F_GETFL) & O_APPEND;
    off_t offset = is_appended ? disk_size_of(file) : lseek(descriptor, 0, SEEK_CUR);
    ssize_t writable = begin_write(file, count, offset);
    if (writable < 0) return -1;
    count = (size_t)writable;
  }
  return syscall(SYS_write, descriptor, bytes, count);
}

static int sync_any(int descriptor, long call) {
  struct file *file = disk_file_of(descriptor);
  bool is_of_directory =
      descriptor >= 0 && descriptor < SIMULATED_DESCRIPTORS && disk.is_directory[descriptor];
  if (!file && !is_of_directory) return (int)syscall(call, descriptor);
  int error = disk_fails(OTHER);
  // A process that was killed has not synced, so the kernel still has what it wrote.
  if (error && file && !disk.has_stopped) disk_sync_failed(file);
  if (error) return refuse(error);
  if (file) {
    disk_synced(file);
  } else {
    disk_forget_names();
  }
  return 0;
}

int fsync(int descriptor) { return sync_any(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_any(descriptor, SYS_fdatasync); }

static int truncate_file(int descriptor, off_t size) {
  struct file *file = disk_file_of(descriptor);
  if (!file) return (int)syscall(SYS_ftruncate, descriptor, size);
  int error = disk_fails(OTHER);
  if (error) return refuse(error);
  if (size - disk_size_of(file) > disk_room()) return refuse(ENOSPC);
  return resize(descriptor, file, size);
}

int ftruncate(int descriptor, off_t size) { return truncate_file(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_file(descriptor, size); }

static int truncate_path(const char *path, off_t size) {
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  int result = truncate_file(descriptor, size);
  int error = errno;
  close(descriptor);
  errno = error;
  return result;
}

int truncate(const char *path, off_t size) { return truncate_path(path, size); }
int truncate64(const char *path, off64_t size) { return truncate_path(path, size); }

static int allocate(int descriptor, off_t offset, off_t length) {
  struct file *file = disk_file_of(descriptor);
  if (file) {
    int error = disk_fails(OTHER);
    if (error) return error;
    off_t end = offset + length, growth = end - disk_size_of(file);
    if (growth > disk_room()) return ENOSPC;
    if (growth > 0) disk_note_size(file, end);
  }
  return syscall(SYS_fallocate, descriptor, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  return allocate(descriptor, offset, length);
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  return allocate(descriptor, offset, length);
}
