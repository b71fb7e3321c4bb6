/* Any bytes as a certificate for a small graph on a small system: what is accepted survives a round trip, and
 * what it proves is not above any placement. */
#include "certificate.h"
#include "check.h"
#include "fuzz.h"
#include "mutate.h"
#include "problem.h"

#include <math.h>
#include <string.h>

/* The least of a metric over all placements of the small graph, by the system's rule. */
static double least_of(const berth_problem *p, berth_metric metric, berth_arena *mem)
{
	berth_objective o = berth_objective_of(metric);
	int32_t op_dev[16] = {0}, k = 0;
	double least = INFINITY;
	must(p->n_ops <= 16);
	while (k < p->n_ops) {
		berth_arena_mark mark = berth_arena_get_mark(mem);
		berth_timeline t;
		berth_verdict v;
		must(berth_judge(p, op_dev, NULL, &o, mem, &t, &v, NULL) == BERTH_OK);
		least = v.feasible ? fmin(least, v.metric[metric]) : least;
		berth_arena_reset(mem, mark);
		for (k = 0; k < p->n_ops && ++op_dev[k] == p->n_devs; k++)
			op_dev[k] = 0;
	}
	return least;
}

static void round_trip(const berth_certificate *c, const berth_problem *p, berth_arena *mem, berth_arena *tmp)
{
	berth_certificate again;
	const char *text, *last;
	size_t len, n;
	must(berth_certificate_write(c, p, mem, &text, &n, NULL) == BERTH_OK);
	must(berth_certificate_parse("again", text, n, p, mem, tmp, &again, NULL) == BERTH_OK);
	must(berth_certificate_write(&again, p, mem, &last, &len, NULL) == BERTH_OK);
	must(len == n && memcmp(text, last, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	static double least[2];
	berth_problem p;
	berth_certificate c;
	berth_err err = {0};
	int64_t ns = 0;
	fuzz_begin(&a);
	must(berth_problem_new(fuzz_small_graph(), fuzz_small_system(), &a.mem, &a.tmp, &p, NULL) ==
	     BERTH_OK);
	if (least[0] == 0) {
		least[0] = least_of(&p, BERTH_LATENCY, &a.mem);
		least[1] = least_of(&p, BERTH_THROUGHPUT, &a.mem);
	}
	berth_status st =
		berth_certificate_parse("fuzz", (const char *)data, size, &p, &a.mem, &a.tmp, &c, &err);
	if (st == BERTH_OK) {
		round_trip(&c, &p, &a.mem, &a.tmp);
		st = berth_certificate_prove(&c, &p, &a.tmp, &ns, &err);
	}
	must(st == BERTH_OK || (err.code == st && err.msg[0]));
	must(st != BERTH_OK || (double)ns <= least[c.load] * 1e9 * (1 + 1e-12));
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"format",      "berth-certificate",
	                                    "version",     "graph",
	                                    "system",      "objective",
	                                    "latency",     "throughput",
	                                    "bound_ns",    "proof",
	                                    "path",        "load",
	                                    "relaxation",  "blocks",
	                                    "unit",        "prices",
	                                    "upper_ns",    "grain",
	                                    "byte_prices", "channel_prices",
	                                    "end_prices",  "flows",
	                                    "out_shares",  "in_shares",
	                                    "way_prices",  "gates",
	                                    "claims",      "trees",
	                                    "tree_prices", "block",
	                                    "from",        "to",
	                                    "tree",        "layers.0.a",
	                                    "layers.0.b",  "layers.1.a",
	                                    "layers.1.b",  "a",
	                                    "b",           "x",
	                                    "y",           "windows",
	                                    "first",       "last",
	                                    "window_prices", NULL};
	return mutate_json(data, size, max_size, seed, words);
}
