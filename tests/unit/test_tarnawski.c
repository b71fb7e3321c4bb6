/* Workloads of Tarnawski et al.: every shared file under both cost models, against loads and latencies
 * computed here from the JSON text itself; published figures; bad files. The files stand in
 * ../shared/workloads; without them the tests on them are skipped. */
#include "bounds.h"
#include "file.h"
#include "infeasible_subset.h"
#include "json.h"
#include "load_system.h"
#include "methods.h"
#include "rng.h"
#include "support.h"
#include "tasks.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER BERTH_WORKLOADS "/dnn-partitioning/"

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_eval throughput, latency;
	/* from the text, without the reader */
	cJSON *doc;
	int n, n_acc, n_cpu, n_edges;
	double *cpu, *acc, *size, *out; /* [n] in the file's order; out: cost of the node's output */
	int *from, *to;                 /* [n_edges] */
	int *op_of;                     /* [n] */
} subject;

static void *zeros(int n, size_t size)
{
	void *p = calloc(n > 0 ? (size_t)n : 1, size);
	assert_non_null(p);
	return p;
}

static double number(const cJSON *at, const char *key)
{
	const cJSON *x = cJSON_GetObjectItem(at, key);
	return cJSON_IsBool(x) ? cJSON_IsTrue(x) : cJSON_IsNumber(x) ? x->valuedouble : 0;
}

static int place_of(const cJSON *nodes, double id)
{
	int i = 0;
	const cJSON *node;
	cJSON_ArrayForEach(node, nodes) {
		if (number(node, "id") == id)
			return i;
		i++;
	}
	fail();
	return -1;
}

static void read_directly(subject *x, const char *text)
{
	const cJSON *nodes, *edges, *item;
	int i = 0;
	assert_non_null(x->doc = cJSON_Parse(text));
	nodes = cJSON_GetObjectItem(x->doc, "nodes");
	edges = cJSON_GetObjectItem(x->doc, "edges");
	x->n = cJSON_GetArraySize(nodes);
	x->n_edges = cJSON_GetArraySize(edges);
	x->n_acc = (int)number(x->doc, "maxFPGAs");
	x->n_cpu = (int)number(x->doc, "maxCPUs");
	x->cpu = zeros(x->n * 4, sizeof *x->cpu);
	x->acc = x->cpu + x->n;
	x->size = x->acc + x->n;
	x->out = x->size + x->n;
	x->from = zeros(x->n_edges * 2, sizeof *x->from);
	x->to = x->from + x->n_edges;
	cJSON_ArrayForEach(item, nodes) {
		x->cpu[i] = number(item, "cpuLatency");
		x->acc[i] = number(item, "supportedOnFpga") != 0 ? number(item, "fpgaLatency") : NAN;
		x->size[i++] = number(item, "size");
	}
	i = 0;
	cJSON_ArrayForEach(item, edges) {
		x->from[i] = place_of(nodes, number(item, "sourceId"));
		x->to[i] = place_of(nodes, number(item, "destId"));
		x->out[x->from[i++]] = number(item, "cost");
	}
}

static bool open_subject(subject *x, const char *name)
{
	char path[512], *text;
	size_t size;
	berth_err err;
	berth_objective throughput = berth_objective_of(BERTH_THROUGHPUT),
			latency = berth_objective_of(BERTH_LATENCY);
	snprintf(path, sizeof path, FOLDER "%s", name);
	*x = (subject){0};
	if (berth_file_read(BERTH_READS_MODEL, path, &x->mem, &text, &size, &err) != BERTH_OK)
		return false;
	assert_ok(berth_instance_load(path, NULL, NULL, &x->mem, &x->tmp, &x->g, &x->s, NULL, &err), &err);
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	assert_ok(berth_eval_new(&x->p, &throughput, &x->mem, &x->throughput, &err), &err);
	assert_ok(berth_eval_new(&x->p, &latency, &x->mem, &x->latency, &err), &err);
	read_directly(x, text);
	assert_int_equal(x->g.n_ops, x->n);
	assert_int_equal(x->g.n_edges, x->n_edges);
	assert_int_equal(x->s.n_devs, x->n_acc + x->n_cpu);
	assert_false(x->s.contention);
	return true;
}

