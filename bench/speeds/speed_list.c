/* Speed of list scheduling: the loop of HEFT alone without and with insertion, the CEFT table beside it, and
 * how the time of the list schedulers grows from 2,000 to 50,000 operators on 4 devices (the exponent: log
 * of the times' ratio over log of the operators'). Memory is unlimited, as in the papers: keeping account of
 * it takes as long again. Ranks and scoring are not in the loop's time; a method's time is all of it,
 * scorings by the simulator included. */
#include "speeds.h"

#include "ceft.h"
#include "partial.h"

#include <stdlib.h>

enum { N_SIZES = 2, N_METHODS = 9, LOOK_AHEAD = 8 /* as heft.c */ };
static const int sizes[N_SIZES] = {2000, 50000};
static const char *const methods[N_METHODS] = {"heft",      "heft-lookahead", "peft",   "cpop", "ceft",
                                               "ceft-cpop", "heft-ceft",      "m-topo", "m-etf"};

typedef struct sized {
	subject b;
	berth_partial *part;
	berth_arena tmp;
	berth_search search;
	const berth_method *m;
	bool insertion;
} sized;

static void schedule_once(void *arg)
{
	sized *c = arg;
	berth_partial_reset(c->part);
	for (int32_t k = 0; k < c->b.p.n_ops; k++) {
		int64_t start;
		if (k + LOOK_AHEAD < c->b.p.n_ops)
			berth_partial_look_ahead(c->part, c->b.p.prio_op[k + LOOK_AHEAD]);
		int32_t op = c->b.p.prio_op[k],
			dev = berth_partial_earliest(c->part, op, c->insertion, &start);
		berth_partial_place(c->part, op, dev, start);
	}
}

static void fill_table(void *arg)
{
	sized *c = arg;
	berth_ceft t;
	berth_arena_mark mark = berth_arena_get_mark(&c->tmp);
	MUST(berth_ceft_new(&c->b.p, &c->tmp, &t, &err));
	berth_arena_reset(&c->tmp, mark);
}

static void run_method(void *arg)
{
	sized *c = arg;
	c->search.best = berth_score_worst();
	MUST(c->m->run(&c->search, &c->tmp, &err));
	berth_arena_free(&c->tmp);
}

static void open_subject(sized *c, int n_ops)
{
	char graph[64];
	berth_search_cfg cfg = {.evaluations = 0};
	*c = (sized){.part = NULL};
	snprintf(graph, sizeof graph, "random:ops=%d:seed=1", n_ops);
	bench_open(&c->b, graph, "4gpu");
	for (int32_t d = 0; d < c->b.s.n_devs; d++)
		c->b.s.dev_memory_bytes[d] = -1;
	MUST(berth_problem_new(&c->b.g, &c->b.s, &c->b.mem, &c->b.tmp, &c->b.p, &err));
	MUST(berth_partial_new(&c->b.p, &c->b.mem, &c->part, &err));
	MUST(berth_search_new(&c->b.p, &cfg, &c->b.mem, &c->search, &err));
}

/* Milliseconds of one function at each size. */
static void time_all(sized *c, void (*work)(void *ctx), double *ms)
{
	for (int k = 0; k < N_SIZES; k++)
		ms[k] = bench_seconds(work, &c[k]) * 1e3;
}

static void tell(const char *name, const double *ms)
{
	for (int k = 0; k < N_SIZES; k++) {
		char label[64];
		snprintf(label, sizeof label, "random:ops=%d on 4 devices", sizes[k]);
		speed_row(name, label, ms[k], "ms");
	}
}

static void tell_growth(const char *name, const double *ms)
{
	char row[64];
	snprintf(row, sizeof row, "%s_growth", name);
	speed_row(row, "from 2000 to 50000 operators",
	          log(ms[1] / ms[0]) / log((double)sizes[1] / sizes[0]), "exponent");
}

void speed_list(void)
{
	static sized c[N_SIZES];
	double plain[N_SIZES], gaps[N_SIZES], table[N_SIZES];
	for (int k = 0; k < N_SIZES; k++)
		open_subject(&c[k], sizes[k]);
	time_all(c, schedule_once, plain);
	tell("heft_no_insertion", plain);
	c[0].insertion = c[1].insertion = true;
	time_all(c, schedule_once, gaps);
	tell("heft_insertion", gaps);
	time_all(c, fill_table, table);
	tell("ceft_table", table);
	for (int k = 0; k < N_SIZES; k++)
		speed_row("ceft_table_per_heft", k ? "at 50000 operators" : "at 2000 operators",
		          table[k] / plain[k], "times");
	tell_growth("heft_no_insertion", plain);
	tell_growth("heft_insertion", gaps);
	tell_growth("ceft_table", table);
	for (int m = 0; m < N_METHODS; m++) {
		double ms[N_SIZES];
		for (int k = 0; k < N_SIZES; k++)
			MUST(berth_method_find(methods[m], &c[k].m, &err));
		time_all(c, run_method, ms);
		tell(methods[m], ms);
		tell_growth(methods[m], ms);
	}
	for (int k = 0; k < N_SIZES; k++) {
		berth_arena_free(&c[k].tmp);
		bench_close(&c[k].b);
	}
}
