#pragma once

#include "CSimulatedKernel.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

// Each scenario uses the simulated disk as a daemon does, and checks what a power failure leaves.
struct scenario {
  const char *name;
  void (*run)(void);
};

extern const struct scenario content_scenarios[], name_scenarios[], kill_scenarios[],
    fault_scenarios[];

// Ends the scenario with a message.
_Noreturn void fail(const char *file, int line, const char *message, const char *what);

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, ""); \
  } while (0)

// Simulates an empty disk.
void begin(void);

// Returns the path of a file, until the sixteenth call after this one.
const char *at(const char *name);

// The path of the directory.
const char *directory_path(void);

// Opens a file for writing; creates it if it is not there.
int file(const char *name);

// Writes halves of sectors into a file: each letter stands for 256 of it.
void write_halves(int descriptor, const char *letters, int first_half);

// Creates a file with such contents, with its name on the disk.
int synced_file(const char *name, const char *letters);

int open_directory(void);

void sync_directory(void);

// Kills the process that has the files open.
void kill_process(void);

// The contents of a file in the same form; "-" stands for zeros. "none" if there is no such file.
// The result is valid until the sixteenth call after this one.
const char *halves(const char *name);

// All names in the directory, in their order, each with an equals sign and its contents.
const char *directory(void);

// Prepares, lets the power fail, and reads, for many seeds. What is read must be among the
// outcomes, which NULL ends, and each of them must occur.
void check_outcomes(void (*prepare)(void), const char *(*read)(void), const char *const *outcomes);

#define OUTCOMES(prepare, read, ...) \
  check_outcomes(prepare, read, (const char *const[]){__VA_ARGS__, NULL})
