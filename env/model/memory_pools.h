/* Memory pools of a system: memory that several devices share, such as the DRAM of a chip with a CPU and a
 * GPU. What a pool means for times and memory stands in docs/execution-model.md, "Memory pools". */
#ifndef BERTH_MEMORY_POOLS_H
#define BERTH_MEMORY_POOLS_H

#include "json.h"
#include "system.h"
#include "text.h"

/* The pools of a system file, from its "memory_pools", into s. Devices are read and checked before.
 *   devs   index of each device by name
 *   mem    of the system
 *   tmp    scratch of the reading
 * Fails: BERTH_EFORMAT, with the JSON pointer; BERTH_ENOMEM. */
berth_status berth_pools_read(const berth_json *doc, const berth_strmap *devs, berth_arena *mem,
                              berth_arena *tmp, berth_system *s, berth_err *err);

/* The list "memory_pools" of a system file; nothing where s has none. Members are in the order of devices. */
void berth_pools_write(const berth_system *s, berth_json_out *w);

/* Names are there and unique, figures in range, each pool has a member. A member's mem_bandwidth is at most
 * the pool's, its memory_bytes are at most the pool's. Only the reference cost model knows of pools.
 * Fails: BERTH_EFORMAT, naming the pool. O(pools * (pools + devices)). */
berth_status berth_pools_check(const berth_system *s, berth_err *err);

/* Index of the pool called name, or -1. O(n_pools). */
int32_t berth_system_find_pool(const berth_system *s, const char *name);

#endif
