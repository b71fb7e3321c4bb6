/* Speed of placement methods: HEFT with insertion at 2,000 operators, and a whole training step of the agent
 * per placement. */
#include "speeds.h"

#include "learner.h"
#include "partial.h"
#include "portfolio.h"

#include <stdlib.h>

typedef struct method_ctx {
	const berth_method *m;
	berth_search s;
	berth_arena tmp;
} method_ctx;

typedef struct schedule_ctx {
	const berth_problem *p;
	berth_partial *part;
} schedule_ctx;

/* The loop of HEFT alone: each operator by rank on the device where it ends first, in gaps too. */
static void schedule_once(void *arg)
{
	schedule_ctx *c = arg;
	berth_partial_reset(c->part);
	for (int32_t k = 0; k < c->p->n_ops; k++) {
		int64_t start;
		int32_t op = c->p->prio_op[k], dev = berth_partial_earliest(c->part, op, true, &start);
		berth_partial_place(c->part, op, dev, start);
	}
}

static void run_once(void *arg)
{
	method_ctx *c = arg;
	c->s.best = berth_score_worst();
	MUST(c->m->run(&c->s, &c->tmp, &err));
}

void speed_heft(void)
{
	static const char *const graph[] = {"random:ops=2000:seed=1", "bert-base:training=1"};
	for (int i = 0; i < 2; i++) {
		subject b;
		method_ctx c = {0};
		berth_search_cfg cfg = {.evaluations = 0};
		char label[96];
		bench_open(&b, graph[i], "4gpu");
		MUST(berth_method_find("heft", &c.m, &err));
		MUST(berth_search_new(&b.p, &cfg, &b.mem, &c.s, &err));
		snprintf(label, sizeof label, "%s on 4gpu (%d operators)", graph[i], b.p.n_ops);
		schedule_ctx alone = {&b.p, NULL};
		MUST(berth_partial_new(&b.p, &b.mem, &alone.part, &err));
		speed_row("heft", label, bench_seconds(schedule_once, &alone) * 1e3, "ms");
		speed_row("heft_scored_twice", label, bench_seconds(run_once, &c) * 1e3, "ms");
		berth_arena_free(&c.tmp);
		bench_close(&b);
	}
}

/* ---- answers without search ---- */

typedef struct start_ctx {
	subject b;
	const berth_method *m; /* NULL: the portfolio */
} start_ctx;

static void start_once(void *arg)
{
	start_ctx *c = arg;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search_cfg cfg = {.evaluations = 0};
	berth_search s;
	berth_portfolio portfolio;
	MUST(berth_search_new(&c->b.p, &cfg, &mem, &s, &err));
	MUST(c->m ? c->m->run(&s, &tmp, &err) : berth_portfolio_run(&s, &mem, &tmp, &portfolio, &err));
}

/* Method `policy` with all that it begins at; the portfolio; what `berth` answers when no evaluations are
 * asked for. */
void speed_start(void)
{
	static const bench_pair instance[] = {
		{"resnet50", "cpu+2gpu"}, {"inception-v3:batch=8:training=1", "4gpu"},
		{"bert-large:training=1:batch=8", "hetero-cluster"},
		{"random:ops=2000:seed=1", "4gpu"}};
	for (size_t i = 0; i < sizeof instance / sizeof *instance; i++) {
		start_ctx c = {.m = NULL};
		char label[96];
		bench_open(&c.b, instance[i].graph, instance[i].system);
		snprintf(label, sizeof label, "%s on %s (%d operators)", instance[i].graph,
		         instance[i].system, c.b.p.n_ops);
		double portfolio = bench_seconds(start_once, &c);
		MUST(berth_method_find("policy", &c.m, &err));
		speed_row("policy", label, bench_seconds(start_once, &c) * 1e3, "ms");
		MUST(berth_method_find("berth", &c.m, &err));
		speed_row("berth, no evaluations", label, bench_seconds(start_once, &c) / portfolio,
		          "of the portfolio's time");
		bench_close(&c.b);
	}
}

typedef struct learn_ctx {
	subject b;
	berth_learner l;
	berth_search s;
} learn_ctx;

static void learn_2000(void *arg)
{
	learn_ctx *c = arg;
	for (int64_t end = c->s.evaluations + 2000; c->s.evaluations < end;)
		MUST(berth_learner_step(&c->l, 0, c->l.cfg.batch, NULL, &err));
}

/* Best of seven by the clock: other work on the machine only adds to it. */
static double wall_seconds(void (*work)(void *ctx), void *ctx)
{
	double best = INFINITY;
	work(ctx);
	for (int r = 0; r < 7; r++) {
		double from = berth_wall_seconds();
		work(ctx);
		best = fmin(best, berth_wall_seconds() - from);
	}
	return best;
}

/* Drawing, simulating and learning together, with the settings of `berth` and every epoch made. One worker:
 * its CPU time; more: the clock. */
static void learn_row(const char *graph, bool sequential, int32_t batch, int32_t workers)
{
	learn_ctx c;
	berth_search *all = &c.s;
	berth_search_cfg cfg = {.evaluations = INT64_MAX};
	berth_learner_cfg learner = berth_learner_cfg_default();
	char label[96];
	learner.decoding = sequential ? BERTH_SEQUENTIAL : BERTH_ONE_SHOT;
	learner.batch = batch;
	learner.window = batch > 64 ? 2 * batch : learner.window;
	learner.kl_stop = 1e6;
	bench_open(&c.b, graph, "4gpu");
	MUST(berth_pool_new(workers, &cfg.pool, &err));
	MUST(berth_search_new(&c.b.p, &cfg, &c.b.mem, &c.s, &err));
	MUST(berth_learner_new(&learner, 1, NULL, &all, 1, &c.b.mem, &c.b.tmp, &c.l, &err));
	MUST(berth_single_reference(&c.s, &c.l.pair[0].reference, &c.b.tmp, &err));
	learn_2000(&c);
	int64_t from = c.s.evaluations;
	learn_2000(&c);
	int64_t made = c.s.evaluations - from;
	double s = workers > 1 ? wall_seconds(learn_2000, &c) : bench_seconds(learn_2000, &c);
	snprintf(label, sizeof label, "%s, 4gpu, %d groups, update each %d, %d worker%s", graph,
	         c.l.pair[0].e.n_groups, batch, workers, workers > 1 ? "s" : "");
	speed_row(sequential ? "learn, sequential" : "learn, one-shot", label, (double)made / s,
	          "evaluations/s");
	berth_pool_free(cfg.pool);
	bench_close(&c.b);
}

void speed_learn(void)
{
	static const int32_t batch[] = {64, 256, 1000};
	for (int32_t workers = 1; workers <= 2; workers++) {
		for (int k = 0; k < 3; k++)
			learn_row("resnet50", false, batch[k], workers);
		learn_row("bert-base", false, batch[2], workers);
		learn_row("resnet50", true, batch[0], workers);
		learn_row("bert-base", true, batch[0], workers);
	}
}
