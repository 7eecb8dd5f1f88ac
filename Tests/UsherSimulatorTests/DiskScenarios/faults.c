#define _GNU_SOURCE
#include "scenarios.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

// A disk that fails, a full disk, and uses that are not simulated.

static const char bytes[1024];

static bool has_failed(ssize_t result, int error) { return result == -1 && errno == error; }

static void stops(void) {
  int descriptor = synced_file("f", "AA");
  simulated_disk_fail(SIMULATED_DISK_STOPS, 1);
  write_halves(descriptor, "B", 0);
  CHECK(!simulated_disk_has_stopped());
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO));
  CHECK(simulated_disk_has_stopped());
  simulated_disk_heal();
  CHECK(has_failed(fsync(descriptor), EIO));
  CHECK(has_failed(ftruncate(descriptor, 0), EIO));
  CHECK(has_failed(open(at("f"), O_RDONLY | O_CLOEXEC), EIO));
  CHECK(has_failed(rename(at("f"), at("g")), EIO));
  CHECK(has_failed(link(at("f"), at("g")), EIO));
  CHECK(has_failed(unlink(at("f")), EIO));
  CHECK(posix_fallocate(descriptor, 0, 9000) == EIO);
  kill_process();
  CHECK(strcmp(directory(), "f=BA") == 0);
}

static void fails(void) {
  int descriptor = synced_file("f", "AA");
  simulated_disk_fail(SIMULATED_DISK_FAILS, 1);
  write_halves(descriptor, "B", 0);
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO));
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO));
  kill_process();
  CHECK(has_failed(open(at("f"), O_RDONLY | O_CLOEXEC), EIO));
  simulated_disk_heal();
  CHECK(strcmp(directory(), "f=BA") == 0);
  simulated_disk_fail(SIMULATED_DISK_FAILS_ONCE, 1);
  descriptor = file("f");
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO));
  write_halves(descriptor, "C", 0);
  // A disk that fails can stop.
  simulated_disk_fail(SIMULATED_DISK_FAILS, 2);
  simulated_disk_fail(SIMULATED_DISK_STOPS, 3);
  write_halves(descriptor, "D", 0);
  write_halves(descriptor, "E", 0);
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO) && !simulated_disk_has_stopped());
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 0), EIO) && simulated_disk_has_stopped());
}

static void no_descriptors(void) {
  int descriptor = synced_file("f", "AA");
  simulated_disk_fail(SIMULATED_DISK_NO_DESCRIPTORS, 0);
  CHECK(has_failed(open(at("f"), O_RDONLY | O_CLOEXEC), EMFILE));
  CHECK(has_failed(open(directory_path(), O_RDONLY | O_CLOEXEC), EMFILE));
  write_halves(descriptor, "B", 0);
  CHECK(fsync(descriptor) == 0);
}

static void full(void) {
  int descriptor = synced_file("f", "AABB");
  simulated_disk_fill(600);
  CHECK(pwrite(descriptor, bytes, 512, 1024) == 512);
  CHECK(pwrite(descriptor, bytes, 512, 1536) == 88);
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 1624), ENOSPC));
  CHECK(has_failed(pwrite(descriptor, bytes, 1, 9000), ENOSPC));
  // Overwriting bytes needs no room.
  CHECK(pwrite(descriptor, bytes, 1024, 0) == 1024);
  CHECK(pwrite(descriptor, bytes, 1024, 1000) == 624);
  CHECK(posix_fallocate(descriptor, 0, 1624) == 0);
  CHECK(posix_fallocate(descriptor, 0, 1625) == ENOSPC);
  CHECK(has_failed(ftruncate(descriptor, 1625), ENOSPC));
  CHECK(fsync(descriptor) == 0);
  CHECK(file("empty") >= 0);
  simulated_disk_heal();
  CHECK(pwrite(descriptor, bytes, 1024, 9000) == 1024);
}

// Returns whether there is room for exactly so many bytes. Needs the room, and gives it back.
static bool is_room(off_t count) {
  int descriptor = file("probe");
  bool is_enough = posix_fallocate(descriptor, 0, count) == 0;
  bool is_all = posix_fallocate(descriptor, 0, count + 1) == ENOSPC;
  CHECK(ftruncate(descriptor, 0) == 0);
  CHECK(close(descriptor) == 0);
  return is_enough && is_all;
}

