// Memory that is given back is wiped: free(3), realloc(3) and reallocarray(3) of the program that
// links this, for itself and for every library in it.
#pragma once

// What cannot be told apart by looking at the program's names: whether `free` is this module's.
// 1 or 0.
int usher_wipes_freed_memory(void);
