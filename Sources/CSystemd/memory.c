#include "CSystemd.h"

#include <malloc.h>

int usher_release_memory(size_t least) {
  const struct mallinfo2 heap = mallinfo2();
  return heap.fordblks >= least ? malloc_trim(0) : 0;
}