static void room_back(void) {
  int descriptor = synced_file("f", "AABB");
  close(synced_file("g", "AAAA"));
  close(synced_file("h", "AA"));
  file("probe");
  simulated_disk_fill(100);
  CHECK(is_room(100));
  CHECK(ftruncate(descriptor, 512) == 0 && is_room(612));
  CHECK(truncate(at("f"), 0) == 0 && is_room(1124));
  // A file has its bytes once, and gives them back with its last name.
  CHECK(link(at("g"), at("i")) == 0 && is_room(1124));
  CHECK(unlink(at("g")) == 0 && is_room(1124));
  CHECK(unlink(at("i")) == 0 && is_room(2148));
  CHECK(rename(at("f"), at("h")) == 0 && is_room(2660));
  kill_process();
  CHECK(is_room(2660));
  sync_directory();
  CHECK(is_room(2660));
  simulated_disk_heal();
  descriptor = synced_file("f", "AABB");
  simulated_disk_fill(10);
  kill_process();
  CHECK(is_room(10) && unlink(at("f")) == 0 && is_room(1034));
}

static void growth_at_a_full_disk(void) {
  int descriptor = synced_file("f", "AA");
  simulated_disk_fill(512);
  CHECK(pwrite(descriptor, bytes, 1024, 512) == 512);
}

static const char *f(void) { return halves("f"); }

static void partial(void) { OUTCOMES(growth_at_a_full_disk, f, "AA", "AA--"); }

static void descriptors(void) {
  int first = file("f");
  CHECK(close(first) == 0);
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(null == first);
  simulated_disk_fail(SIMULATED_DISK_FAILS, 0);
  uint64_t operations = simulated_disk_operations();
  CHECK(write(null, bytes, 10) == 10 && fsync(null) == -1 && errno == EINVAL);
  CHECK(simulated_disk_operations() == operations);
  simulated_disk_heal();
  close(null);
  int directory = open_directory();
  close(directory);
  int other = file("f");
  CHECK(directory == other);
  // Syncing the file does not sync the directory, whose descriptor had the number.
  CHECK(rename(at("f"), at("g")) == 0 && fsync(other) == 0);
  close(other);
  CHECK(open_directory() == other);
}

static void reuse_and_sync(void) {
  synced_file("f", "AA");
  int directory = open_directory();
  close(directory);
  int descriptor = file("f");
  CHECK(descriptor == directory && rename(at("f"), at("g")) == 0 && fsync(descriptor) == 0);
}

static void reuse_by_directory(void) {
  int first = synced_file("f", "AA");
  int second = file("f");
  close(second);
  write_halves(first, "BB", 0);
  int directory = open_directory();
  CHECK(directory == second && fsync(directory) == 0);
}

static void reuse_by_other(void) {
  synced_file("f", "AA");
  int directory = open_directory();
  close(directory);
  CHECK(rename(at("f"), at("g")) == 0);
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(null == directory && fsync(null) == -1);
  close(null);
}

// A socket or a pipe gets the number without open(2).
static void reuse_by_pipe(void) {
  synced_file("f", "AA");
  int directory = open_directory();
  close(directory);
  CHECK(rename(at("f"), at("g")) == 0);
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0 && ends[0] == directory && fsync(ends[0]) == -1);
  close(ends[0]);
  close(ends[1]);
}

static void reuse(void) {
  descriptors();
  OUTCOMES(reuse_by_other, directory, "f=AA", "g=AA");
  OUTCOMES(reuse_by_pipe, directory, "f=AA", "g=AA");
  OUTCOMES(reuse_and_sync, directory, "f=AA", "g=AA");
  OUTCOMES(reuse_by_directory, directory, "f=AA", "f=BB");
}

