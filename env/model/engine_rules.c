/* The table of engines, and how ONNX Runtime, llama.cpp and accelerate run operators otherwise than devices
 * do. What a file's format is run by, and a system that is valued for an engine, are found here. */
#include "engine_rules.h"

#include "constraints.h"

enum { OFFLOADED_ROWS = 32 };

#define COPY_RATE 4.3e9      /* bytes/s at most: weights lie in pages that a GPU cannot read by itself */
/* What of a CPU's peak attention reaches there: of one token 0.5 to 1.4e9 macs/s a core, of many, in tiles,
 * about 5e9. */
#define ATTENTION_SHARE 0.02
#define TILED_SHARE 0.15

static bool is_disk(const berth_system *s, int32_t d)
{
	return berth_system_is(s, d, "disk");
}

static bool is_cpu(const berth_system *s, int32_t d)
{
	return berth_system_is(s, d, "cpu") && !is_disk(s, d);
}

static bool is_stored(const berth_system *s, int32_t d)
{
	return is_cpu(s, d) || is_disk(s, d);
}

/* Seconds of a copy by the route of tensors of the class. */
static double copy_s(const berth_problem *p, int32_t class, int32_t from, int32_t to, double bytes)
{
	double sum = 0;
	if (bytes <= 0 || from == to || p->n_classes == 0)
		return 0;
	BERTH_EACH (i, p->route_off, p->class_pair_route[berth_class_cell(p, class, from, to)])
		sum += berth_hop_s(p->s, p->route_link[i], bytes);
	return sum;
}

/* What leaves dev, or comes to it, does so from main. */
static void move_transfers(berth_problem *p, int32_t dev, int32_t main)
{
	int64_t *ns = p->class_pair_ns;
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			bool here = d == main || d == dev;
			int64_t out = here ? 0 : ns[berth_class_cell(p, c, main, d)],
				in = here ? 0 : ns[berth_class_cell(p, c, d, main)];
			ns[berth_class_cell(p, c, dev, d)] = out;
			ns[berth_class_cell(p, c, d, dev)] = in;
		}
}

/* ---- llama.cpp ---- */

/* Rows of an operator by its shape: of tokens, of heads of each, or of experts of each. */
static double rows_of(const berth_graph *g, int32_t op)
{
	const berth_dims *d = berth_graph_dims(g, op);
	return d->kind == BERTH_DIMS_PRODUCT ? (double)d->at[0] * (double)d->at[1] : (double)d->at[0];
}

static bool is_source(const berth_graph *g, int32_t op)
{
	return g->op_in_off[op] == g->op_in_off[op + 1];
}

/* Tokens that come in at once. */
static double tokens_of(const berth_graph *g)
{
	double most = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (is_source(g, op))
			most = fmax(most, rows_of(g, op));
	return most;
}

/* Nanoseconds of op on the quickest GPU, with copies of what stands on the CPU; -1: on none. */
static int64_t offloaded_ns(const berth_problem *p, int32_t op, int32_t cpu)
{
	const berth_graph *g = p->g;
	const double kept = fmin((double)(berth_graph_op_weights(g, op) + g->op_state_bytes[op]),
	                         (double)g->op_read_bytes[op]);
	int64_t best = -1;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t ns = berth_op_time(p, op, d);
		if (is_stored(p->s, d) || ns < 0)
			continue;
		ns += llround(1e9 * fmax(copy_s(p, 0, cpu, d, kept), kept / COPY_RATE));
		best = best < 0 || ns < best ? ns : best;
	}
	return best;
}

/* Of attention on the CPU, at least. tokens: that come in at once; what is masked of theirs is left out. */
static int64_t attention_ns(const berth_problem *p, int32_t op, int32_t cpu, double tokens)
{
	berth_precision used;
	const berth_dims *d = berth_graph_dims(p->g, op);
	bool tiled = tokens >= OFFLOADED_ROWS;
	double rate = (tiled ? TILED_SHARE : ATTENTION_SHARE) / 2 *
	              berth_system_peak(p->s, cpu, BERTH_F32, &used),
	       seen = tiled && d->kind == BERTH_DIMS_PRODUCT ? fmax(1 - tokens / (double)d->at[3], 0.5) : 1;
	int64_t ns = berth_op_time(p, op, cpu),
		least = rate > 0 ? llround(1e9 * seen * p->g->op_macs[op] / rate) : 0;
	return ns > least ? ns : least;
}

