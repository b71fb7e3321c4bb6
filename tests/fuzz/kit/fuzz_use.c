/* See fuzz.h. */
#include "bounds.h"
#include "check.h"
#include "coarsen.h"
#include "fuzz.h"
#include "granularity.h"
#include "graph.h"
#include "graph_format.h"
#include "system_json.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 24, MAX_EDGES = 96, MAX_DEVS = 8 };

void must(bool holds)
{
	if (!holds)
		abort();
}

void fuzz_begin(fuzz_arenas *a)
{
	if (!a->mem.top) {
		must(berth_arena_alloc(&a->mem, 1, 1) && berth_arena_alloc(&a->tmp, 1, 1));
		a->mem_start = berth_arena_get_mark(&a->mem);
		a->tmp_start = berth_arena_get_mark(&a->tmp);
	}
	berth_arena_reset(&a->mem, a->mem_start);
	berth_arena_reset(&a->tmp, a->tmp_start);
}

char *fuzz_text(const uint8_t *data, size_t size, berth_arena *mem)
{
	char *text = berth_arena_strndup(mem, (const char *)data, size);
	must(text != NULL);
	return text;
}

bool fuzz_goes_deep(const uint8_t *data, size_t size)
{
	uint32_t hash = 2166136261u; /* Fowler, Noll, Vo: FNV-1a */
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 16777619u;
	return BERTH_DEBUG || (hash >> 13) % 8 == 0;
}

void fuzz_check_answer(berth_status st, const berth_graph *g, const char *start, const berth_err *err)
{
	if (st == BERTH_OK)
		must(berth_graph_check(g, NULL) == BERTH_OK);
	else
		must((st == BERTH_EFORMAT || st == BERTH_ENOMEM) && err->code == st &&
		     strncmp(err->msg, start, strlen(start)) == 0);
}

/* ---- a graph by itself ---- */

static void round_trip(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	const char *one, *two;
	size_t n_one, n_two;
	berth_graph back;
	must(berth_graph_write_json(g, true, mem, &one, &n_one, NULL) == BERTH_OK);
	must(berth_graph_parse_json("f.json", one, n_one, mem, tmp, &back, NULL) == BERTH_OK);
	must(berth_graph_check(&back, NULL) == BERTH_OK);
	must(berth_graph_write_json(&back, true, mem, &two, &n_two, NULL) == BERTH_OK);
	must(n_one == n_two && memcmp(one, two, n_one) == 0);
}

static void in_blocks(const berth_graph *g, berth_grain grain, berth_arena *mem, berth_arena *tmp)
{
	berth_granularity x;
	berth_graph ruled;
	berth_status st = berth_granularity_find(g, grain, mem, tmp, &x, NULL);
	if (st != BERTH_OK) {
		must(st == BERTH_EINVAL);
		return;
	}
	must(x.n_blocks <= g->n_ops);
	for (int32_t op = 0; op < g->n_ops; op++)
		must(x.op_block[op] >= 0 && x.op_block[op] < x.n_blocks);
	must(berth_granularity_apply(g, &x, 2, mem, tmp, &ruled, NULL) == BERTH_OK);
	must(berth_graph_check(&ruled, NULL) == BERTH_OK);
	fuzz_use_pair(&ruled, fuzz_small_system(), mem, tmp);
}

static void grouped(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(4);
	berth_coarsening c;
	must(berth_coarsen(g, &cfg, mem, tmp, &c, NULL) == BERTH_OK);
	must(berth_coarsening_check(g, &c, &cfg, tmp, NULL) == BERTH_OK);
}

static void trained(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	berth_training_options opt = berth_training_options_default();
	berth_graph step;
	if (berth_graph_training(g, &opt, mem, tmp, &step, NULL) == BERTH_OK)
		must(berth_graph_check(&step, NULL) == BERTH_OK);
}

void fuzz_use_graph(const berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	berth_graph_stats stats;
	if (g->n_ops > MAX_OPS || g->n_edges > MAX_EDGES)
		return;
	round_trip(g, mem, tmp);
	must(berth_graph_stats_new(g, mem, tmp, &stats, NULL) == BERTH_OK);
	grouped(g, mem, tmp);
	in_blocks(g, BERTH_GRAIN_LAYER, mem, tmp);
	in_blocks(g, BERTH_GRAIN_BLOCK, mem, tmp);
	trained(g, mem, tmp);
	fuzz_use_pair(g, fuzz_small_system(), mem, tmp);
}

