#define _GNU_SOURCE
#include "scenarios.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

// What a power failure leaves of names.

static void create(void) {
  int descriptor = file("f");
  write_halves(descriptor, "AA", 0);
  CHECK(fsync(descriptor) == 0);
}

static void create_and_sync(void) {
  create();
  sync_directory();
}

static void creation(void) {
  OUTCOMES(create, directory, "", "f=AA");
  OUTCOMES(create_and_sync, directory, "f=AA");
}

static void rename_file(void) {
  synced_file("f", "AA");
  CHECK(rename(at("f"), at("g")) == 0);
}

static void rename_file_at(void) {
  synced_file("f", "AA");
  CHECK(renameat(AT_FDCWD, at("f"), AT_FDCWD, at("g")) == 0);
}

static void rename_and_fail_to_sync(void) {
  rename_file();
  int descriptor = open_directory();
  simulated_disk_fail(SIMULATED_DISK_FAILS_ONCE, 0);
  CHECK(fsync(descriptor) == -1 && errno == EIO);
}

static void rename_and_sync(void) {
  rename_file();
  sync_directory();
}

static void renaming(void) {
  OUTCOMES(rename_file, directory, "f=AA", "g=AA");
  OUTCOMES(rename_file_at, directory, "f=AA", "g=AA");
  OUTCOMES(rename_and_fail_to_sync, directory, "f=AA", "g=AA");
  OUTCOMES(rename_and_sync, directory, "g=AA");
}

static void rename_over(void) {
  synced_file("f", "AA");
  synced_file("g", "BB");
  CHECK(rename(at("f"), at("g")) == 0);
}

static void replacing(void) { OUTCOMES(rename_over, directory, "f=AA g=BB", "g=AA"); }

static void rename_unsynced(void) {
  synced_file("g", "BB");
  write_halves(file("f"), "AA", 0);
  sync_directory();
  CHECK(rename(at("f"), at("g")) == 0);
}

static void replacing_unsynced(void) {
  OUTCOMES(
      rename_unsynced, directory, "f= g=BB", "f=-- g=BB", "f=AA g=BB", "g=", "g=--", "g=AA");
}

static void rename_two(void) {
  synced_file("a", "AA");
  synced_file("c", "CC");
  CHECK(rename(at("a"), at("b")) == 0);
  CHECK(rename(at("c"), at("d")) == 0);
}

static void order(void) {
  OUTCOMES(rename_two, directory, "a=AA c=CC", "b=AA c=CC", "b=AA d=CC");
}

static void remove_file(void) {
  synced_file("f", "AA");
  CHECK(unlink(at("f")) == 0);
}

static void remove_file_at(void) {
  synced_file("f", "AA");
  CHECK(unlinkat(AT_FDCWD, at("f"), 0) == 0);
}

static void remove_file_by_stdio(void) {
  synced_file("f", "AA");
  CHECK(remove(at("f")) == 0);
}

static void remove_and_sync(void) {
  remove_file();
  sync_directory();
}

static void removal(void) {
  OUTCOMES(remove_file, directory, "", "f=AA");
  OUTCOMES(remove_file_at, directory, "", "f=AA");
  OUTCOMES(remove_file_by_stdio, directory, "", "f=AA");
  OUTCOMES(remove_and_sync, directory, "");
}

static void remove_and_create(void) {
  synced_file("f", "AA");
  CHECK(unlink(at("f")) == 0);
  int descriptor = file("f");
  write_halves(descriptor, "BB", 0);
  CHECK(fsync(descriptor) == 0);
}

static void replacement(void) { OUTCOMES(remove_and_create, directory, "f=AA", "", "f=BB"); }

static void link_file(void) {
  synced_file("f", "AA");
  CHECK(link(at("f"), at("g")) == 0);
}

static void link_file_at(void) {
  synced_file("f", "AA");
  CHECK(linkat(AT_FDCWD, at("f"), AT_FDCWD, at("g"), 0) == 0);
}

static void link_and_sync(void) {
  link_file();
  sync_directory();
}

static void linking(void) {
  OUTCOMES(link_file, directory, "f=AA", "f=AA g=AA");
  OUTCOMES(link_file_at, directory, "f=AA", "f=AA g=AA");
  OUTCOMES(link_and_sync, directory, "f=AA g=AA");
}

// Changes that fail are no changes: nothing is lost, and nothing is lost before them.
static void change_in_vain(void) {
  synced_file("f", "AA");
  synced_file("g", "BB");
  CHECK(link(at("f"), at("g")) == -1 && errno == EEXIST);
  CHECK(rename(at("h"), at("g")) == -1 && errno == ENOENT);
  CHECK(unlink(at("h")) == -1 && errno == ENOENT);
  CHECK(open(at("h/i"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) == -1 && errno == ENOENT);
  int descriptor = open(at("f"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  CHECK(descriptor == -1 && errno == EEXIST);
}

static void vain(void) {
  change_in_vain();
  // The files have no more names beside the directory.
  struct stat status;
  CHECK(stat(at("f"), &status) == 0 && status.st_nlink == 1);
  CHECK(stat(at("g"), &status) == 0 && status.st_nlink == 1);
  OUTCOMES(change_in_vain, directory, "f=AA g=BB");
}

const struct scenario name_scenarios[] = {
    {"a new file may be lost until the directory is synced", creation},
    {"a rename may be lost until the directory is synced", renaming},
    {"a rename that replaces a file is lost as a whole", replacing},
    {"a rename does not sync the file", replacing_unsynced},
    {"renames are lost in their order", order},
    {"a removal may be lost until the directory is synced", removal},
    {"a removal and a creation are lost in their order", replacement},
    {"a link may be lost until the directory is synced", linking},
    {"a change of a name that fails is none", vain},
    {0},
};
