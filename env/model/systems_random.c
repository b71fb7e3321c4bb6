/* Random machines for training and tests. Speed, memory and launch overhead of devices are lognormal about
 * the given means. Devices are joined in one of four topologies. Speed and memory bandwidth go together: a
 * fast device is fast in both, give or take. The machine is written as a text that goes through the reader of
 * files, so that it can do all that a file can. */
#include "systems_random.h"

#include "json.h"
#include "rng.h"
#include "spec.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>

enum { P_DEVICES, P_HETEROGENEITY, P_TFLOPS, P_MEMORY, P_BANDWIDTH, P_LATENCY, P_TOPOLOGY, P_SEED, N_PARAMS };
enum { FULL, BUS, STAR, HOSTS };

static const char *const topologies[] = {"full", "bus", "star", "hosts", NULL};

#define SPREAD_TEXT "spread of speeds and memories: sigma of a lognormal; 0: equal devices"
#define TOPOLOGY_TEXT "a link a pair; one bus; all through the first; pairs of hosts over one slow link"

static const berth_spec_param params[N_PARAMS] = {
	[P_DEVICES] = {"devices", "devices", 4, 1, 64, true, NULL},
	[P_HETEROGENEITY] = {"heterogeneity", SPREAD_TEXT, 0.5, 0, 3, false, NULL},
	[P_TFLOPS] = {"tflops", "mean peak of a device, TFLOP/s", 10, 1e-3, 1e4, false, NULL},
	[P_MEMORY] = {"memory", "mean memory of a device, GB", 16, 1e-3, 1e5, false, NULL},
	[P_BANDWIDTH] = {"bandwidth", "mean of a link, GB/s", 10, 1e-3, 1e4, false, NULL},
	[P_LATENCY] = {"latency", "of a link, microseconds", 10, 0, 1e6, false, NULL},
	[P_TOPOLOGY] = {"topology", TOPOLOGY_TEXT, FULL, 0, 0, false, topologies},
	[P_SEED] = {"seed", "of the random stream", 1, 0, 0x1p53, true, NULL},
};

static const berth_spec_table table = {"system", "random", params, N_PARAMS};

/* Lognormal of mean 1. */
static double spread(double sigma, berth_rng *rng)
{
	return exp(sigma * berth_rng_normal(rng) - sigma * sigma / 2);
}

/* x in [low, high] to four digits. */
static double within(double x, double low, double high)
{
	double cut = fmin(fmax(x, low), high), step = pow(10, floor(log10(cut)) - 3);
	return round(cut / step) * step;
}

static void put_device(berth_json_out *w, int32_t d, const double v[], berth_rng *rng)
{
	static const char *const types[] = {"*", "Conv", "MatMul", "Gemm"};
	char name[16];
	double sigma = v[P_HETEROGENEITY], speed = v[P_TFLOPS] * 1e12 * spread(sigma, rng),
	       balance = 10 * spread(sigma / 2, rng);
	snprintf(name, sizeof name, "d%d", d);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", name);
	berth_json_put_number(w, "peak_flops", within(speed, 1e6, 1e18));
	berth_json_open(w, "efficiency", '{');
	for (int i = 0; i < 4; i++)
		berth_json_put_number(w, types[i], within(0.5 * spread(sigma / 2, rng), 0.05, 0.95));
	berth_json_close(w, '}');
	berth_json_put_number(w, "mem_bandwidth", within(speed / balance, 1e6, 1e15));
	berth_json_put_int(w, "memory_bytes",
	                   (int64_t)within(v[P_MEMORY] * 1e9 * spread(sigma, rng), 1e6, 1e15));
	berth_json_put_number(w, "op_overhead_s", within(5e-6 * spread(sigma, rng), 1e-7, 1e-3));
	double busy = within(speed * 2e-11, 1, 1000); /* about 200 W for 10 TFLOP/s */
	berth_json_put_number(w, "idle_w", within(busy * 0.2, 0.1, 1000));
	berth_json_put_number(w, "busy_w", busy);
	berth_json_close(w, '}');
}

static void put_link(berth_json_out *w, int32_t from, int32_t to, const double v[], double slow, bool bus,
                     berth_rng *rng)
{
	char name[16];
	berth_json_open(w, NULL, '{');
	snprintf(name, sizeof name, "d%d", from);
	berth_json_put_string(w, "from", name);
	snprintf(name, sizeof name, "d%d", to);
	berth_json_put_string(w, "to", name);
	berth_json_put_number(w, "latency_s", v[P_LATENCY] * 1e-6);
	double bandwidth = v[P_BANDWIDTH] * 1e9 * slow * (bus ? 1 : spread(v[P_HETEROGENEITY] / 2, rng));
	berth_json_put_number(w, "bandwidth", within(bandwidth, 1e5, 1e15));
	berth_json_put_bool(w, "both_ways", true);
	if (bus)
		berth_json_put_string(w, "shared", "bus");
	berth_json_put_number(w, "joules_per_byte", 1e-10);
	berth_json_close(w, '}');
}

static void put_links(berth_json_out *w, const double v[], berth_rng *rng)
{
	int32_t n = (int32_t)v[P_DEVICES], topology = (int32_t)v[P_TOPOLOGY], half = (n + 1) / 2;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = a + 1; b < n; b++) {
			bool same_host = a / half == b / half;
			if (topology == FULL || topology == BUS)
				put_link(w, a, b, v, 1, topology == BUS, rng);
			/* a host's first device joins its others */
			else if (topology == STAR ? a == 0 : same_host && a % half == 0)
				put_link(w, a, b, v, 1, false, rng);
			else if (topology == HOSTS && a == 0 && b == half)
				put_link(w, a, b, v, 0.1, false, rng);
		}
}

static berth_status make(const double v[], const char *name, berth_arena *mem, berth_arena *tmp,
                         berth_system *out, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_rng rng = berth_rng_seed((uint64_t)v[P_SEED], BERTH_STREAM_RANDOM);
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", name);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < (int32_t)v[P_DEVICES]; d++)
		put_device(&w, d, v, &rng);
	berth_json_close(&w, ']');
	berth_json_open(&w, "links", '[');
	put_links(&w, v, &rng);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_system_parse_json(name, text, len, mem, tmp, out, err);
}

berth_status berth_system_random(const char *spec, const char *rest, berth_arena *mem, berth_arena *tmp,
                                 berth_system *out, berth_err *err)
{
	double value[N_PARAMS];
	BERTH_TRY(berth_spec_values(spec, rest, &table, value, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	const char *name = berth_spec_canonical(&table, value, tmp);
	berth_status st = name ? make(value, name, mem, tmp, out, err) : berth_nomem(err);
	berth_arena_reset(tmp, mark);
	return st;
}
