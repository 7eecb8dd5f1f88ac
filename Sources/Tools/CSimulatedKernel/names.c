#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// The functions of the C library that change names.

static int refuse(int error) {
  errno = error;
  return -1;
}

// Forgets changes of names if they failed.
static int finish(long result, int changes) {
  int error = errno;
  if (result != 0)
    while (changes-- > 0) disk_forget_name();
  return result == 0 ? 0 : refuse(error);
}

static int rename_any(int old_directory, const char *old_path, int new_directory,
                      const char *new_path, unsigned flags) {
  bool has_old = disk_is_plain(old_directory, old_path) && disk_has(old_path);
  bool has_new = disk_is_plain(new_directory, new_path) && disk_has(new_path);
  if (has_old != has_new) disk_abort("renamed into or out of the directory", new_path);
  if (has_old) {
    if (flags & ~(unsigned)RENAME_NOREPLACE) disk_abort("not simulated", "renameat2");
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    disk_note_name(new_path);
    disk_note_name(old_path);
    disk.names->is_second = true;
  }
  long result =
      syscall(SYS_renameat2, old_directory, old_path, new_directory, new_path, flags);
  return finish(result, has_old ? 2 : 0);
}

int rename(const char *old_path, const char *new_path) {
  return rename_any(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}

int renameat(int old_directory, const char *old_path, int new_directory, const char *new_path) {
  return rename_any(old_directory, old_path, new_directory, new_path, 0);
}

int renameat2(int old_directory, const char *old_path, int new_directory, const char *new_path,
              unsigned flags) {
  return rename_any(old_directory, old_path, new_directory, new_path, flags);
}

static int link_any(int old_directory, const char *old_path, int new_directory,
                    const char *new_path, int flags) {
  bool is_noted = disk_is_plain(new_directory, new_path) && disk_has(new_path);
  if (is_noted) {
    if (!disk_is_plain(old_directory, old_path) || !disk_has(old_path) || flags)
      disk_abort("linked into the directory", new_path);
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    disk_note_name(new_path);
  }
  return finish(
      syscall(SYS_linkat, old_directory, old_path, new_directory, new_path, flags), is_noted);
}

int link(const char *old_path, const char *new_path) {
  return link_any(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}

int linkat(int old_directory, const char *old_path, int new_directory, const char *new_path,
           int flags) {
  return link_any(old_directory, old_path, new_directory, new_path, flags);
}

static int unlink_any(int directory, const char *path, int flags) {
  bool is_noted = disk_is_plain(directory, path) && disk_has(path);
  if (is_noted) {
    int error = disk_fails(OTHER);
    if (error) return refuse(error);
    disk_note_name(path);
  }
  return finish(syscall(SYS_unlinkat, directory, path, flags), is_noted);
}

int unlink(const char *path) { return unlink_any(AT_FDCWD, path, 0); }

int unlinkat(int directory, const char *path, int flags) {
  return unlink_any(directory, path, flags);
}

int remove(const char *path) {
  int result = unlink_any(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? unlink_any(AT_FDCWD, path, AT_REMOVEDIR) : result;
}
