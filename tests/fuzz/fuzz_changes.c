/* Any bytes as lines of words that a user gives: changes of a system (--what-if, --set), else an objective.
 * What is accepted makes a system that passes its check, or an objective that reads back from its own
 * name. */
#include "fuzz.h"
#include "mutate.h"
#include "objective.h"
#include "system_change.h"
#include "system_json.h"
#include "units.h"

#include <string.h>

static void change(const char *text, berth_arena *mem, berth_arena *tmp)
{
	berth_system s, again;
	berth_err err = {0};
	const char *json;
	size_t n;
	berth_status st = berth_system_change(fuzz_small_system(), text, mem, tmp, &s, &err);
	if (st != BERTH_OK) {
		must(st == BERTH_EINVAL && err.msg[0]);
		return;
	}
	must(berth_system_check(&s, tmp, NULL) == BERTH_OK);
	must(berth_system_write_json(&s, false, mem, &json, &n, NULL) == BERTH_OK);
	must(berth_system_parse_json("again", json, n, mem, tmp, &again, NULL) == BERTH_OK);
	if (s.n_devs <= 4)
		fuzz_use_pair(fuzz_small_graph(), &s, mem, tmp);
}

static void objective(const char *text)
{
	berth_objective o, again;
	berth_err err = {0};
	if (berth_objective_parse(text, &o, &err) != BERTH_OK) {
		must(err.code == BERTH_EINVAL && err.msg[0]);
		return;
	}
	must(berth_objective_parse(berth_objective_name(&o), &again, &err) == BERTH_OK);
	must(berth_objective_equal(&o, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	fuzz_begin(&a);
	const char *text = fuzz_text(data, size, &a.mem);
	objective(text);
	change(text, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"x",
	                                    "y",
	                                    "x->y",
	                                    "x:y",
	                                    "-y",
	                                    "+z=like:y",
	                                    "+z=like:x",
	                                    "+x->z=12GB/s@5us",
	                                    "-x:y",
	                                    "pool.m",
	                                    ".memory_bytes=",
	                                    ".memory_margin=",
	                                    ".slots=",
	                                    ".peak_flops=",
	                                    ".mem_bandwidth=",
	                                    ".op_overhead_s=",
	                                    ".idle_w=",
	                                    ".busy_w=",
	                                    ".latency_s=",
	                                    ".bandwidth=",
	                                    ".joules_per_byte=",
	                                    ".bytes=",
	                                    "2x",
	                                    "16GB",
	                                    "80GB/s",
	                                    "10us",
	                                    "10TFLOP/s",
	                                    ",",
	                                    "latency",
	                                    "throughput",
	                                    "energy",
	                                    "edp",
	                                    "power",
	                                    "memory",
	                                    "<=",
	                                    ">=",
	                                    "0.5*",
	                                    "+",
	                                    ":",
	                                    "20ms",
	                                    "3J",
	                                    "like:x->y",
	                                    NULL};
	return mutate_words(data, size, max_size, seed, words);
}
