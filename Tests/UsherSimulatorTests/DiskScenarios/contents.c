#define _GNU_SOURCE
#include "scenarios.h"

#include <errno.h>

// What a power failure leaves of a file's contents.

static const char *f(void) { return halves("f"); }

static void write_over(void) { write_halves(synced_file("f", "AAAA"), "BBBB", 0); }

static void unsynced(void) { OUTCOMES(write_over, f, "AAAA", "AABB", "BBAA", "BBBB"); }

static void write_and_fsync(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BBBB", 0);
  CHECK(fsync(descriptor) == 0);
}

static void write_and_fdatasync(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BBBB", 0);
  CHECK(fdatasync(descriptor) == 0);
}

static void synced(void) {
  OUTCOMES(write_and_fsync, f, "BBBB");
  OUTCOMES(write_and_fdatasync, f, "BBBB");
}

static int write_and_fail_to_sync(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BBBB", 0);
  simulated_disk_fail(SIMULATED_DISK_FAILS_ONCE, 0);
  CHECK(fsync(descriptor) == -1 && errno == EIO);
  return descriptor;
}

static void sync_again(void) { CHECK(fsync(write_and_fail_to_sync()) == 0); }

static void write_and_sync_again(void) {
  int descriptor = write_and_fail_to_sync();
  write_halves(descriptor, "CC", 2);
  CHECK(fsync(descriptor) == 0);
}

static void failed_sync(void) {
  OUTCOMES(sync_again, f, "AAAA", "AABB", "BBAA", "BBBB");
  OUTCOMES(write_and_sync_again, f, "AACC", "BBCC");
}

static void append_twice(void) {
  int descriptor = synced_file("f", "AA");
  write_halves(descriptor, "BB", 2);
  write_halves(descriptor, "CC", 4);
}

static void growth(void) {
  OUTCOMES(
      append_twice, f, "AA", "AABB", "AA--", "AABBCC", "AABB--", "AA--CC", "AA----");
}

