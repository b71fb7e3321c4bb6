/* The range of what was built comes from the rows of the catalogue. A figure is taken for a slip where it is
 * below that by a step of 1000, since small devices stand in no catalogue, or above it by half a step: then a
 * wrong unit explains it better than a new device. */
#include "system_warnings.h"

#define STEP 1000.0
#define HALF_STEP 31.622776601683793 /* its root */

/* What no data sheet tells has the range of what is met: an operator's start takes from a call of a core that
 * waits to a launch through a browser, a message from one between cores to one around the earth. */
static const struct {
	const char *key;
	berth_built range;
} told[] = {
	{"op_overhead_s", {3e-8, 5e-6, 6e-4}},
	{"op_gap_s", {3e-8, 5e-6, 6e-4}},
	{"latency_s", {1e-6, 1e-5, 0.03}},
	{"collective_latency_s", {1e-6, 1e-5, 0.03}},
	{"joules_per_byte", {1e-12, 8e-11, 1e-6}},
};

/* The figure of a row; 0: it has none. */
static double device_figure(const berth_device_row *d, const char *key, berth_precision p)
{
	return strcmp(key, "peak_flops") == 0      ? d->peak[p]
	       : strcmp(key, "mem_bandwidth") == 0 ? d->mem_bandwidth
	       : strcmp(key, "memory_bytes") == 0  ? d->memory_bytes
	       : strcmp(key, "cache_bytes") == 0   ? d->cache_bytes
	       : strcmp(key, "power_w") == 0       ? d->watts
	       : strcmp(key, "busy_w") == 0        ? d->watts
	                                           : 0;
}

static void widen(berth_built *r, double x)
{
	if (!(x > 0))
		return;
	r->least = r->most > 0 ? fmin(r->least, x) : x;
	r->most = fmax(r->most, x);
}

berth_built berth_built_range(const berth_catalogue *c, const berth_system_figure *f,
                              berth_device_class class, berth_precision p)
{
	berth_built r = {0, 0, 0};
	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (strcmp(told[i].key, f->key) == 0)
			return told[i].range;
	for (int32_t i = 0; i < c->n_links && f->of == BERTH_OF_LINK; i++)
		widen(&r, c->link[i].bandwidth);
	for (int32_t i = 0; i < c->n_devices && f->of != BERTH_OF_LINK; i++) {
		const berth_device_row *d = &c->device[i];
		const char *key = f->of == BERTH_OF_DEVICE             ? f->key
		                  : strcmp(f->key, "bandwidth") == 0 ? "mem_bandwidth"
		                                                     : "memory_bytes";
		if (class == BERTH_CLASS_NONE || d->device_class == class)
			widen(&r, device_figure(d, key, p));
	}
	r.usual = sqrt(r.least) * sqrt(r.most);
	if (f->type == BERTH_FIGURE_BYTES) /* some have the memory of a chip alone, and that is the least */
		for (int32_t i = 0; i < c->n_devices; i++)
			if (c->device[i].cache_bytes > 0)
				r.least = fmin(r.least, STEP * c->device[i].cache_bytes);
	return r;
}

/* Does x say on purpose that something costs nothing, or has no limit? */
static bool is_for_free(const berth_system_figure *f, double x)
{
	return x == 0 || (f->quantity == BERTH_SECONDS ? x <= 1e-12
	                  : f->quantity == BERTH_BYTES ? x >= 1e15
	                                               : x >= 1e18 || x <= 1e-15);
}

bool berth_slip(const berth_system_figure *f, const berth_built *r, double x, double *meant)
{
	double best = INFINITY;
	if (!(r->most > 0) || !isfinite(x) || is_for_free(f, x) ||
	    (x >= r->least / STEP && x <= r->most * HALF_STEP))
		return false;
	for (int step = -6; step <= 6; step++) {
		double y = step > 0 ? x * pow(STEP, step) : x / pow(STEP, -step);
		double off = fabs(log(y / r->usual));
		if (step && off < best && y >= r->least / STEP && y <= r->most * HALF_STEP) {
			best = off;
			*meant = y;
		}
	}
	return isfinite(best);
}
