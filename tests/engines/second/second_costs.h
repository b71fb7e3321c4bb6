/* How slow the second device is: told by the environment when the library is loaded.
 *   SECOND_SLOW   a kernel takes so many times as long as it would (default 1)
 *   SECOND_COPY   LATENCY:BANDWIDTH, seconds and bytes a second of a copy to or from the device (default
 * none)
 */
#pragma once

#include <stddef.h>

typedef struct second_costs {
	double slow, latency_s, bandwidth; /* bandwidth 0: copies cost what they cost */
} second_costs;

second_costs second_costs_read(void);

double second_now(void);
/* Wait until second_now() is `until`: asleep, and awake for the last bit. */
void second_wait(double until);
