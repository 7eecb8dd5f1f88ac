#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *target;

// Gives the copy of a file a name. The first name creates the copy.
static void name_copy(struct file *file, const char *path) {
  if (*file->copy) {
    if (syscall(SYS_linkat, AT_FDCWD, file->copy, AT_FDCWD, path, 0) != 0)
      disk_abort("cannot be linked", path);
    return;
  }
  snprintf(file->copy, sizeof file->copy, "%s", path);
  struct stat status;
  int copy = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (copy < 0 || fstat(file->descriptor, &status) != 0 || fchmod(copy, status.st_mode) != 0)
    disk_abort("cannot be created", path);
  static unsigned char bytes[1 << 16];
  off_t offset = 0;
  ssize_t count;
  while ((count = pread(file->descriptor, bytes, sizeof bytes, offset)) > 0) {
    if (syscall(SYS_pwrite64, copy, bytes, (size_t)count, offset) != count)
      disk_abort("cannot be written", path);
    offset += count;
  }
  if (count < 0) disk_abort("cannot be read", path);
  syscall(SYS_close, copy);
}

static void copy_into_target(const char *name, struct file *file) {
  char path[256];
  if (snprintf(path, sizeof path, "%s/%s", target, name) >= (int)sizeof path)
    disk_abort("the path is too long", name);
  name_copy(file, path);
}

// Gives the former names of files, which their copies may get back, to the copies.
static void copy_names(size_t old_length) {
  for (struct name_change *change = disk.names; change; change = change->older) {
    char path[sizeof change->path];
    if (snprintf(path, sizeof path, "%s%s", disk.directory, change->path + old_length) >=
        (int)sizeof path)
      disk_abort("the path is too long", change->path);
    memcpy(change->path, path, sizeof path);
    if (!change->file) continue;
    syscall(SYS_unlinkat, AT_FDCWD, change->before, 0);
    disk_name_outside(change->before);
    name_copy(change->file, change->before);
  }
}

static void open_copy(struct file *file) {
  syscall(SYS_close, file->descriptor);
  file->descriptor = (int)syscall(SYS_openat, AT_FDCWD, file->copy, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0)
    disk_abort("cannot be opened", file->copy);
  file->inode = status.st_ino;
  *file->copy = 0;
}

void simulated_disk_move(const char *path) {
  target = path;
  disk_visit(copy_into_target);
  size_t old_length = disk.directory_length;
  disk_set_directory(path);
  copy_names(old_length);
  struct file **link = &disk.files;
  while (*link) {
    struct file *file = *link;
    if (*file->copy) {
      open_copy(file);
      link = &file->next;
    } else {
      // Only the killed process had it open.
      *link = file->next;
      disk_forget(file);
    }
  }
  disk_forget_descriptors();
  disk.has_stopped = false;
  disk.stop = UINT64_MAX;
}