static void close_subject(subject *x)
{
	cJSON_Delete(x->doc);
	free(x->cpu);
	free(x->from);
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

/* A random device for each colocation group; CPUs stand after the accelerators. */
static void draw(const subject *x, berth_rng *rng, int32_t *dev)
{
	for (int32_t u = 0; u < x->p.n_colocs; u++) {
		int32_t d;
		do
			d = (int32_t)berth_rng_below(rng, (uint32_t)x->s.n_devs);
		while (!berth_op_legal(&x->p, x->p.coloc_op[x->p.coloc_off[u]], d));
		for (int32_t i = x->p.coloc_off[u]; i < x->p.coloc_off[u + 1]; i++)
			dev[x->p.coloc_op[i]] = d;
	}
}

static bool sends(const subject *x, const int32_t *dev, int node, int32_t to)
{
	for (int e = 0; e < x->n_edges; e++)
		if (x->from[e] == node && dev[x->to[e]] == to)
			return true;
	return false;
}

/* Loads as the paper writes them, by scanning everything. */
static double naive_load(const subject *x, const int32_t *dev)
{
	double most = 0;
	for (int32_t d = 0; d < x->s.n_devs; d++) {
		double load = 0;
		for (int i = 0; i < x->n; i++) {
			if (dev[i] == d)
				load += d < x->n_acc ? x->acc[i] : x->cpu[i];
			if (d < x->n_acc && dev[i] != d && sends(x, dev, i, d))
				load += x->out[i];
			bool away = false;
			for (int32_t to = 0; to < x->s.n_devs; to++)
				away |= to != d && sends(x, dev, i, to);
			if (d < x->n_acc && dev[i] == d && away)
				load += x->out[i];
		}
		most = fmax(most, load);
	}
	return most;
}

static double naive_excess(const subject *x, const int32_t *dev)
{
	double sum = 0, cap = number(x->doc, "maxSizePerFPGA");
	for (int32_t d = 0; d < x->n_acc; d++) {
		double bytes = 0;
		for (int i = 0; i < x->n; i++)
			bytes += dev[i] == d ? x->size[i] : 0;
		sum += bytes > cap ? (bytes - cap) / cap : 0;
	}
	return sum;
}

static const char *const throughput_files[] = {
	"throughput/layer_bert24_inference.json",   "throughput/layer_bert24_training.json",
	"throughput/layer_resnet50_inference.json", "throughput/layer_resnet50_training.json",
	"throughput/op_bert_l-3_inference.json",    "throughput/op_bert_l-3_training.json",
	"throughput/op_bert_l-6_inference.json"};
static const double one_accelerator[] = {92.41, 217.8, 201.5, 462.4,
                                         49.35, 123.0, 77.46}; /* published program: all on one, in the files'
                                                                  colocation group */
static const char *const latency_files[] = {
	"latency/layer_bert24_inference.json", "latency/layer_resnet50_inference.json",
	"latency/op_bert_l-3_inference.json", "latency/op_bert_l-6_inference.json"};

static void test_loads(void **state)
{
	(void)state;
	for (int k = 0; k < 7; k++) {
		subject x;
		if (!open_subject(&x, throughput_files[k]))
			skip();
		int32_t *dev = zeros(x.n, sizeof *dev);
		berth_rng rng = berth_rng_seed(1, (uint64_t)k);
		for (int round = 0; round < 20; round++) {
			draw(&x, &rng, dev);
			berth_score s = berth_eval_run(&x.throughput, dev, NULL);
			double want = naive_load(&x, dev), excess = naive_excess(&x, dev);
			assert_near(s.value, want, 1e-9 * want);
			assert_near(s.excess, excess, 1e-6 * (1 + excess));
		}
		memset(dev, 0, (size_t)x.n * sizeof *dev); /* everything on the first accelerator */
		assert_near(berth_eval_run(&x.throughput, dev, NULL).value, one_accelerator[k],
		            0.0006 * one_accelerator[k]);
		free(dev);
		close_subject(&x);
	}
}

/* Pieces of a topological order, each on a device of its own kind: every accelerator is visited once. */
static double naive_latency(const subject *x, const int32_t *dev, const int *piece, int n_pieces)
{
	double *end = zeros(x->n, sizeof *end), latency = 0;
	for (int k = 0; k < n_pieces; k++) {
		double start = 0, work = 0;
		int32_t d = -1;
		for (int o = 0; o < x->n; o++) {
			int i = x->g.topo_op[o];
			if (piece[i] != k)
				continue;
			d = dev[i];
			if (d >= x->n_acc) { /* a CPU operator waits for its own inputs only */
				for (int e = 0; e < x->n_edges; e++)
					end[i] = x->to[e] == i ? fmax(end[i], end[x->from[e]]) : end[i];
				end[i] += x->cpu[i];
				latency = fmax(latency, end[i]);
				continue;
			}
			work += x->acc[i];
			bool away = false;
			for (int e = 0; e < x->n_edges; e++) {
				if (x->to[e] == i && piece[x->from[e]] != k)
					start = fmax(start, end[x->from[e]]);
				away |= x->from[e] == i && piece[x->to[e]] != k;
			}
			work += away ? x->out[i] : 0;
		}
		for (int i = 0; i < x->n && d >= 0 && d < x->n_acc; i++) {
			bool taken = false;
			for (int e = 0; e < x->n_edges; e++)
				taken |= x->from[e] == i && piece[i] != k && piece[x->to[e]] == k;
			work += taken ? x->out[i] : 0;
		}
		for (int i = 0; i < x->n; i++)
			if (piece[i] == k && d < x->n_acc)
				latency = fmax(latency, end[i] = start + work);
	}
	free(end);
	return latency;
}

static void test_latencies(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++) {
		subject x;
		if (!open_subject(&x, latency_files[k]))
			skip();
		int32_t *dev = zeros(x.n, sizeof *dev);
		int *piece = zeros(x.n, sizeof *piece);
		berth_rng rng = berth_rng_seed(2, (uint64_t)k);
		for (int round = 0; round < 20; round++) {
			int n_pieces = 2 * x.n_acc + 1, at = 0; /* CPU, acc0, CPU, acc1, ... */
			for (int i = 0; i < n_pieces; i++) {
				int last = i == n_pieces - 1
				                   ? x.n
				                   : at + (int)berth_rng_below(
								  &rng, (uint32_t)(2 * x.n / n_pieces));
				last = last < x.n ? last : x.n;
				for (; at < last; at++) {
					int op = x.g.topo_op[at];
					bool acc = i % 2 && !isnan(x.acc[op]);
					dev[op] = acc ? i / 2 : x.n_acc;
					piece[op] = i;
				}
			}
			bool mixed = false; /* an operator that no accelerator takes stands in a piece of one
			                     */
			for (int i = 0; i < x.n; i++)
				mixed |= piece[i] % 2 && dev[i] >= x.n_acc;
			if (mixed)
				continue;
			double want = naive_latency(&x, dev, piece, n_pieces);
			assert_near(berth_eval_run(&x.latency, dev, NULL).value, want, 1e-9 * want + 1e-9);
		}
		free(dev);
		free(piece);
		close_subject(&x);
	}
}