/* A disk stands for the CPU, and needs no figures of its own: weights are read from it in each pass, ahead of
 * what computes (mmap). So is a cache, which had better stay in memory. */
static void read_from_disk(berth_problem *p, int32_t disk, int32_t cpu)
{
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < p->n_ops; op++) {
		double bytes = fmin((double)(berth_graph_op_weights(g, op) + g->op_state_bytes[op]),
		                    (double)g->op_read_bytes[op]);
		int64_t there = berth_op_time(p, op, cpu),
			read = p->n_classes ? llround(1e9 * copy_s(p, 0, disk, cpu, bytes)) : 0;
		if (berth_system_runs(p->s, disk, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]))
			p->op_dev_time_ns[berth_cell(p, op, disk)] =
				there < 0 || there > read ? there : read;
	}
	berth_constraints_legal(p, disk);
	move_transfers(p, disk, cpu);
}

/* Changes the times of operators on CPUs. Those that see 32 tokens and more run on the quickest GPU, with
 * copies of their weights and cache (op offload). Attention there reaches a small share of the peak; the
 * embedding is looked up where it stands. docs/export.md tells how that was measured. O(ops * devs^2). */
static berth_status llama_times(berth_problem *p, berth_arena *mem, berth_err *err)
{
	(void)mem, (void)err;
	const double tokens = tokens_of(p->g);
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t *ns = &p->op_dev_time_ns[berth_cell(p, op, d)], offloaded = -1;
			if (*ns < 0 || !is_cpu(p->s, d) || is_source(p->g, op))
				continue;
			if (tokens >= OFFLOADED_ROWS && rows_of(p->g, op) >= OFFLOADED_ROWS)
				offloaded = offloaded_ns(p, op, d);
			if (offloaded >= 0)
				*ns = offloaded;
			else if (p->g->op_state_bytes[op] > 0)
				*ns = attention_ns(p, op, d, tokens);
		}
	int32_t cpu = 0;
	while (cpu < p->n_devs && !is_cpu(p->s, cpu))
		cpu++;
	for (int32_t d = 0; d < p->n_devs && cpu < p->n_devs; d++)
		if (is_disk(p->s, d))
			read_from_disk(p, d, cpu);
	return BERTH_OK;
}

/* ---- accelerate ---- */

/* Keeps what the first CPU takes for all operators: a map of nothing else is run there. */
static berth_status keep_alone(berth_problem *p, berth_arena *mem, berth_err *err)
{
	int32_t cpu = 0;
	while (cpu < p->n_devs && !is_cpu(p->s, cpu))
		cpu++;
	if (cpu == p->n_devs)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, p->n_ops, err, p->alone_ns);
	p->alone_dev = cpu;
	for (int32_t op = 0; op < p->n_ops && p->alone_ns; op++) {
		p->alone_ns[op] = berth_op_time(p, op, cpu);
		p->alone_sum_ns += p->alone_ns[op];
		if (p->alone_ns[op] < 0)
			p->alone_ns = NULL;
	}
	return BERTH_OK;
}

/* Changes times and transfers of devices that accelerate only stores modules on: dispatch_model runs an
 * operator there on the first other device, with a copy of its weights for each run, and its tensors go from
 * there. Without another device nothing changes, though a map without a GPU runs on the CPU.
 * O(ops * devs + classes * devs). */
