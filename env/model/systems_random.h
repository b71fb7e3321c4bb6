/* Seeded random machines: "system:random[:key=value...]" wherever a system file can stand. */
#ifndef BERTH_SYSTEMS_RANDOM_H
#define BERTH_SYSTEMS_RANDOM_H

#include "system.h"

/* The machine of what follows "random" in a spec: ":key=value..." or nothing. Its name is the spec without
 * "system:", with defaults left out.
 *   mem   holds the system
 *   tmp   scratch, reset at exit
 * Fails: BERTH_EINVAL (see spec.h), BERTH_ENOMEM. O(devices * devices). */
berth_status berth_system_random(const char *spec, const char *rest, berth_arena *mem, berth_arena *tmp,
                                 berth_system *out, berth_err *err);

#endif