/* Bounds hold for everything that searches find, and those find what is published. */
static void test_search(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		berth_metric metric;
		double most;
	} known[] = {
		{"throughput/layer_bert24_inference.json", BERTH_THROUGHPUT, 17.79},
		{"throughput/op_bert_l-3_training.json", BERTH_THROUGHPUT, 65.30},
		{"latency/layer_bert24_inference.json", BERTH_LATENCY, 100.23},
		{"latency/op_bert_l-3_inference.json", BERTH_LATENCY, 416.2},
	};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		subject x;
		berth_search s;
		berth_search_cfg cfg = {
			.objective = berth_objective_of(known[k].metric), .seed = 1, .evaluations = 10000};
		const berth_method *m;
		berth_bounds b;
		berth_err err;
		if (!open_subject(&x, known[k].file))
			skip();
		assert_ok(berth_bounds_new(&x.p, &x.tmp, &b, &err), &err);
		assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
		assert_ok(berth_method_find("anneal", &m, &err), &err);
		assert_ok(berth_method_run(m, &s, &x.tmp, &err), &err);
		assert_true(berth_score_feasible(s.best));
		if (s.best.value > known[k].most) { /* a walk may end elsewhere; the next one must not */
			cfg.seed = 2;
			assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
			assert_ok(berth_method_run(m, &s, &x.tmp, &err), &err);
		}
		assert_true(s.best.value <= known[k].most);
		assert_true(b.value[known[k].metric] > 0 && b.value[known[k].metric] <= s.best.value);
		cfg.objective = berth_objective_of(BERTH_ENERGY);
		assert_int_equal(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), BERTH_EFORMAT);
		close_subject(&x);
	}
}

/* The published optimum of every file, by the contiguous dynamic program; and nothing that is not
 * contiguous. */
static void test_dp(void **state)
{
	(void)state;
	static const double optimum[] = {17.790, 41.746, 33.77, 78.63, 27.92, 65.30, 29.58};
	static const double within[] = {0.0005, 0.0005, 0.005, 0.005, 0.005, 0.005, 0.005};
	for (int k = 0; k < 7; k++) {
		subject x;
		berth_search s;
		berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1};
		const berth_method *m;
		berth_err err;
		if (!open_subject(&x, throughput_files[k]))
			skip();
		assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
		assert_ok(berth_method_find("dp", &m, &err), &err);
		assert_ok(berth_method_run(m, &s, &x.tmp, &err), &err);
		assert_true(berth_score_feasible(s.best));
		assert_near(s.best.value, optimum[k], within[k]);
		/* forward operators of an accelerator: no path leaves and comes back */
		for (int32_t d = 0; d < x.n_acc; d++) {
			char *after = zeros(x.n, 1); /* 1: some input's way left d */
			for (int o = 0; o < x.n; o++) {
				int op = x.g.topo_op[o];
				for (int e = 0; e < x.n_edges; e++)
					if (x.to[e] == op && !x.g.op_backward[op] &&
					    !x.g.op_backward[x.from[e]])
						after[op] |=
							after[x.from[e]] ||
							(s.best_dev[x.from[e]] == d && s.best_dev[op] != d);
				assert_true(!after[op] || s.best_dev[op] != d);
			}
			free(after);
		}
		close_subject(&x);
	}
}