static berth_status accelerate_times(berth_problem *p, berth_arena *mem, berth_err *err)
{
	int32_t main = 0;
	while (main < p->n_devs && is_stored(p->s, main))
		main++;
	if (main == p->n_devs)
		return BERTH_OK;
	BERTH_TRY(keep_alone(p, mem, err));
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!is_stored(p->s, d))
			continue;
		for (int32_t op = 0; op < p->n_ops; op++) {
			int64_t *here = &p->op_dev_time_ns[berth_cell(p, op, d)],
				there = berth_op_time(p, op, main);
			double bytes = (double)berth_graph_op_weights(p->g, op);
			if (there >= 0 && (*here >= 0 || is_disk(p->s, d)))
				*here = there + llround(1e9 * copy_s(p, p->n_classes - 1, d, main, bytes));
		}
		berth_constraints_legal(p, d);
		move_transfers(p, d, main);
	}
	return BERTH_OK;
}

/* ---- the table ---- */

static const berth_engine_rules engines[] = {
	{.name = "ort",
         .title = "ONNX Runtime",
         .format = {"ONNX", "berth-graph"},
         .cost = &berth_cost_serial,
         .fuses = true,
         .unknown = "no device can run the whole model"},
	{.name = "llama.cpp",
         .title = "llama.cpp",
         .format = {"GGUF"},
         .cost = &berth_cost_serial,
         .times = llama_times,
         .by_rows = true,
         .by_itself = true,
         .reads = true,
         .unknown = "it needs a CPU, weights and experts as the file has them, and buffers that can be told"},
	{.name = "accelerate",
         .title = "accelerate",
         .format = {"safetensors"},
         .cost = &berth_cost_serial,
         .times = accelerate_times,
         .grain = "layer",
         .by_itself = true,
         .reads = true,
         .unknown = "it needs a device that the system does not have"},
	{.name = "openvino",
         .title = "OpenVINO",
         .format = {"ONNX", "berth-graph"},
         .cost = &berth_cost_serial,
         .unknown = "no device can run the whole model"},
	{.name = "torch",
         .title = "PyTorch",
         .format = {"PyTorch", "berth-graph"},
         .cost = &berth_cost_serial,
         .eager = true,
         .trains = true,
         .unknown = "no device holds the whole model"},
	{.name = "vllm",
         .title = "vLLM",
         .format = {"safetensors", "GGUF"},
         .cost = &berth_cost_serial,
         .grain = "layer",
         .reads = true,
         .unknown = "it needs a GPU, layers, and weights and a cache that it has options for"}};

enum { N_ENGINES = sizeof engines / sizeof *engines };

berth_status berth_rules_find(const char *name, const berth_engine_rules **out, berth_err *err)
{
	const char *known[N_ENGINES + 1];
	int32_t at;
	for (int i = 0; i < N_ENGINES; i++)
		known[i] = engines[i].name;
	known[N_ENGINES] = "none";
	BERTH_TRY(berth_text_find(known, N_ENGINES + 1, name, "engine", NULL, &at, err));
	*out = at < N_ENGINES ? &engines[at] : NULL;
	return BERTH_OK;
}

const berth_engine_rules *berth_rules_of_format(const char *format)
{
	for (int k = 0; format && k < 2 * N_ENGINES; k++) {
		const berth_engine_rules *e = &engines[k % N_ENGINES];
		if ((e->by_itself || k >= N_ENGINES) && berth_rules_run(e, format))
			return e;
	}
	return NULL;
}

bool berth_rules_run(const berth_engine_rules *e, const char *format)
{
	if (!format)
		return !e->reads;
	for (const char *const *f = e->format; *f; f++)
		if (strcmp(*f, format) == 0)
			return true;
	return false;
}

berth_status berth_system_for(const berth_engine_rules *e, berth_system *s, berth_err *err)
{
	if (!e)
		return BERTH_OK;
	if (e->cost && s->cost_model != &berth_cost_reference && s->cost_model != e->cost)
		return berth_fail(err, BERTH_EINVAL,
		                  "system '%.80s' has the cost model %s, and plans for %s are valued by %s: "
		                  "leave out one of them",
		                  s->name, s->cost_model->name, e->title, e->cost->name);
	s->engine = e;
	if (e->cost)
		s->cost_model = e->cost;
	return BERTH_OK;
}
