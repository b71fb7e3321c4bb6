/* See second_costs.h. */
#define _GNU_SOURCE
#include "second_costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

second_costs second_costs_read(void)
{
	second_costs c = {.slow = 1};
	const char *slow = getenv("SECOND_SLOW"), *copy = getenv("SECOND_COPY");
	if (slow)
		c.slow = strtod(slow, NULL);
	if (copy && sscanf(copy, "%lf:%lf", &c.latency_s, &c.bandwidth) != 2)
		c.latency_s = c.bandwidth = 0;
	return c;
}

double second_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void second_wait(double until)
{
	static const double awake_s = 2e-4;
	double left;
	while ((left = until - second_now()) > 0) {
		double nap = left - awake_s < 0.5 ? left - awake_s : 0.5;
		struct timespec t = {0, (long)(1e9 * nap)};
		if (nap > 0)
			nanosleep(&t, NULL);
	}
}