static void test_dp_refuses(void **state)
{
	(void)state;
	subject x;
	berth_search s;
	berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_LATENCY), .seed = 1};
	const berth_method *m;
	berth_err err;
	if (!open_subject(&x, throughput_files[0]))
		skip();
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_method_find("dp", &m, &err), &err);
	assert_int_equal(berth_method_run(m, &s, &x.tmp, &err), BERTH_EUNSUPPORTED);
	close_subject(&x);
}

#define NODE(id, more)                                                                                       \
	"{\"id\":" id                                                                                        \
	",\"supportedOnFpga\":1,\"cpuLatency\":2,\"fpgaLatency\":1,\"isBackwardNode\":0,\"size\":10" more    \
	"}"
#define FILE_OF(nodes, edges)                                                                                \
	"{\"maxSizePerFPGA\":15,\"maxFPGAs\":2,\"maxCPUs\":1,\"nodes\":[" nodes "],\"edges\":[" edges "]}"

static berth_status parse(const char *text, berth_arena *mem, berth_graph *g, berth_system *s, berth_err *err)
{
	berth_arena tmp = {0};
	berth_status st = berth_tarnawski_parse("w.json", text, strlen(text), mem, &tmp, g, s, err);
	berth_arena_free(&tmp);
	return st;
}

/* Methods of this cost model alone, each allocation failing in turn. */
static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const char *const names[] = {"dp", "ip"};
	subject x = {0};
	berth_err err;
	assert_ok(parse(FILE_OF(NODE("1", "") "," NODE("2", "") "," NODE("3", "") "," NODE("4", ""),
	                        "{\"sourceId\":1,\"destId\":2,\"cost\":3},{\"sourceId\":2,\"destId\":4,"
	                        "\"cost\":5},{\"sourceId\":3,\"destId\":4,\"cost\":1}"),
	                &x.mem, &x.g, &x.s, &err),
	          &err);
	assert_ok(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &x.p, &err), &err);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const berth_method *m;
		berth_status st = BERTH_ENOMEM;
		assert_ok(berth_method_find(names[i], &m, &err), &err);
		for (long k = 0; st != BERTH_OK; k++) {
			failing_allocator f;
			berth_arena mem, tmp;
			berth_search s;
			berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1};
			failing_allocator_init(&f, k);
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			st = berth_search_new(&x.p, &cfg, &mem, &s, NULL);
			if (st == BERTH_OK)
				st = berth_method_run(m, &s, &tmp, NULL);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			assert_int_equal(f.live, 0);
			assert_true(st == BERTH_ENOMEM || (st == BERTH_OK && k > 0));
		}
	}
	berth_arena_free(&x.mem);
	berth_arena_free(&x.tmp);
}

static void *alloc_below_2_gib(void *ctx, size_t size)
{
	(void)ctx;
	return size < (size_t)1 << 31 ? malloc(size) : NULL;
}

static void free_it(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* 16 operators that nothing joins are 65,536 ideals, 256 devices 16,641 states of each: the linearised
 * answer must do. */
static void test_many_devices(void **state)
{
	(void)state;
	static const berth_allocator hook = {.alloc = alloc_below_2_gib, .free = free_it};
	berth_arena mem = {0}, tmp = {0}, scratch = {.hook = &hook};
	char text[4096] = "{\"maxSizePerFPGA\":15,\"maxFPGAs\":128,\"maxCPUs\":128,\"edges\":[],\"nodes\":[";
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_search search;
	berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1};
	const berth_method *m;
	berth_err err;
	for (int i = 0; i < 16; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
		         "%s{\"id\":%d,\"supportedOnFpga\":1,\"cpuLatency\":2,\"fpgaLatency\":1,\"size\":10}",
		         i ? "," : "", i);
	snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
	assert_ok(parse(text, &mem, &g, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_search_new(&p, &cfg, &mem, &search, &err), &err);
	assert_ok(berth_method_find("dp", &m, &err), &err);
	assert_ok(berth_method_run(m, &search, &scratch, &err), &err);
	assert_true(berth_score_feasible(search.best));
	assert_near(search.best.value, 1, 1e-9);
	berth_arena_free(&scratch);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Blocks of five branches of four operators, one after the other, for two accelerators: 37,502 ideals, and
 * far more sets between them than dp looks at. Those that leave too much work for the other one are left
 * out, so the halves come out almost even; those of one topological order do not. */
static const char *branching_blocks(berth_arena *mem, double *sum_s)
{
	enum { BLOCKS = 12, BRANCHES = 5, LENGTH = 4 };
	berth_strbuf nodes = {.mem = mem}, edges = {.mem = mem}, all = {.mem = mem};
	berth_rng r = berth_rng_seed(1, 0);
	const char *text, *list, *ways;
	size_t len;
	berth_err err;
	int n = 0, before = 0;
	*sum_s = 0;
	for (int b = 0; b <= BLOCKS; b++) {
		int last[BRANCHES];
		for (int k = 0; k < (b ? BRANCHES * LENGTH + 1 : 1); k++) {
			double s = 1 + 9 * berth_rng_unit(&r);
			int branch = k / LENGTH;
			*sum_s += s;
			berth_strbuf_printf(&nodes,
			                    "%s{\"id\":%d,\"supportedOnFpga\":1,\"cpuLatency\":10000,"
			                    "\"fpgaLatency\":%.17g,\"size\":1}",
			                    n ? "," : "", n, s);
			for (int e = 0; b && branch == BRANCHES && e < BRANCHES; e++)
				berth_strbuf_printf(&edges,
				                    ",{\"sourceId\":%d,\"destId\":%d,\"cost\":0.001}",
				                    last[e], n);
			if (b && branch < BRANCHES) {
				berth_strbuf_printf(&edges,
				                    "%s{\"sourceId\":%d,\"destId\":%d,\"cost\":0.001}",
				                    n > 1 ? "," : "", k % LENGTH ? n - 1 : before, n);
				last[branch] = n;
			}
			n++;
		}
		before = n - 1;
	}
	assert_ok(berth_strbuf_done(&nodes, &list, &len, &err), &err);
	assert_ok(berth_strbuf_done(&edges, &ways, &len, &err), &err);
	berth_strbuf_printf(&all,
	                    "{\"maxSizePerFPGA\":1000,\"maxFPGAs\":2,\"maxCPUs\":1,\"nodes\":[%s],"
	                    "\"edges\":[%s]}",
	                    list, ways);
	assert_ok(berth_strbuf_done(&all, &text, &len, &err), &err);
	return text;
}

static void test_dp_of_many_branches(void **state)
{
	(void)state;
	subject x = {0};
	berth_search s;
	berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1};
	const berth_method *m;
	double sum_s;
	berth_err err;
	assert_ok(parse(branching_blocks(&x.mem, &sum_s), &x.mem, &x.g, &x.s, &err), &err);
	assert_ok(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &x.p, &err), &err);
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_method_find("dp", &m, &err), &err);
	assert_ok(berth_method_run(m, &s, &x.tmp, &err), &err);
	assert_true(s.best.value >= sum_s / 2 * 0.999 && s.best.value <= sum_s / 2 * 1.0003);
	berth_arena_free(&x.mem);
	berth_arena_free(&x.tmp);
}

