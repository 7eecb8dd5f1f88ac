#include "CBench.h"

#include <stdlib.h>

// As in HdrHistogram: steps have the same size within a power of two, and double with the next one.
enum { STEP_BITS = 8, STEPS = 1 << STEP_BITS, HIGHEST_BIT = 40 };
enum { COUNTERS = (HIGHEST_BIT - STEP_BITS + 2) * STEPS };

struct bench_histogram {
  uint64_t total;
  uint64_t longest;
  uint64_t counters[COUNTERS];
};

bench_histogram *bench_histogram_new(void) { return calloc(1, sizeof(bench_histogram)); }

void bench_histogram_free(bench_histogram *histogram) { free(histogram); }

static size_t counter_of(uint64_t time) {
  if (time < 2 * STEPS) return time;
  const int highest = 63 - __builtin_clzll(time);
  if (highest > HIGHEST_BIT) return COUNTERS - 1;
  const int shift = highest - STEP_BITS;
  return (size_t)shift * STEPS + (time >> shift);
}

static uint64_t highest_in(size_t counter) {
  if (counter < 2 * STEPS) return counter;
  const size_t shift = counter / STEPS - 1;
  return ((counter - shift * STEPS + 1) << shift) - 1;
}

void bench_histogram_record(bench_histogram *histogram, uint64_t time) {
  histogram->counters[counter_of(time)]++;
  histogram->total++;
  if (time > histogram->longest) histogram->longest = time;
}

uint64_t bench_histogram_total(const bench_histogram *histogram) { return histogram->total; }

uint64_t bench_histogram_at(const bench_histogram *histogram, double share) {
  if (histogram->total == 0) return 0;
  uint64_t wanted = (uint64_t)(share * (double)histogram->total);
  if ((double)wanted < share * (double)histogram->total) wanted++;
  if (wanted == 0) wanted = 1;
  uint64_t seen = 0;
  for (size_t counter = 0; counter < COUNTERS; counter++) {
    seen += histogram->counters[counter];
    if (seen < wanted) continue;
    const uint64_t time = highest_in(counter);
    return time < histogram->longest ? time : histogram->longest;
  }
  return histogram->longest;
}
