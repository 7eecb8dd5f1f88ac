#define _GNU_SOURCE
#include "scenarios.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// What a kill leaves, and a power failure after it.

static const char *f(void) { return halves("f"); }

static void write_and_kill(void) {
  write_halves(synced_file("f", "AAAA"), "BBBB", 0);
  kill_process();
  CHECK(strcmp(f(), "BBBB") == 0);
}

static void write_kill_and_sync(void) {
  write_and_kill();
  CHECK(fsync(file("f")) == 0);
}

static void sectors(void) {
  OUTCOMES(write_and_kill, f, "AAAA", "AABB", "BBAA", "BBBB");
  OUTCOMES(write_kill_and_sync, f, "BBBB");
}

static void write_and_stop(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BBBB", 0);
  simulated_disk_fail(SIMULATED_DISK_STOPS, 0);
  CHECK(fsync(descriptor) == -1 && errno == EIO && simulated_disk_has_stopped());
  CHECK(pwrite(descriptor, "x", 1, 0) == -1);
  kill_process();
  CHECK(!simulated_disk_has_stopped());
  CHECK(fsync(file("f")) == 0);
}

// The kernel writes what a killed process has not synced when the next process syncs the file.
static void stopping(void) { OUTCOMES(write_and_stop, f, "BBBB"); }

static void drop_and_kill(void) {
  int descriptor = synced_file("f", "AA");
  write_halves(descriptor, "BB", 0);
  simulated_disk_fail(SIMULATED_DISK_FAILS_ONCE, 0);
  CHECK(fsync(descriptor) == -1);
  kill_process();
  CHECK(fsync(file("f")) == 0);
}

static void dropped(void) { OUTCOMES(drop_and_kill, f, "AA", "BB"); }

static void resize_and_kill(void) {
  CHECK(ftruncate(synced_file("f", "AAAA"), 512) == 0);
  write_halves(synced_file("g", "AA"), "BB", 2);
  kill_process();
}

static void sizes(void) {
  OUTCOMES(
      resize_and_kill, directory, "f=AA g=AA", "f=AA g=AA--", "f=AA g=AABB", "f=AAAA g=AA",
      "f=AAAA g=AA--", "f=AAAA g=AABB");
}

static void rename_and_kill(void) {
  synced_file("f", "AA");
  synced_file("g", "BB");
  CHECK(rename(at("f"), at("g")) == 0);
  kill_process();
  CHECK(strcmp(directory(), "g=AA") == 0);
}

static void rename_kill_and_sync(void) {
  rename_and_kill();
  sync_directory();
}

static void rename_kill_and_write(void) {
  rename_and_kill();
  int descriptor = file("g");
  write_halves(descriptor, "CC", 0);
  CHECK(fsync(descriptor) == 0);
}

static void names(void) {
  OUTCOMES(rename_and_kill, directory, "f=AA g=BB", "g=AA");
  OUTCOMES(rename_kill_and_sync, directory, "g=AA");
  OUTCOMES(rename_kill_and_write, directory, "f=CC g=BB", "g=CC");
}

static void remove_and_kill(void) {
  synced_file("f", "AA");
  CHECK(unlink(at("f")) == 0);
  kill_process();
  CHECK(strcmp(directory(), "") == 0);
}

static void removal(void) { OUTCOMES(remove_and_kill, directory, "", "f=AA"); }

static void kill_twice(void) {
  write_halves(synced_file("f", "AA"), "BB", 0);
  kill_process();
  CHECK(rename(at("f"), at("g")) == 0);
  kill_process();
}

static void twice(void) { OUTCOMES(kill_twice, directory, "f=AA", "f=BB", "g=AA", "g=BB"); }

static void lose_power_twice(uint64_t seed) {
  write_halves(synced_file("f", "AA"), "BB", 0);
  CHECK(link(at("f"), at("g")) == 0);
  simulated_disk_lose_power(seed);
  kill_process();
  char *left = strdup(directory());
  simulated_disk_lose_power(~seed);
  kill_process();
  CHECK(strcmp(directory(), left) == 0);
  free(left);
}

// What a power failure has left is on the disk.
static void power_twice(void) {
  for (uint64_t seed = 0; seed < 100; seed++) {
    begin();
    lose_power_twice(seed);
  }
}

static void descriptors(void) {
  int old = synced_file("f", "AA");
  CHECK(fchmod(old, 0640) == 0);
  int index = open(at("f-shm"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(index >= 0);
  kill_process();
  CHECK(strcmp(directory(), "f=AA") == 0);
  uint64_t operations = simulated_disk_operations();
  write_halves(old, "BB", 0);
  CHECK(simulated_disk_operations() == operations && strcmp(f(), "AA") == 0);
  struct stat status;
  CHECK(stat(at("f"), &status) == 0 && (status.st_mode & 07777) == 0640 && status.st_nlink == 1);
}

const struct scenario kill_scenarios[] = {
    {"a kill carries over the writes that were not synced", sectors},
    {"a sync that a kill prevents drops nothing", stopping},
    {"a kill carries over what a failed sync dropped", dropped},
    {"a kill carries over the sizes that were not synced", sizes},
    {"a kill carries over the names that were not synced", names},
    {"a kill carries over a removal that was not synced", removal},
    {"two kills carry over what both processes did not sync", twice},
    {"a power failure leaves nothing that is not synced", power_twice},
    {"a kill ends the use of descriptors, and keeps the modes of files", descriptors},
    {0},
};