/* a -> b -> c with b elsewhere: the accelerator of a and c is visited twice. By hand: visit 1 computes a and
 * moves it out (1 + 3), b on the other one takes it in, computes, moves out (3 + 1 + 5), visit 2 takes b in
 * and computes c (5 + 1). */
static void test_second_visit(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	const int32_t dev[] = {0, 1, 0}, cpu[] = {2, 2, 2};
	assert_ok(parse(FILE_OF(NODE("1", "") "," NODE("2", "") "," NODE("3", ",\"name\":\"c\""),
	                        "{\"sourceId\":1,\"destId\":2,\"cost\":3},{\"sourceId\":2,\"destId\":3,"
	                        "\"cost\":5}"),
	                &mem, &g, &s, &err),
	          &err);
	assert_string_equal(g.op_name[0], "node 1");
	assert_string_equal(g.op_name[2], "c");
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_sim_run(sim, dev, NULL, &r);
	assert_int_equal(r.latency_ns, INT64_C(19) * 1000000000);
	assert_near(r.load_s, 2 + 3 + 5, 1e-12);
	assert_true(!r.fits && fabs(r.excess - 5.0 / 15) < 1e-12);
	berth_sim_run(sim, cpu, NULL, &r);
	assert_int_equal(r.latency_ns, INT64_C(6) * 1000000000);
	assert_true(r.fits);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* The same, c being the first node of the file. */
static void test_second_visit_backwards(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	const int32_t dev[] = {0, 1, 0};
	assert_ok(parse(FILE_OF(NODE("3", "") "," NODE("2", "") "," NODE("1", ""),
	                        "{\"sourceId\":1,\"destId\":2,\"cost\":3},{\"sourceId\":2,\"destId\":3,"
	                        "\"cost\":5}"),
	                &mem, &g, &s, &err),
	          &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_sim_run(sim, dev, NULL, &r);
	assert_int_equal(r.latency_ns, INT64_C(19) * 1000000000);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Two accelerators that wait for each other when each is visited once: a -> d, c -> b with a, b on one and
 * c, d on the other. */
static void test_circle(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	const int32_t dev[] = {0, 0, 1, 1};
	assert_ok(parse(FILE_OF(NODE("1", "") "," NODE("2", "") "," NODE("3", "") "," NODE("4", ""),
	                        "{\"sourceId\":1,\"destId\":4,\"cost\":1},{\"sourceId\":3,\"destId\":2,"
	                        "\"cost\":1}"),
	                &mem, &g, &s, &err),
	          &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_sim_run(sim, dev, NULL, &r);
	assert_true(r.runs);
	assert_int_equal(r.latency_ns, INT64_C(4) * 1000000000); /* (1 + 1) on both at once, then (1 + 1) on
	                                                            both */
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- visits, by their definition ---- */

enum { MOST_NODES = 11, N_ACC = 2, CPU = N_ACC };

/* Nodes in topological order; what node i makes costs out[i] to move, in seconds like the times. */
typedef struct visits_net {
	int n, dev[MOST_NODES], acc_s[MOST_NODES], cpu_s[MOST_NODES], out[MOST_NODES];
	bool edge[MOST_NODES][MOST_NODES];
	int visit[MOST_NODES]; /* a CPU operator is one of its own */
} visits_net;

static void draw_net(uint64_t seed, visits_net *x, char *text, size_t size)
{
	berth_rng rng = berth_rng_seed(seed, 41);
	memset(x, 0, sizeof *x);
	x->n = 5 + (int)berth_rng_below(&rng, MOST_NODES - 4);
	snprintf(text, size, "{\"maxSizePerFPGA\":0,\"maxFPGAs\":%d,\"maxCPUs\":1,\"nodes\":[", N_ACC);
	for (int i = 0; i < x->n; i++) {
		size_t used = strlen(text);
		x->dev[i] = (int)berth_rng_below(&rng, 8) * (N_ACC + 1) / 8; /* CPU least of all */
		x->acc_s[i] = 1 + (int)berth_rng_below(&rng, 9);
		x->cpu_s[i] = 1 + (int)berth_rng_below(&rng, 9);
		x->out[i] = 1 + (int)berth_rng_below(&rng, 3);
		snprintf(text + used, size - used,
		         "%s{\"id\":%d,\"supportedOnFpga\":1,\"cpuLatency\":%d,\"fpgaLatency\":%d,"
		         "\"isBackwardNode\":0,\"size\":0}",
		         i ? "," : "", i, x->cpu_s[i], x->acc_s[i]);
	}
	snprintf(text + strlen(text), size - strlen(text), "],\"edges\":[");
	for (int i = 0; i < x->n; i++)
		for (int k = i + 1; k < x->n; k++) {
			size_t used = strlen(text);
			x->edge[i][k] = berth_rng_below(&rng, 3) == 0;
			if (x->edge[i][k])
				snprintf(text + used, size - used,
				         "%s{\"sourceId\":%d,\"destId\":%d,\"cost\":%d}",
				         text[used - 1] == '[' ? "" : ",", i, k, x->out[i]);
		}
	snprintf(text + strlen(text), size - strlen(text), "]}");
}

/* Paths from a to b: 0 none, 1 all on a's device, 2 one that leaves it. */
static int way(const visits_net *x, int a, int b)
{
	int best = 0;
	for (int k = a; k < b; k++)
		if (x->edge[k][b] && (k == a || way(x, a, k))) {
			int leaves = x->dev[k] != x->dev[a] ? 2 : k == a ? 1 : way(x, a, k);
			best = leaves > best ? leaves : best;
		}
	return best;
}

static bool same_visit(const visits_net *x, int a, int b)
{
	return a == b || (x->dev[a] == x->dev[b] && x->dev[a] != CPU && x->visit[a] == x->visit[b]);
}

/* Does the visit of b wait for that of a, for a tensor or because it is the earlier one? */
static bool waits_for(const visits_net *x, int b, int a)
{
	if (same_visit(x, a, b))
		return false;
	for (int i = 0; i < x->n; i++)
		for (int k = i + 1; k < x->n; k++)
			if (x->edge[i][k] && same_visit(x, i, a) && same_visit(x, k, b))
				return true;
	return x->dev[a] != CPU && x->dev[a] == x->dev[b] && x->visit[a] < x->visit[b];
}

/* What the visit of b has to do: operators, tensors in, tensors out. */
static int work_of(const visits_net *x, int b)
{
	int work = 0;
	if (x->dev[b] == CPU)
		return x->cpu_s[b];
	for (int i = 0; i < x->n; i++) {
		bool to = false, away = false;
		for (int k = i + 1; k < x->n; k++) {
			to |= x->edge[i][k] && same_visit(x, k, b);
			away |= x->edge[i][k] && !same_visit(x, k, b);
		}
		if (same_visit(x, i, b))
			work += x->acc_s[i] + (away ? x->out[i] : 0);
		else
			work += to ? x->out[i] : 0;
	}
	return work;
}

/* The fewest visits that the edges allow. */
static void join_by_definition(visits_net *x)
{
	for (int i = 0; i < x->n; i++) {
		x->visit[i] = 0;
		for (int a = 0; a < i && x->dev[i] != CPU; a++)
			if (x->dev[a] == x->dev[i] && way(x, a, i)) {
				int least = x->visit[a] + (way(x, a, i) == 2);
				x->visit[i] = least > x->visit[i] ? least : x->visit[i];
			}
	}
}

/* In topological order: all visits close where a node needs what another accelerator's open one makes. */
static void cut_by_definition(visits_net *x)
{
	int now = 0;
	for (int i = 0; i < x->n; i++) {
		bool needs = false;
		for (int a = 0; a < i; a++)
			needs |= x->edge[a][i] && x->dev[a] != x->dev[i] && x->dev[a] != CPU &&
			         x->visit[a] == now;
		now += needs;
		x->visit[i] = now;
	}
}

/* end out [n]. -1: visits wait for each other. */
static int latency_by_definition(const visits_net *x, int *end)
{
	int n_done = 0, latency = 0;
	for (int i = 0; i < x->n; i++)
		end[i] = -1;
	for (int round = 0; round < x->n; round++)
		for (int b = 0; b < x->n; b++) {
			int start = 0;
			for (int a = 0; a < x->n; a++)
				if (start >= 0 && waits_for(x, b, a))
					start = end[a] < 0 || end[a] > start ? end[a] : start;
			if (end[b] >= 0 || start < 0)
				continue;
			for (int i = 0; i < x->n; i++)
				if (same_visit(x, i, b)) {
					end[i] = start + work_of(x, b);
					n_done++;
				}
			latency = end[b] > latency ? end[b] : latency;
		}
	return n_done == x->n ? latency : -1;
}

static void test_visits(void **state)
{
	(void)state;
	int n_circles = 0, n_again = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		visits_net x;
		char text[8192];
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_sim *sim;
		berth_sim_result r;
		berth_err err;
		draw_net(seed, &x, text, sizeof text);
		assert_ok(parse(text, &mem, &g, &s, &err), &err);
		assert_int_equal(s.dev_memory_bytes[0], 0); /* no memory is a limit, too */
		assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
		assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
		berth_sim_run(sim, x.dev, NULL, &r);
		int end[MOST_NODES];
		join_by_definition(&x);
		int want = latency_by_definition(&x, end);
		n_circles += want < 0;
		for (int i = 0; i < x.n; i++)
			n_again += want >= 0 && x.visit[i] > 1;
		if (want < 0) {
			cut_by_definition(&x);
			want = latency_by_definition(&x, end);
		}
		assert_int_equal(r.latency_ns, want * INT64_C(1000000000));
		for (int i = 0; i < x.n; i++) {
			assert_int_equal(berth_sim_last(sim).end_ns[i], end[i] * INT64_C(1000000000));
			assert_int_equal(berth_sim_last(sim).start_ns[i],
			                 (end[i] - work_of(&x, i)) * INT64_C(1000000000));
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	assert_true(n_circles > 10 && n_circles < 200 && n_again > 10);
}

/* Six operators of which two fit on accelerators: CPU operators run side by side, so that the latency is 2.
 * The strong bounds are of the execution model, where a device takes one at a time. */
static void test_strong_bounds(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds fast, strong;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	const int32_t cpu[] = {2, 2, 2, 2, 2, 2};
	assert_ok(parse(FILE_OF(NODE("1", "") "," NODE("2", "") "," NODE("3", "") "," NODE("4", "") "," NODE(
					"5", "") "," NODE("6", ""),
	                        ""),
	                &mem, &g, &s, &err),
	          &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_sim_run(sim, cpu, NULL, &r);
	assert_true(r.fits);
	assert_int_equal(r.latency_ns, INT64_C(2) * 1000000000);
	assert_ok(berth_bounds_new(&p, &tmp, &fast, &err), &err);
	strong = fast;
	const berth_bound_effort effort = {1000, BERTH_BOUND_ALL, true, true};
	assert_ok(berth_bounds_strengthen(&p, &effort, &tmp, &strong, &err), &err);
	assert_true(strong.value[BERTH_LATENCY] >= fast.value[BERTH_LATENCY] &&
	            strong.value[BERTH_LATENCY] <= 2);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Three operators of 6 on two accelerators of 10: infeasible, but no sum proves it. Tensors take no memory
 * in this model, so that they prove nothing. */
static void test_conflict(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_infeasible_subset c;
	berth_err err;
#define SIX(id)                                                                                              \
	"{\"id\":" id                                                                                        \
	",\"supportedOnFpga\":1,\"cpuLatency\":2,\"fpgaLatency\":1,\"isBackwardNode\":0,\"size\":6}"
	assert_ok(parse("{\"maxSizePerFPGA\":10,\"maxFPGAs\":2,\"maxCPUs\":0,\"nodes\":[" SIX("1") "," SIX(
				"2") "," SIX("3") "],\"edges\":["
	                                          "{\"sourceId\":1,\"destId\":2,\"cost\":5},{\"sourceId\":2,"
	                                          "\"destId\":3,\"cost\":5}]}",
	                &mem, &g, &s, &err),
	          &err);
#undef SIX
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_infeasible_subset_find(&p, NULL, NULL, &mem, &tmp, &c, &err), &err);
	assert_false(c.proven);
	assert_int_equal(c.least_bytes[0], 8);
	assert_int_equal(c.least_bytes[1], 8);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_refuses(void **state)
{
	(void)state;
	static const struct { const char *text, *says;
	} bad[] = {
		{"{\"maxFPGAs\":1", "w.json"},
		{"[\"maxFPGAs\"]", "expected an object"},
		{FILE_OF(NODE("1", "") "," NODE("1", ""), ""), "/nodes/1: two nodes have the id 1"},
		{FILE_OF(NODE("1.5", ""), ""), "/nodes/0: id is 1.5"},
		{FILE_OF(NODE("1", ""), "{\"sourceId\":1,\"destId\":7,\"cost\":1}"),
	         "/edges/0: destId 7 is no node's id"},
		{FILE_OF(NODE("1", ""), "{\"sourceId\":1,\"destId\":1,\"cost\":1}"), "w.json"},
		{FILE_OF(NODE("1", "") "," NODE("2", ""), "{\"sourceId\":1,\"destId\":2,\"cost\":-1}"),
	         "/edges/0"},
		{FILE_OF(NODE("1", "") "," NODE("2", ""), "{\"sourceId\":1,\"destId\":2,\"cost\":1e30}"),
	         "cost is 1e+30"},
		{FILE_OF(NODE("1", "") "," NODE("2", "") "," NODE("3", ""),
	                 "{\"sourceId\":1,\"destId\":2,\"cost\":1},{\"sourceId\":1,\"destId\":3,\"cost\":2}"),
	         "w.json"},
		{"{\"maxFPGAs\":1,\"maxCPUs\":0,\"nodes\":[],\"edges\":[]}", "maxSizePerFPGA"},
		{"{\"maxSizePerFPGA\":15,\"maxFPGAs\":0,\"maxCPUs\":0,\"nodes\":[],\"edges\":[]}",
	         "there is no device"},
		{"{\"maxSizePerFPGA\":15,\"maxFPGAs\":1e9,\"maxCPUs\":0,\"nodes\":[],\"edges\":[]}",
	         "maxFPGAs is 1e+09"},
		{"{\"maxSizePerFPGA\":1e99,\"maxFPGAs\":1,\"maxCPUs\":0,\"nodes\":[],\"edges\":[]}",
	         "maxSizePerFPGA is 1e+99"},
		{"{\"maxFPGAs\":1,\"nodes\":3,\"edges\":[]}", "/nodes"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		berth_arena mem = {0};
		berth_graph g;
		berth_system s;
		berth_err err;
		assert_true(berth_format_tarnawski.is(bad[i].text, strlen(bad[i].text)));
		assert_int_equal(parse(bad[i].text, &mem, &g, &s, &err), BERTH_EFORMAT);
		assert_contains(err.msg, bad[i].says);
		berth_arena_free(&mem);
	}
	assert_false(berth_format_tarnawski.is("{\"format\":\"berth-graph\",\"name\":\"maxFPGAs\"}", 40));
}

/* A file that is read node by node: a node's words are gone after its visit. Operators of one name get their
 * ids behind it. */
static void test_names_of_long_files(void **state)
{
	(void)state;
	enum { NODES = 3000 };
	berth_arena mem = {0}, tmp = {0};
	berth_strbuf b = {.mem = &mem};
	berth_graph g;
	berth_system s;
	berth_err err;
	const char *text;
	size_t len;
	berth_strbuf_printf(&b, "{\"maxFPGAs\":1,\"maxCPUs\":1,\"maxSizePerFPGA\":1,\"nodes\":[");
	for (int i = 0; i < NODES; i++) /* 0 0 2 3 4 4 6 7 ... */
		berth_strbuf_printf(&b,
		                    "%s{\"id\":%d,\"name\":\"a name of some length %d\",\"cpuLatency\":1,"
		                    "\"fpgaLatency\":1,\"size\":0,\"supportedOnFpga\":1,"
		                    "\"isBackwardNode\":0}",
		                    i ? "," : "", i, i % 4 == 1 ? i - 1 : i);
	berth_strbuf_printf(&b, "],\"edges\":[]}");
	assert_ok(berth_strbuf_done(&b, &text, &len, &err), &err);
	assert_ok(parse(text, &mem, &g, &s, &err), &err);
	assert_int_equal(g.n_ops, NODES);
	for (int i = 0; i < NODES; i++) {
		const char *name = berth_arena_printf(&mem, "a name of some length %d%s",
		                                      i % 4 == 1 ? i - 1 : i, i % 4 < 2 ? "node " : "");
		if (i % 4 < 2)
			name = berth_arena_printf(&mem, "%s%d", name, i);
		assert_true(berth_graph_find(&g, name) >= 0);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),        cmocka_unit_test(test_latencies),
		cmocka_unit_test(test_search),       cmocka_unit_test(test_dp),
		cmocka_unit_test(test_dp_of_many_branches),
		cmocka_unit_test(test_names_of_long_files),
		cmocka_unit_test(test_dp_refuses),   cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_many_devices), cmocka_unit_test(test_second_visit),
		cmocka_unit_test(test_second_visit_backwards),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_visits),       cmocka_unit_test(test_strong_bounds),
		cmocka_unit_test(test_conflict),     cmocka_unit_test(test_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
