/* Questions about a placement: why an operator runs where it does, what changed machines would bring, the
 * front of two objectives. */
#include "speeds.h"

#include "explain_op.h"
#include "pareto.h"
#include "whatif.h"

#include <stdlib.h>

enum { N_CHANGES = 20 };

typedef struct question {
	subject b;
	const int32_t *op_dev;
	berth_whatif_cfg whatif;
	berth_pareto_cfg pareto;
	int32_t points;
	int32_t next; /* operator */
} question;

/* The answer of HEFT: some operators on each device. */
static void place(question *q)
{
	berth_search s;
	berth_search_cfg cfg = {.seed = 1};
	const berth_method *m;
	MUST(berth_method_find("heft", &m, &err));
	MUST(berth_search_new(&q->b.p, &cfg, &q->b.mem, &s, &err));
	MUST(berth_method_run(m, &s, &q->b.tmp, &err));
	q->op_dev = s.best_dev;
}

/* As the program does it once the files are read: compile, simulate, explain. */
static void explain_one(void *arg)
{
	question *q = arg;
	berth_arena mem = {0};
	berth_problem p;
	berth_timeline t;
	berth_op_story s;
	berth_objective latency = {.text = ""};
	MUST(berth_problem_new(&q->b.g, &q->b.s, &mem, &q->b.tmp, &p, &err));
	MUST(berth_timeline_new(&p, q->op_dev, NULL, &mem, &t, &err));
	MUST(berth_explain_op(&p, &t, &latency, q->next, &mem, &q->b.tmp, &s, &err));
	q->next = (q->next + 97) % p.n_ops;
	berth_arena_free(&mem);
}

static void ask_all(void *arg)
{
	question *q = arg;
	berth_arena mem = {0};
	for (int i = 0; i < N_CHANGES; i++) {
		berth_whatif_row row;
		const char *change =
			berth_arena_printf(&mem, "gpu%d.%s=%.1fx", i % 2,
		                           i % 4 < 2 ? "mem_bandwidth" : "peak_flops", 0.5 + 0.1 * i);
		MUST(berth_whatif(&q->b.g, &q->b.s, q->op_dev, NULL, change, &q->whatif, &mem, &q->b.tmp,
		                  &row, &err));
	}
	berth_arena_free(&mem);
}

static void find_front(void *arg)
{
	question *q = arg;
	berth_arena mem = {0};
	berth_pareto f;
	MUST(berth_pareto_search(&q->b.p, &q->pareto, &mem, &q->b.tmp, &f, &err));
	q->points = f.n;
	berth_arena_free(&mem);
}

void speed_questions(void)
{
	question q = {.whatif = {.search = {.seed = 1, .evaluations = 1000}, .bound = "fast"}};
	char label[64];
	bench_open(&q.b, "bert-large:training=1", "4gpu");
	place(&q);
	snprintf(label, sizeof label, "bert-large:training=1 (%d)", q.b.p.n_ops);
	speed_row("explain", label, bench_seconds(explain_one, &q) * 1e3, "ms");
	bench_close(&q.b);
	bench_open(&q.b, "resnet50", "cpu+2gpu");
	place(&q);
	MUST(berth_method_find("anneal", &q.whatif.method, &err));
	speed_row("whatif_20", "resnet50 on cpu+2gpu", bench_seconds(ask_all, &q), "s");
	q.pareto = (berth_pareto_cfg){
		.objective = {berth_objective_of(BERTH_LATENCY), berth_objective_of(BERTH_ENERGY)},
		.most_points = 64,
		.search = {.seed = 1, .evaluations = 10000},
		.method = berth_method_default()};
	speed_row("pareto", "resnet50 on cpu+2gpu", bench_seconds(find_front, &q), "s");
	speed_row("pareto_points", "resnet50 on cpu+2gpu", q.points, "points");
	bench_close(&q.b);
}