static void index_of_log(void) {
  uint64_t operations = simulated_disk_operations();
  int descriptor = open(at("f-shm"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  write_halves(descriptor, "AA", 0);
  char *shared = mmap(NULL, 512, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  CHECK(shared != MAP_FAILED && shared[0] == 'A');
  CHECK(simulated_disk_operations() == operations);
}

static void change_much(void) {
  for (int number = 0; number < 8; number++) {
    char name[2] = {(char)('a' + number)};
    write_halves(synced_file(name, "AAAAAAAA"), "BBBBBBBB", 0);
    if (number % 2) CHECK(unlink(at(name)) == 0);
    if (number % 3) CHECK(truncate(at("a"), 512 * (number % 5)) == 0);
  }
}

static char *after(uint64_t seed) {
  begin();
  change_much();
  simulated_disk_lose_power(seed);
  kill_process();
  return strdup(directory());
}

static void seeds(void) {
  int differences = 0;
  for (uint64_t seed = 1; seed < 20; seed++) {
    char *one = after(seed), *same = after(seed), *other = after(seed + 1);
    CHECK(strcmp(one, same) == 0);
    differences += strcmp(one, other) != 0;
    free(one), free(same), free(other);
  }
  CHECK(differences > 10);
}

// MARK: - Uses that are not simulated

static int used;
static struct iovec part = {(void *)bytes, 1};

static void by_writev(void) { writev(used, &part, 1); }
static void by_pwritev(void) { pwritev(used, &part, 1, 0); }
static void by_pwritev2(void) { pwritev2(used, &part, 1, 0, 0); }
static void by_sendfile(void) { sendfile(used, file("g"), NULL, 1); }
static void by_copy(void) { copy_file_range(file("g"), NULL, used, NULL, 1, 0); }
static void by_splice(void) { splice(0, NULL, used, NULL, 1, 0); }
static void by_fallocate(void) { fallocate(used, 0, 0, 1); }
static void by_range(void) { sync_file_range(used, 0, 1, 0); }
static void by_syncfs(void) { syncfs(used); }
static void by_dup(void) { dup(used); }
static void by_dup2(void) { dup2(used, 99); }
static void by_dup2_over(void) { dup2(0, used); }
static void by_dup3(void) { dup3(used, 99, 0); }
static void by_dup3_over(void) { dup3(0, used, 0); }
static void by_fcntl(void) { fcntl(used, F_DUPFD_CLOEXEC, 0); }
static void by_fdopen(void) { fdopen(used, "w"); }
static void by_mmap(void) { mmap(NULL, 512, PROT_READ | PROT_WRITE, MAP_SHARED, used, 0); }
static void by_fopen(void) { fopen(at("f"), "r+"); }
static void by_freopen(void) { freopen(at("f"), "a", stdin); }
static void by_mkstemp(void) { mkstemp((char *)at("XXXXXX")); }
static void by_mkostemp(void) { mkostemp((char *)at("XXXXXX"), 0); }
static void by_mkdir(void) { mkdir(at("d"), 0700); }
static void by_mkdirat(void) { mkdirat(AT_FDCWD, at("d"), 0700); }
static void by_rmdir(void) { rmdir(at("d")); }
static void by_symlink(void) { symlink("f", at("l")); }
static void by_symlinkat(void) { symlinkat("f", AT_FDCWD, at("l")); }
static void by_openat(void) { openat(open_directory(), "f", O_RDONLY); }
static void by_unlinkat(void) { unlinkat(open_directory(), "f", 0); }
static void by_tmpfile(void) { open(directory_path(), O_TMPFILE | O_RDWR, 0600); }
static void by_rename(void) { rename(at("f"), "/tmp/f"); }
static void by_exchange(void) { renameat2(0, at("f"), 0, at("g"), RENAME_EXCHANGE); }
static void by_link(void) { link("/dev/null", at("l")); }
static void by_mount(void) { simulated_disk_mount("/proc/self"); }
static void by_other_path(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/../%s/f", directory_path(), strrchr(directory_path(), '/') + 1);
  // The same, with a prefix that the disk does not know.
  memmove(path + 2, path, strlen(path) + 1);
  open(memcpy(path, "/.", 2), O_RDWR);
}

static void (*const uses[])(void) = {
    by_writev,    by_pwritev,  by_pwritev2, by_sendfile, by_copy,     by_splice,  by_fallocate,
    by_range,     by_syncfs,   by_dup,      by_dup2,     by_dup2_over, by_dup3,   by_dup3_over,
    by_fcntl,     by_fdopen,   by_mmap,     by_fopen,    by_freopen,  by_mkstemp, by_mkostemp,
    by_mkdir,     by_mkdirat,  by_rmdir,    by_symlink,  by_symlinkat, by_openat, by_unlinkat,
    by_tmpfile,   by_rename,   by_exchange, by_link,     by_mount,    by_other_path,
};

static void refusals(void) {
  used = synced_file("f", "AA");
  synced_file("g", "AA");
  for (size_t number = 0; number < sizeof uses / sizeof *uses; number++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(STDERR_FILENO);
      uses[number]();
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    char text[20];
    snprintf(text, sizeof text, "%zu", number);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
      fail(__FILE__, __LINE__, "not refused:", text);
  }
}

const struct scenario fault_scenarios[] = {
    {"a disk stops as if the process was killed", stops},
    {"a disk fails once, or until it is healed", fails},
    {"descriptors run out", no_descriptors},
    {"a full disk refuses growth only", full},
    {"a full disk gets room back", room_back},
    {"a full disk loses what it had room for", partial},
    {"a number of a descriptor is used again", reuse},
    {"the index of the write-ahead log is memory", index_of_log},
    {"the seed determines what is lost", seeds},
    {"a use that is not simulated ends the process", refusals},
    {0},
};
