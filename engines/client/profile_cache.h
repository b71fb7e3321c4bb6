/* Measured times, kept between runs in an SQLite file. The key has three parts: the engine with its version,
 * the device as the engine describes it, and the operator as profile.c describes it (type, work, and the
 * sizes of all that goes in and out). */
#pragma once

#include "statistics.h"

typedef struct berth_cached {
	int32_t n;              /* samples */
	berth_spread wall, cpu; /* cpu all NAN: not said */
} berth_cached;

typedef struct berth_profile_cache berth_profile_cache;

/* Open or make the file. Fails: BERTH_EIO (SQLite refuses the file, or is not built in), BERTH_ENOMEM. */
berth_status berth_profile_cache_open(const char *path, berth_arena *mem, berth_profile_cache **out,
                                      berth_err *err);
void berth_profile_cache_close(berth_profile_cache *c);

/* *found: was it there. Fails: BERTH_EIO. */
berth_status berth_profile_cache_get(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, berth_cached *out, bool *found, berth_err *err);
berth_status berth_profile_cache_put(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, const berth_cached *x, berth_err *err);
