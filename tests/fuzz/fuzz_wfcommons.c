/* Any bytes as a WfCommons file: a graph that passes its check and can be used, or an error that names the
 * place. */
#include "fuzz.h"
#include "mutate.h"
#include "parse_tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st = parse_wfcommons("f", (const char *)data, size, NULL, &a.mem, &a.tmp, &g, &err);
	fuzz_check_answer(st, &g, "f:", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {
		"schemaVersion", "workflow", "tasks",     "specification", "execution",        "parents",
		"children",      "files",    "inputFiles", "outputFiles",   "id",               "name",
		"link",          "input",    "output",     "sizeInBytes",   "runtimeInSeconds", "machines",
		"machine",       "command",  "program",    "memoryInBytes", NULL};
	return mutate_json(data, size, max_size, seed, words);
}
