#pragma once

#include "CSimulatedKernel.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The state of the simulated disk, which only these sources use.
#pragma GCC visibility push(hidden)

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

struct disk {
  char directory[200];
  size_t directory_length;
  struct file *files;
  struct name_change *names;
  struct file *by_descriptor[SIMULATED_DESCRIPTORS];
  bool is_directory[SIMULATED_DESCRIPTORS];
  uint64_t operations, limit;
  enum simulated_disk_fault fault;
  bool has_stopped;
};

extern struct disk disk;

enum operation { OPENS, NEEDS_SPACE, OTHER };

// Counts an operation on the disk; returns the errno with which it fails, or 0.
int disk_fails(enum operation operation);

bool disk_has(const char *path);

struct file *disk_file_of(int descriptor);

struct file *disk_track(const char *path);

// Remembers the contents of the sectors in a range before they change.
void disk_keep(struct file *file, off_t begin, off_t end);

// Forgets the contents before the last writes, for a file that was synced or is not needed.
void disk_forget_sectors(struct file *file, bool with_dropped);

void disk_note_name(const char *path);
void disk_forget_names(void);
void disk_remove_name(const char *path);

#pragma GCC visibility pop
