#define _GNU_SOURCE

#include "CWipe.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// glibc's own, under the names that stay when a program has its own (glibc's manual, "Replacing
// malloc"). The allocator itself is not replaced, so blocks of malloc, calloc, aligned_alloc,
// posix_memalign and memalign all come this way, and blocks that glibc gave out earlier do too.
extern void __libc_free(void *block);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_malloc(size_t size);

// The usable size may be more than what was asked for: a caller may have used all of it.
static void wipe(void *block, size_t from) {
  const size_t size = malloc_usable_size(block);
  if (from < size) explicit_bzero((char *)block + from, size - from);
}

void free(void *block) {
  if (block == NULL) return;
  wipe(block, 0);
  __libc_free(block);
}

// A block that must grow is moved here, not by glibc, which would free the old one unwiped.
void *realloc(void *block, size_t size) {
  if (block == NULL) return __libc_malloc(size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  const size_t old = malloc_usable_size(block);
  if (size <= old) {
    // What glibc cuts off and gives back.
    wipe(block, size);
    return __libc_realloc(block, size);
  }
  void *moved = __libc_malloc(size);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old);
  free(block);
  return moved;
}

// glibc's calls its own realloc.
void *reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, bytes);
}

// C23: glibc has them from 2.43 on; a library that asks for them gets these before and after.
void free_sized(void *block, size_t size) {
  (void)size;
  free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size) {
  (void)alignment;
  (void)size;
  free(block);
}

int usher_wipes_freed_memory(void) { return dlsym(RTLD_DEFAULT, "free") == (void *)free; }
