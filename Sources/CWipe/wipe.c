#define _GNU_SOURCE

#include "CWipe.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// glibc's own functions, under names that remain when a program defines its own (glibc's manual,
// "Replacing malloc"). The allocator itself is not replaced, so this `free` handles blocks of
// malloc, calloc, aligned_alloc, posix_memalign and memalign, and blocks that glibc allocated
// earlier.
extern void __libc_free(void *block);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_malloc(size_t size);

// Wipes the usable size of the block, which may exceed the requested size, because the caller may
// have used all of it.
static void wipe(void *block, size_t from) {
  const size_t size = malloc_usable_size(block);
  if (from < size) explicit_bzero((char *)block + from, size - from);
}

void free(void *block) {
  if (block == NULL) return;
  wipe(block, 0);
  __libc_free(block);
}

// Changes the size of a block. A block that must grow is moved here, because glibc would free the
// old block without wiping it.
void *realloc(void *block, size_t size) {
  if (block == NULL) return __libc_malloc(size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  const size_t old = malloc_usable_size(block);
  if (size <= old) {
    // Wipes the part that glibc cuts off and frees.
    wipe(block, size);
    return __libc_realloc(block, size);
  }
  void *moved = __libc_malloc(size);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old);
  free(block);
  return moved;
}

// This function must be replaced, because glibc's reallocarray calls glibc's own realloc.
void *reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, bytes);
}

// These are functions of C23. glibc has them from 2.43 on; libraries that use them get these
// functions with any version.
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
