/* Random small instances of everything that the graph, system and placement formats can say, for comparing
 * two simulators.
 *
 * Two instances in three count time in whole nanoseconds from 0 to 4, so that equal times and zero durations
 * are everywhere; the rest have odd sizes, so that every rounding matters. The texts are valid: acyclic,
 * strongly connected, no name or link twice, pins to devices that exist, orders that are topological. The
 * placement usually, not always, respects pins, memory and what runs where. One seed gives one instance, on
 * every machine. */
#ifndef INSTANCE_H
#define INSTANCE_H

#include <stddef.h>
#include <stdint.h>

enum { INSTANCE_MAX_OPS = 64, INSTANCE_MAX_DEVICES = 16 };

typedef struct instance {
	char *graph, *system, *placement; /* JSON texts */
	int n_ops, n_devices;
} instance;

/* 1..max_ops operators and 1..max_devices devices; larger limits than the two above are cut to them. Out of
 * memory aborts. */
void instance_make(uint64_t seed, int max_ops, int max_devices, instance *out);

/* As above, with the devices in memory pools, most of them: the same graph, devices, links and placement, but
 * for the pools. Two of three pools have no limit of bytes. */
void instance_make_pooled(uint64_t seed, int max_ops, int max_devices, instance *out);

/* By draws that bytes[n] say, one byte a draw; behind their end as by a seed. For fuzzers. The last bit of
 * the first byte says whether there are pools. */
void instance_make_from(const uint8_t *bytes, size_t n, int max_ops, int max_devices, instance *out);

void instance_free(instance *i);

#endif
