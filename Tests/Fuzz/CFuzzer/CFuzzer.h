#ifndef USHER_CFUZZER_H
#define USHER_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// The entry point of libFuzzer as a library, which the linker option -sanitize=fuzzer adds.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

#endif
