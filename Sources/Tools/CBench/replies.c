#include "CBench.h"

#include <string.h>

// Longer than any reply in a measurement.
enum { LONGEST = 1 << 20 };

static size_t bulk_size(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  if (bytes[0] != '$') return BENCH_BAD_REPLY;
  size_t length = 0;
  for (size_t place = 1; place < count; place++) {
    const uint8_t byte = bytes[place];
    if (byte == '\r' && place > 1) {
      const size_t whole = place + 2 + length + 2;
      return whole <= count ? whole : 0;
    }
    if (byte < '0' || byte > '9') return BENCH_BAD_REPLY;
    length = length * 10 + (byte - '0');
    if (length > LONGEST) return BENCH_BAD_REPLY;
  }
  return 0;
}

static size_t length32_size(const uint8_t *bytes, size_t count) {
  if (count < 4) return 0;
  const size_t length = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 |
                        (size_t)bytes[3];
  if (length > LONGEST) return BENCH_BAD_REPLY;
  return 4 + length <= count ? 4 + length : 0;
}

size_t bench_reply_size(bench_framing framing, const uint8_t *bytes, size_t count) {
  switch (framing) {
  case BENCH_LINE: {
    const uint8_t *end = count == 0 ? NULL : memchr(bytes, '\n', count);
    return end == NULL ? 0 : (size_t)(end - bytes) + 1;
  }
  case BENCH_BULK: return bulk_size(bytes, count);
  case BENCH_LENGTH32: return length32_size(bytes, count);
  case BENCH_CLOSE: return 0;
  }
  return BENCH_BAD_REPLY;
}
