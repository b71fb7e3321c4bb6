/* Any bytes as a placement (a plan) of a small graph on a small system: what is accepted passes the check,
 * survives a round trip and is judged. */
#include "check.h"
#include "fuzz.h"
#include "mutate.h"
#include "placement.h"
#include "problem.h"

#include <string.h>

static void round_trip(const berth_placement *p, berth_arena *mem, berth_arena *tmp)
{
	const berth_graph *g = fuzz_small_graph();
	const berth_system *s = fuzz_small_system();
	berth_placement again;
	const char *text, *pretty, *last;
	size_t len, n;
	must(berth_placement_write_json(p, g, s, false, mem, &text, &n, NULL) == BERTH_OK);
	must(berth_placement_write_json(p, g, s, true, mem, &pretty, &len, NULL) == BERTH_OK);
	must(berth_placement_parse_json("again", pretty, len, g, s, mem, tmp, &again, NULL, NULL) ==
	     BERTH_OK);
	must(berth_placement_write_json(&again, g, s, false, mem, &last, &len, NULL) == BERTH_OK);
	must(len == n && memcmp(text, last, n) == 0);
}

static void judge(const berth_placement *p, berth_arena *mem, berth_arena *tmp)
{
	berth_problem problem;
	berth_objective o;
	berth_timeline t;
	berth_verdict v;
	must(berth_problem_new(fuzz_small_graph(), fuzz_small_system(), mem, tmp, &problem, NULL) ==
	     BERTH_OK);
	if (!p->objective || berth_objective_parse(p->objective, &o, NULL) != BERTH_OK)
		o = berth_objective_of(BERTH_LATENCY);
	must(berth_judge(&problem, p->op_dev, p->order, &o, mem, &t, &v, NULL) == BERTH_OK);
	must(!v.feasible || v.broken.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	const berth_graph *g = fuzz_small_graph();
	const berth_system *s = fuzz_small_system();
	berth_placement p;
	berth_err err = {0};
	const char *warning;
	fuzz_begin(&a);
	berth_status st = berth_placement_parse_json("fuzz", (const char *)data, size, g, s, &a.mem, &a.tmp,
	                                             &p, &warning, &err);
	if (st != BERTH_OK) {
		must(err.code == st && err.msg[0]);
		return 0;
	}
	must(berth_placement_check(&p, g, s, &a.tmp, &err) == BERTH_OK);
	round_trip(&p, &a.mem, &a.tmp);
	if (fuzz_goes_deep(data, size))
		judge(&p, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"format",
	                                    "berth-placement",
	                                    "version",
	                                    "graph",
	                                    "system",
	                                    "name",
	                                    "sha256",
	                                    "method",
	                                    "objective",
	                                    "latency",
	                                    "throughput",
	                                    "energy",
	                                    "0.5*latency+energy",
	                                    "latency:memory<=4KB",
	                                    "edp",
	                                    "seed",
	                                    "evaluations",
	                                    "value",
	                                    "lower_bound",
	                                    "placement",
	                                    "order",
	                                    "layers.0.a",
	                                    "layers.0.b",
	                                    "layers.1.a",
	                                    "layers.1.b",
	                                    "a",
	                                    "b",
	                                    "x",
	                                    "y",
	                                    NULL};
	return mutate_json(data, size, max_size, seed, words);
}
