// Wipes memory when it is freed. Replaces free(3), realloc(3) and reallocarray(3) of the program
// that links this module, and of every library in its process.
#pragma once

// Returns 1 if the `free` that the process uses is this module's, otherwise 0. The symbols of the
// program alone do not show that.
int usher_wipes_freed_memory(void);