/* ---- a graph on a system ---- */

static void judge(const berth_problem *p, const int32_t *op_dev, berth_arena *mem, berth_arena *tmp)
{
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_timeline t;
	berth_verdict v;
	berth_bounds b;
	must(berth_judge(p, op_dev, NULL, &latency, mem, &t, &v, NULL) == BERTH_OK);
	must(berth_bounds_new(p, tmp, &b, NULL) == BERTH_OK);
	for (int m = 0; v.feasible && m < BERTH_N_METRICS; m++)
		must(!(b.value[m] > v.metric[m]));
}

void fuzz_use_pair(const berth_graph *g, const berth_system *s, berth_arena *mem, berth_arena *tmp)
{
	berth_problem p;
	int32_t *op_dev;
	if (g->n_ops > MAX_OPS || g->n_edges > MAX_EDGES || s->n_devs > MAX_DEVS ||
	    s->order == BERTH_ORDER_GIVEN)
		return;
	berth_status st = berth_problem_new(g, s, mem, tmp, &p, NULL);
	if (st != BERTH_OK || berth_problem_feasible(&p, NULL) != BERTH_OK) {
		must(st == BERTH_OK || st == BERTH_EFORMAT || st == BERTH_ELIMIT);
		return;
	}
	must((op_dev = berth_arena_alloc(mem, (size_t)g->n_ops, sizeof *op_dev)) != NULL);
	for (int32_t op = 0; op < g->n_ops; op++)
		for (int32_t d = 0; d < s->n_devs; d++)
			if (berth_op_legal(&p, op, (d + op) % s->n_devs))
				op_dev[op] = (d + op) % s->n_devs;
	judge(&p, op_dev, mem, tmp);
}

/* ---- a graph and a system to use others with ---- */

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["
	"{\"name\":\"layers.0.a\",\"type\":\"Conv\",\"flops\":4000},"
	"{\"name\":\"layers.0.b\",\"type\":\"Relu\",\"time_s\":{\"x\":1e-6,\"gpu\":2e-6}},"
	"{\"name\":\"layers.1.a\",\"type\":\"Conv\",\"param_bytes\":64},{\"name\":\"layers.1.b\"},"
	"{\"name\":\"b\",\"colocate\":\"two\"},{\"name\":\"a\",\"colocate\":\"two\"}],\"edges\":["
	"{\"from\":\"layers.0.a\",\"to\":\"layers.0.b\",\"bytes\":40},"
	"{\"from\":\"layers.0.b\",\"to\":\"layers.1.a\",\"bytes\":16},"
	"{\"from\":\"layers.1.a\",\"to\":\"layers.1.b\",\"bytes\":16,\"tensor\":\"t\"},"
	"{\"from\":\"layers.1.a\",\"to\":\"a\",\"bytes\":8},{\"from\":\"a\",\"to\":\"b\",\"bytes\":0}]}";
static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	"{\"name\":\"x\",\"kind\":\"cpu\",\"peak_flops\":1e9,\"mem_bandwidth\":1e9,\"memory_bytes\":4096,"
	"\"idle_w\":1,\"busy_w\":3},"
	"{\"name\":\"y\",\"kind\":\"gpu\",\"peak_flops\":4e9,\"mem_bandwidth\":8e9,\"slots\":2,"
	"\"idle_w\":2,\"busy_w\":9}],"
	"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"latency_s\":1e-6,\"both_ways\":true}],"
	"\"memory_pools\":[{\"name\":\"m\",\"devices\":[\"x\",\"y\"],\"bandwidth\":8e9}]}";

/* Made at the first call; a fuzzer has one thread. */
static berth_arena kept, scratch;
static berth_graph small_graph;
static berth_system small_system;

static void make_small(void)
{
	if (kept.top)
		return;
	must(berth_graph_parse_json("g", graph_text, sizeof graph_text - 1, &kept, &scratch, &small_graph,
	                            NULL) == BERTH_OK);
	must(berth_system_parse_json("s", system_text, sizeof system_text - 1, &kept, &scratch, &small_system,
	                             NULL) == BERTH_OK);
}

const berth_graph *fuzz_small_graph(void)
{
	make_small();
	return &small_graph;
}

const berth_system *fuzz_small_system(void)
{
	make_small();
	return &small_system;
}
