#pragma once

#include "CSimulatedKernel.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The state of the simulated disk, which only these sources use.
#pragma GCC visibility push(hidden)

// What a disk guarantees to write as a whole.
enum { SECTOR = 512 };

// A change of a file since the file was synced.
struct change {
  enum {
    // A sector was written. Each such change reaches the disk or not, whatever the others do.
    WRITTEN,
    // The size was changed. File systems change the sizes of a file in their order, by a journal.
    RESIZED,
    // A sector was cut off by the RESIZED before it, and is back if that change is lost.
    CUT,
  } kind;
  // The number of the sector, for WRITTEN and CUT.
  off_t number;
  unsigned char before[SECTOR];
  // Whether a sync failed since a sector was written. Linux does not write it again (fsync(2)).
  bool is_dropped;
  // The sizes before and after the change, for RESIZED.
  off_t old_size, new_size;
  struct change *older;
};

// A file below the simulated directory, by its inode.
struct file {
  ino_t inode;
  // A descriptor of the simulation's own, for restoring sectors. It is never passed to SQLite.
  int descriptor;
  // The newest change.
  struct change *changes;
  // The change WRITTEN of each sector, by the sector's number. A sector that was cut off has none.
  struct change **written;
  off_t capacity;
  // The path of the file's copy while files are copied.
  char copy[256];
  struct file *next;
};

// A change of a name in the directory since the directory was synced.
struct name_change {
  char path[256];
  // Another name of the file that had this name, outside of the directory, and the file; empty and
  // NULL if there was none.
  char before[256];
  struct file *file;
  // Whether the change before it is a part of the same operation.
  bool is_second;
  struct name_change *older;
};

struct disk {
  // With a slash at the end.
  char directory[200];
  // Zero if no directory is simulated.
  size_t directory_length;
  struct file *files;
  // The newest change.
  struct name_change *names;
  struct file *by_descriptor[SIMULATED_DESCRIPTORS];
  bool is_directory[SIMULATED_DESCRIPTORS];
  uint64_t operations;
  // Operations from this number on fail.
  uint64_t limit;
  enum simulated_disk_fault fault;
  // Operations from this number on find a disk that has stopped.
  uint64_t stop;
  bool has_stopped;
  // The bytes that the files may have together.
  off_t size;
};

extern struct disk disk;

// Ends the process with a message: the simulation would be wrong.
_Noreturn void disk_abort(const char *reason, const char *what);

enum operation { OPENS, OTHER };

// Counts an operation on the disk; returns the errno with which it fails, or 0.
int disk_fails(enum operation operation);

// Whether a path is that of a file below the directory.
bool disk_has(const char *path);

struct file *disk_file_of(int descriptor);

// Whether a path means the same without the descriptor of a directory that is given with it. Ends
// the process if it is the simulated directory.
bool disk_is_plain(int directory, const char *path);

// Ends the process if a descriptor is that of a file below the directory.
void disk_check_path(int descriptor);

// Returns the file with a path; NULL if there is no regular file.
struct file *disk_track(const char *path);

void disk_forget(struct file *file);

// Visits the files that are in the directory, in the order of their names.
void disk_visit(void (*visit)(const char *name, struct file *file));

void disk_set_directory(const char *path);

// Forgets which descriptors are those of files.
void disk_forget_descriptors(void);

off_t disk_size_of(const struct file *file);

// The bytes by which files can still grow; at least 0.
off_t disk_room(void);

// Remembers the contents of the sectors in a range before they change.
void disk_note_write(struct file *file, off_t begin, off_t end);

// Remembers the size, and what is cut off, before the size changes.
void disk_note_size(struct file *file, off_t size);

// Forgets what the file had before it was synced, except sectors that an earlier sync dropped.
void disk_synced(struct file *file);

// Notes that a sync failed.
void disk_sync_failed(struct file *file);

// Shortens a sector's former contents to what a file of a size had of them. Returns whether
// anything is left.
bool disk_clip(struct change *change, off_t size);

void disk_forget_changes(struct file *file);

// Remembers which file has a name before that changes.
void disk_note_name(const char *path);

// Sets the path of a name for a file of the simulation's own that is outside of the directory.
void disk_name_outside(char path[256]);

// Forgets the newest change of a name, which failed, or was undone.
void disk_forget_name(void);

void disk_forget_names(void);

#pragma GCC visibility pop
