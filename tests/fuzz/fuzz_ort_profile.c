/* Any bytes as a profile of ONNX Runtime, joined to a small graph: times that pass the graph's check and with
 * which it can be used, or an error with a message. */
#include "fuzz.h"
#include "mutate.h"
#include "ort_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph timed;
	berth_ort_report r;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st = berth_graph_ort_times("p.json", (const char *)data, size, NULL, fuzz_small_graph(),
	                                        &a.mem, &a.tmp, &timed, &r, &err);
	fuzz_check_answer(st, &timed, "p.json:", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&timed, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"cat",
	                                    "Node",
	                                    "Session",
	                                    "name",
	                                    "a_kernel_time",
	                                    "layers.0.a_kernel_time",
	                                    "b_kernel_time",
	                                    "model_run",
	                                    "dur",
	                                    "args",
	                                    "provider",
	                                    "CPUExecutionProvider",
	                                    "CUDAExecutionProvider",
	                                    "op_name",
	                                    "ph",
	                                    "X",
	                                    "ts",
	                                    "pid",
	                                    "tid",
	                                    NULL};
	return mutate_json(data, size, max_size, seed, words);
}
