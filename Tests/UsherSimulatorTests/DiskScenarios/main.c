#define _GNU_SOURCE
#include "scenarios.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Runs one scenario in an empty directory, or prints the names of all:
//
//     disk-scenarios
//     disk-scenarios NAME DIRECTORY

// Outcomes are looked for with at least as many seeds, and more if one has not occurred.
enum { HALF = 256, SEEDS = 400, SEEDS_AT_MOST = 4000, OUTCOMES_AT_MOST = 32 };

static const char *root;
static char here[200];
static unsigned disks;

void fail(const char *file, int line, const char *message, const char *what) {
  fprintf(stderr, "%s:%d: %s %s\n", file, line, message, what);
  exit(1);
}

static char *buffer(void) {
  static char buffers[16][4096];
  static unsigned next;
  return buffers[next++ % 16];
}

static void new_directory(void) {
  snprintf(here, sizeof here, "%s/disk-%u", root, disks++);
  if (mkdir(here, 0700) != 0) fail(__FILE__, __LINE__, "mkdir", here);
}

// Removes the files of earlier disks, of which there are thousands.
static void clean(const char *path) {
  DIR *files = opendir(path);
  if (!files) fail(__FILE__, __LINE__, "opendir", path);
  struct dirent *entry;
  while ((entry = readdir(files))) {
    if (entry->d_name[0] == '.') continue;
    char file[500];
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    if (unlink(file) != 0) {
      clean(file);
      rmdir(file);
    }
  }
  closedir(files);
}

void begin(void) {
  simulated_disk_mount("");
  clean(root);
  new_directory();
  simulated_disk_mount(here);
}

const char *at(const char *name) {
  char *path = buffer();
  snprintf(path, 4096, "%s/%s", here, name);
  return path;
}

int file(const char *name) {
  int descriptor = open(at(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) fail(__FILE__, __LINE__, "open", name);
  return descriptor;
}

void write_halves(int descriptor, const char *letters, int first_half) {
  char bytes[64 * HALF];
  size_t count = strlen(letters);
  CHECK(count <= 64);
  for (size_t half = 0; half < count; half++)
    memset(bytes + half * HALF, letters[half] == '-' ? 0 : letters[half], HALF);
  CHECK(pwrite(descriptor, bytes, count * HALF, first_half * HALF) == (ssize_t)(count * HALF));
}

int synced_file(const char *name, const char *letters) {
  int descriptor = file(name);
  write_halves(descriptor, letters, 0);
  CHECK(fsync(descriptor) == 0);
  sync_directory();
  return descriptor;
}

const char *directory_path(void) { return here; }

int open_directory(void) {
  int descriptor = open(here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(__FILE__, __LINE__, "open", here);
  return descriptor;
}

void sync_directory(void) {
  int descriptor = open_directory();
  CHECK(fsync(descriptor) == 0);
  close(descriptor);
}

void kill_process(void) {
  new_directory();
  simulated_disk_move(here);
}

const char *halves(const char *name) {
  int descriptor = open(at(name), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "none";
  char *text = buffer(), bytes[HALF];
  size_t length = 0;
  ssize_t count;
  while ((count = read(descriptor, bytes, HALF)) > 0) {
    CHECK(length < 4000);
    bool is_even = count == HALF;
    for (ssize_t byte = 1; byte < count; byte++) is_even &= bytes[byte] == bytes[0];
    text[length++] = !is_even ? '?' : bytes[0] ? bytes[0] : '-';
  }
  text[length] = 0;
  close(descriptor);
  return text;
}

static int by_name(const struct dirent **one, const struct dirent **other) {
  return strcmp((*one)->d_name, (*other)->d_name);
}

const char *directory(void) {
  struct dirent **entries;
  int count = scandir(here, &entries, NULL, by_name);
  char *text = buffer();
  size_t length = 0;
  text[0] = 0;
  for (int number = 0; number < count; number++) {
    const char *name = entries[number]->d_name;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
      length += (size_t)snprintf(
          text + length, 4096 - length, "%s%s=%s", length > 0 ? " " : "", name, halves(name));
    free(entries[number]);
  }
  free(entries);
  return text;
}

void check_outcomes(void (*prepare)(void), const char *(*read)(void), const char *const *outcomes) {
  bool has_occurred[OUTCOMES_AT_MOST] = {false};
  int missing = 0;
  while (outcomes[missing]) missing++;
  CHECK(missing <= OUTCOMES_AT_MOST);
  for (uint64_t seed = 0; seed < SEEDS || (missing > 0 && seed < SEEDS_AT_MOST); seed++) {
    begin();
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prepare();
    simulated_disk_heal();
    simulated_disk_lose_power(seed);
    kill_process();
    const char *outcome = read();
    int number = 0;
    while (outcomes[number] && strcmp(outcomes[number], outcome) != 0) number++;
    if (!outcomes[number]) fail(__FILE__, __LINE__, "unexpected:", outcome);
    if (!has_occurred[number]) missing--;
    has_occurred[number] = true;
    for (int descriptor = before; descriptor < before + 16; descriptor++) close(descriptor);
  }
  for (int number = 0; outcomes[number]; number++)
    if (!has_occurred[number]) fail(__FILE__, __LINE__, "never:", outcomes[number]);
}

static const struct scenario *const all[] = {
    content_scenarios, name_scenarios, kill_scenarios, fault_scenarios};

int main(int count, char **arguments) {
  for (size_t list = 0; list < sizeof all / sizeof *all; list++) {
    for (const struct scenario *scenario = all[list]; scenario->name; scenario++) {
      if (count == 1) {
        puts(scenario->name);
      } else if (count == 3 && strcmp(arguments[1], scenario->name) == 0) {
        root = arguments[2];
        begin();
        scenario->run();
        return 0;
      }
    }
  }
  return count == 1 ? 0 : 2;
}
