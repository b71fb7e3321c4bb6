/* Any bytes as a berth-system file: whatever is accepted passes the check, survives a round trip bit for bit,
 * and a graph can be placed on it. */
#include "fuzz.h"
#include "mutate.h"
#include "system_json.h"
#include "system_warnings.h"

#include <string.h>

static void round_trip(const berth_system *s, bool pretty, berth_arena *mem, berth_arena *tmp)
{
	berth_system again;
	const char *text, *middle, *last;
	size_t len, n;
	must(berth_system_write_json(s, false, mem, &text, &n, NULL) == BERTH_OK);
	must(berth_system_write_json(s, pretty, mem, &middle, &len, NULL) == BERTH_OK);
	must(berth_system_parse_json("again", middle, len, mem, tmp, &again, NULL) == BERTH_OK);
	must(berth_system_write_json(&again, false, mem, &last, &len, NULL) == BERTH_OK);
	must(len == n && memcmp(text, last, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_system s;
	berth_err err = {0};
	const char **warning;
	int32_t n;
	fuzz_begin(&a);
	berth_status st = berth_system_parse_json("fuzz", (const char *)data, size, &a.mem, &a.tmp, &s, &err);
	if (st != BERTH_OK) {
		must(err.code == st && err.msg[0]);
		return 0;
	}
	must(berth_system_check(&s, &a.tmp, &err) == BERTH_OK);
	round_trip(&s, size % 2, &a.mem, &a.tmp);
	if (!fuzz_goes_deep(data, size))
		return 0;
	must(berth_system_warnings(&s, fuzz_small_graph(), NULL, &a.mem, &a.tmp, &warning, &n, NULL) ==
	     BERTH_OK);
	fuzz_use_pair(fuzz_small_graph(), &s, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"format",
	                                    "berth-system",
	                                    "version",
	                                    "name",
	                                    "contention",
	                                    "order",
	                                    "priority",
	                                    "fifo",
	                                    "program",
	                                    "given",
	                                    "channel_order",
	                                    "request",
	                                    "devices",
	                                    "kind",
	                                    "host",
	                                    "peak_flops",
	                                    "efficiency",
	                                    "mem_bandwidth",
	                                    "memory_bytes",
	                                    "memory_margin",
	                                    "op_overhead_s",
	                                    "slots",
	                                    "runs",
	                                    "idle_w",
	                                    "busy_w",
	                                    "links",
	                                    "from",
	                                    "to",
	                                    "bandwidth",
	                                    "latency_s",
	                                    "both_ways",
	                                    "shared",
	                                    "joules_per_byte",
	                                    "memory_pools",
	                                    "bytes",
	                                    "cost_model",
	                                    "simulated",
	                                    "contiguous",
	                                    "x",
	                                    "y",
	                                    "cpu",
	                                    "gpu",
	                                    "*",
	                                    "Conv",
	                                    NULL};
	return mutate_json(data, size, max_size, seed, words);
}
