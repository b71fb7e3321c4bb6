/* Reads the machines of Tarnawski et al. out of their workload files. They become a system in JSON, which the
 * reader of systems reads. */
#include "load_system.h"

#include "system_json.h"
#include "tasks.h"

enum { MOST_ACCELERATORS = 128, MOST_CPUS = 128 };

static void put_device(berth_json_out *w, const char *kind, int32_t i, int64_t memory)
{
	char name[16];
	snprintf(name, sizeof name, "%s%d", kind, i);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", name);
	berth_json_put_string(w, "kind", kind);
	if (memory >= 0)
		berth_json_put_int(w, "memory_bytes", memory);
	berth_json_close(w, '}');
}

static berth_status read_count(const berth_json *doc, const char *key, int32_t most, int32_t *out,
                               berth_err *err)
{
	double n = 0;
	BERTH_TRY(berth_json_number(doc, key, true, 0, &n, err));
	if (n != floor(n) || n > most)
		return berth_json_fail(doc, err, "%s is %g; expected a whole number up to %d", key, n, most);
	*out = (int32_t)n;
	return BERTH_OK;
}

static berth_status read_system(const berth_json *doc, const char *file, const char *name, berth_arena *mem,
                                berth_arena *tmp, berth_system *s, berth_err *err)
{
	int32_t n_acc = 0, n_cpu = 0;
	double memory = 0;
	berth_json_out w;
	const char *text;
	size_t len;
	BERTH_TRY(read_count(doc, "maxFPGAs", MOST_ACCELERATORS, &n_acc, err));
	BERTH_TRY(read_count(doc, "maxCPUs", MOST_CPUS, &n_cpu, err));
	BERTH_TRY(berth_json_number(doc, "maxSizePerFPGA", true, 0, &memory, err));
	if (memory > 0x1p53)
		return berth_json_fail(doc, err, "maxSizePerFPGA is %g; expected at most 2^53", memory);
	if (n_acc + n_cpu == 0)
		return berth_json_fail(doc, err, "maxFPGAs and maxCPUs are 0: there is no device");
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", name);
	berth_json_put_bool(&w, "contention", false);
	berth_json_put_string(&w, "cost_model", "tarnawski");
	berth_json_open(&w, "devices", '[');
	for (int32_t i = 0; i < n_acc; i++)
		put_device(&w, "acc", i, llround(memory));
	for (int32_t i = 0; i < n_cpu; i++)
		put_device(&w, "cpu", i, -1);
	berth_json_close(&w, ']');
	berth_json_open(&w, "links", '[');
	/* Every pair: out of an accelerator to the common memory and into another one; CPUs work in that
	 * memory. */
	for (int32_t a = 0; a < n_acc + n_cpu; a++)
		for (int32_t b = a + 1; b < n_acc + n_cpu; b++) {
			char from[16], to[16];
			snprintf(from, sizeof from, a < n_acc ? "acc%d" : "cpu%d", a < n_acc ? a : a - n_acc);
			snprintf(to, sizeof to, b < n_acc ? "acc%d" : "cpu%d", b < n_acc ? b : b - n_acc);
			double bandwidth = b < n_acc   ? BERTH_TARNAWSKI_BYTES / 2
			                   : a < n_acc ? BERTH_TARNAWSKI_BYTES
			                               : 1e15;
			berth_json_open(&w, NULL, '{');
			berth_json_put_string(&w, "from", from);
			berth_json_put_string(&w, "to", to);
			berth_json_put_number(&w, "bandwidth", bandwidth);
			berth_json_put_bool(&w, "both_ways", true);
			berth_json_close(&w, '}');
		}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_system_parse_json(file, text, len, mem, tmp, s, err);
}

berth_status berth_tarnawski_parse(const char *file, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_system *s, berth_err *err)
{
	BERTH_JSON_DOC(at);
	berth_graph graph;
	berth_system system;
	BERTH_TRY(berth_graph_parse_tarnawski(file, text, size, mem, tmp, &graph, err));
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	BERTH_SCRATCH(tmp);
	BERTH_TRY(read_system(&at, file, graph.name, mem, tmp, &system, err));
	*g = graph;
	*s = system;
	return BERTH_OK;
}
