#define _GNU_SOURCE
#include "disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Functions of the C library that change files and that neither the daemon nor its libraries use
// for files of the directory. Such a use ends the process: the disk would not know of the change.
// Not found are system calls by syscall(2), and what the C library calls itself for other functions
// than these.

static void refuse_path(const char *call, const char *path) {
  if (disk_has(path)) disk_abort("not simulated", call);
}

static void refuse_descriptor(const char *call, int descriptor) {
  if (disk_file_of(descriptor)) disk_abort("not simulated", call);
}

void disk_check_path(int descriptor) {
  if (disk.directory_length == 0) return;
  char link[64], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (disk_has(path)) disk_abort("opened by another path", path);
}

bool disk_is_plain(int directory, const char *path) {
  if (directory == AT_FDCWD || *path == '/') return true;
  if (directory >= 0 && directory < SIMULATED_DESCRIPTORS && disk.is_directory[directory])
    disk_abort("not simulated: relative to the directory", path);
  return false;
}

#define NEXT(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

// MARK: - By a descriptor

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  refuse_descriptor("writev", descriptor);
  return syscall(SYS_writev, descriptor, parts, count);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  refuse_descriptor("pwritev", descriptor);
  return NEXT(ssize_t, pwritev, int, const struct iovec *, int, off_t)(
      descriptor, parts, count, offset);
}

ssize_t pwritev2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
  refuse_descriptor("pwritev2", descriptor);
  return NEXT(ssize_t, pwritev2, int, const struct iovec *, int, off_t, int)(
      descriptor, parts, count, offset, flags);
}

ssize_t sendfile(int output, int input, off_t *offset, size_t count) {
  refuse_descriptor("sendfile", output);
  return syscall(SYS_sendfile, output, input, offset, count);
}

ssize_t copy_file_range(int input, off64_t *from, int output, off64_t *to, size_t count,
                        unsigned flags) {
  refuse_descriptor("copy_file_range", output);
  return syscall(SYS_copy_file_range, input, from, output, to, count, flags);
}

ssize_t splice(int input, off64_t *from, int output, off64_t *to, size_t count, unsigned flags) {
  refuse_descriptor("splice", output);
  return syscall(SYS_splice, input, from, output, to, count, flags);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  refuse_descriptor("fallocate", descriptor);
  return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  return fallocate(descriptor, mode, offset, length);
}

int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned flags) {
  refuse_descriptor("sync_file_range", descriptor);
  return (int)syscall(SYS_sync_file_range, descriptor, offset, count, flags);
}

int syncfs(int descriptor) {
  refuse_descriptor("syncfs", descriptor);
  return (int)syscall(SYS_syncfs, descriptor);
}

int dup(int descriptor) {
  refuse_descriptor("dup", descriptor);
  return (int)syscall(SYS_dup, descriptor);
}

int dup2(int descriptor, int other) {
  refuse_descriptor("dup2", descriptor);
  refuse_descriptor("dup2", other);
  return (int)syscall(SYS_dup2, descriptor, other);
}

int dup3(int descriptor, int other, int flags) {
  refuse_descriptor("dup3", descriptor);
  refuse_descriptor("dup3", other);
  return (int)syscall(SYS_dup3, descriptor, other, flags);
}

#define FCNTL(name)                                                               \
  int name(int descriptor, int command, ...) {                                    \
    va_list arguments;                                                            \
    va_start(arguments, command);                                                 \
    void *argument = va_arg(arguments, void *);                                   \
    va_end(arguments);                                                            \
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)                         \
      refuse_descriptor(#name, descriptor);                                       \
    return NEXT(int, name, int, int, ...)(descriptor, command, argument);         \
  }

FCNTL(fcntl)
FCNTL(fcntl64)

FILE *fdopen(int descriptor, const char *mode) {
  if (strcmp(mode, "r") != 0) refuse_descriptor("fdopen", descriptor);
  return NEXT(FILE *, fdopen, int, const char *)(descriptor, mode);
}

static void *map(
    void *address, size_t length, int access, int flags, int descriptor, off_t offset) {
  bool is_shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
  if (is_shared && access & PROT_WRITE) refuse_descriptor("mmap", descriptor);
  return (void *)syscall(SYS_mmap, address, length, access, flags, descriptor, offset);
}

void *mmap(void *address, size_t length, int access, int flags, int descriptor, off_t offset) {
  return map(address, length, access, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int access, int flags, int descriptor, off64_t offset) {
  return map(address, length, access, flags, descriptor, offset);
}

// MARK: - By a path

#define FOPEN(name)                                                               \
  FILE *name(const char *path, const char *mode) {                                \
    if (strpbrk(mode, "wa+")) refuse_path(#name, path);                           \
    return NEXT(FILE *, name, const char *, const char *)(path, mode);            \
  }

FOPEN(fopen)
FOPEN(fopen64)

#define FREOPEN(name)                                                             \
  FILE *name(const char *path, const char *mode, FILE *file) {                    \
    if (path && strpbrk(mode, "wa+")) refuse_path(#name, path);                   \
    return NEXT(FILE *, name, const char *, const char *, FILE *)(path, mode, file); \
  }

FREOPEN(freopen)
FREOPEN(freopen64)

#define TEMPORARY(name, parameters, types, arguments)                             \
  int name parameters {                                                           \
    refuse_path(#name, path);                                                     \
    return ((int(*) types)dlsym(RTLD_NEXT, #name)) arguments;                     \
  }

TEMPORARY(mkstemp, (char *path), (char *), (path))
TEMPORARY(mkstemp64, (char *path), (char *), (path))
TEMPORARY(mkostemp, (char *path, int flags), (char *, int), (path, flags))
TEMPORARY(mkostemp64, (char *path, int flags), (char *, int), (path, flags))

int mkdir(const char *path, mode_t mode) {
  refuse_path("mkdir", path);
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int mkdirat(int directory, const char *path, mode_t mode) {
  refuse_path("mkdirat", path);
  return (int)syscall(SYS_mkdirat, directory, path, mode);
}

int rmdir(const char *path) {
  refuse_path("rmdir", path);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int symlink(const char *contents, const char *path) {
  refuse_path("symlink", path);
  return (int)syscall(SYS_symlinkat, contents, AT_FDCWD, path);
}

int symlinkat(const char *contents, int directory, const char *path) {
  refuse_path("symlinkat", path);
  return (int)syscall(SYS_symlinkat, contents, directory, path);
}