static void append(void) {
  int descriptor = open(at("f"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  write_halves(descriptor, "AA", 0);
  CHECK(fsync(descriptor) == 0);
  sync_directory();
  char bytes[512] = {0};
  CHECK(lseek(descriptor, 0, SEEK_SET) == 0);
  CHECK(write(descriptor, bytes, sizeof bytes) == sizeof bytes);
}

static void appending(void) { OUTCOMES(append, f, "AA", "AA--"); }

static void write_in_sequence(void) {
  int descriptor = synced_file("f", "AAAA");
  char bytes[512] = {0};
  CHECK(lseek(descriptor, 512, SEEK_SET) == 512);
  CHECK(write(descriptor, bytes, sizeof bytes) == sizeof bytes);
}

static void sequence(void) { OUTCOMES(write_in_sequence, f, "AAAA", "AA--"); }

static void cut(void) { CHECK(ftruncate(synced_file("f", "AABBCCDD"), 1024) == 0); }

static void cut_by_path(void) {
  synced_file("f", "AABBCCDD");
  CHECK(truncate(at("f"), 1024) == 0);
}

static void truncation(void) {
  OUTCOMES(cut, f, "AABB", "AABBCCDD");
  OUTCOMES(cut_by_path, f, "AABB", "AABBCCDD");
}

static void cut_and_write(void) {
  int descriptor = synced_file("f", "AAAAAA");
  CHECK(ftruncate(descriptor, 0) == 0);
  write_halves(descriptor, "BBBB", 0);
}

static void open_and_write(void) {
  synced_file("f", "AAAAAA");
  write_halves(open(at("f"), O_WRONLY | O_TRUNC | O_CLOEXEC), "BBBB", 0);
}

static void create_and_write(void) {
  synced_file("f", "AAAAAA");
  write_halves(creat(at("f"), 0600), "BBBB", 0);
}

// The old contents come back as a whole or not at all.
static void rewriting(void) {
  OUTCOMES(cut_and_write, f, "AAAAAA", "", "BBBB", "BB--", "--BB", "----");
  OUTCOMES(open_and_write, f, "AAAAAA", "", "BBBB", "BB--", "--BB", "----");
  OUTCOMES(create_and_write, f, "AAAAAA", "", "BBBB", "BB--", "--BB", "----");
}

static void write_and_cut(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BB", 2);
  CHECK(ftruncate(descriptor, 512) == 0);
}

static void writing_before(void) { OUTCOMES(write_and_cut, f, "AA", "AAAA", "AABB"); }

static void write_cut_and_write(void) {
  int descriptor = synced_file("f", "AAAA");
  write_halves(descriptor, "BB", 2);
  CHECK(ftruncate(descriptor, 512) == 0);
  write_halves(descriptor, "CCCC", 2);
}

static void growing_again(void) {
  OUTCOMES(
      write_cut_and_write, f, "AAAA", "AABB", "AA", "AACCCC", "AA--CC", "AACC--", "AA----");
}

static void cut_and_write_the_rest(void) {
  int descriptor = synced_file("f", "AAAA");
  CHECK(ftruncate(descriptor, 512) == 0);
  write_halves(descriptor, "BB", 0);
}

static void writing_the_rest(void) {
  OUTCOMES(cut_and_write_the_rest, f, "AA", "BB", "AAAA", "BBAA");
}

static void cut_twice(void) {
  int descriptor = synced_file("f", "AAAA");
  CHECK(ftruncate(descriptor, 0) == 0);
  write_halves(descriptor, "BBBB", 0);
  CHECK(ftruncate(descriptor, 512) == 0);
  CHECK(ftruncate(descriptor, 1024) == 0);
}

static void cutting_twice(void) {
  OUTCOMES(
      cut_twice, f, "AAAA", "", "BBBB", "BB--", "--BB", "----", "BB", "--");
}

static void cut_and_sync(void) {
  int descriptor = synced_file("f", "AAAA");
  CHECK(ftruncate(descriptor, 512) == 0);
  CHECK(fsync(descriptor) == 0);
  CHECK(ftruncate(descriptor, 1024) == 0);
}

static void drop_and_cut(void) {
  int descriptor = write_and_fail_to_sync();
  CHECK(ftruncate(descriptor, 512) == 0);
  CHECK(fsync(descriptor) == 0);
  CHECK(ftruncate(descriptor, 1024) == 0);
  CHECK(fsync(descriptor) == 0);
}

static void drop_and_cut_a_half(void) {
  int descriptor = write_and_fail_to_sync();
  CHECK(ftruncate(descriptor, 768) == 0);
  write_halves(descriptor, "CC", 0);
  simulated_disk_fail(SIMULATED_DISK_FAILS_ONCE, 0);
  CHECK(fsync(descriptor) == -1);
  CHECK(fsync(descriptor) == 0);
  CHECK(ftruncate(descriptor, 1024) == 0);
  CHECK(fsync(descriptor) == 0);
}

static void cut_a_half(void) { CHECK(ftruncate(synced_file("f", "AAAA"), 768) == 0); }

static void cut_a_half_and_grow(void) {
  int descriptor = synced_file("f", "AAAA");
  CHECK(ftruncate(descriptor, 768) == 0);
  CHECK(ftruncate(descriptor, 1024) == 0);
}

// What a synced truncation has cut off never comes back.
static void synced_truncation(void) {
  OUTCOMES(cut_and_sync, f, "AA", "AA--");
  OUTCOMES(drop_and_cut, f, "AA--", "BB--");
  OUTCOMES(drop_and_cut_a_half, f, "AAA-", "AAB-", "CCA-", "CCB-");
}

static void half_truncation(void) {
  OUTCOMES(cut_a_half, f, "AAA", "AAAA", "AAA-");
  OUTCOMES(cut_a_half_and_grow, f, "AAA", "AAAA", "AAA-");
}

static void allocate(void) {
  CHECK(posix_fallocate(synced_file("f", "AA"), 0, 1024) == 0);
}

static void allocation(void) { OUTCOMES(allocate, f, "AA", "AA--"); }

const struct scenario content_scenarios[] = {
    {"a write that is not synced may be lost, sector by sector", unsynced},
    {"a write that is synced is kept", synced},
    {"what a failed sync dropped is not synced by the next one", failed_sync},
    {"a file may lose its growth, and what it grew by", growth},
    {"a write is appended", appending},
    {"a write is at the position of the descriptor", sequence},
    {"a truncation is lost as a whole or not at all", truncation},
    {"what is written after a truncation is lost with it", rewriting},
    {"what was written before a truncation that is lost may be lost, too", writing_before},
    {"what a truncation cut off does not come back where the file grows again", growing_again},
    {"what a truncation leaves is written independently of it", writing_the_rest},
    {"two truncations are lost in their order", cutting_twice},
    {"what a synced truncation cut off does not come back", synced_truncation},
    {"a truncation within a sector", half_truncation},
    {"an allocation may be lost", allocation},
    {0},
};
