/* What lists and the policy see of the world, and what the policy's passes and draws are worth, on every
 * fourth pair that is held out. */
#include "coloc.h"
#include "cooling.h"
#include "instances_of_learning.h"
#include "partial.h"
#include "seeds.h"
#include "sim.h"
#include "traffic.h"

enum { STEP = 4, FOUND = 2000, N_PAIRS = (HELD_OUT_PAIRS + STEP - 1) / STEP };

/* ---- schedules ---- */

/* What is measured of a pair, with gaps and without. Lengths by the simulated one. */
enum { BY_STARTS, BY_LIST, REVISED, PEFT, PASSES, POLICY, N_SEEN };
static const char *const seen_name[N_SEEN] = {
	"length of a search's placement, listed by its starts, by the simulated one",
	"the same, listed by ranks",
	"one chain of passes that begins at a search's placement, by it",
	"`peft-contended`, by that with gaps",
	"a chain of passes from nothing, by that with gaps",
	"`policy`, by that with gaps"};

/* How long op_dev looks, put in this order. */
static double length_in_order(subject *x, const int32_t *op_dev, const int32_t *order)
{
	BERTH_ARENA(mem);
	berth_partial *part;
	berth_traffic w;
	MUST(berth_partial_new(&x->p, &mem, &part, &err));
	MUST(berth_traffic_new(&x->p, &mem, &w, &err));
	berth_traffic_reset(&w);
	for (int32_t k = 0; k < x->p.n_ops; k++) {
		int32_t op = order[k], dev = op_dev[op];
		int64_t at =
			berth_partial_start(part, op, dev, berth_traffic_look(&w, op, dev).ready_ns, true);
		berth_traffic_note(&w, op, dev, berth_partial_place(part, op, dev, at));
	}
	return (double)berth_partial_length_ns(part);
}

/* A chain of passes from op_dev, or from nothing (NULL): its value, in a search of its own. */
static double passes(subject *x, const int32_t *op_dev)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_proposals p;
	berth_search s;
	open_proposals(x, BERTH_LATENCY, &mem, &tmp, &s, &p);
	MUST(op_dev ? berth_proposals_offer_revised(&p, 1, &op_dev, &tmp, &err)
	            : berth_proposals_offer_greedy(&p, &tmp, &err));
	return bench_found(&s);
}

/* All of a pair in one world; v [N_SEEN]. found: what a search came to. */
static void look(subject *x, berth_search *found, double *v)
{
	berth_sim_result r;
	int32_t *order = bench_new(&x->tmp, (size_t)x->p.n_ops, sizeof *order);
	berth_eval_result(&found->eval[0], found->best_dev, berth_search_order(found), &r);
	berth_sim_start_order(found->eval[0].sim, order);
	v[BY_STARTS] = length_in_order(x, found->best_dev, order) / (double)r.latency_ns;
	v[BY_LIST] = length_in_order(x, found->best_dev, x->p.prio_op) / (double)r.latency_ns;
	v[REVISED] = passes(x, found->best_dev) / found->best.value;
	v[PEFT] = bench_value_of(x, "peft-contended", BERTH_LATENCY, 0);
	v[PASSES] = passes(x, NULL);
	v[POLICY] = bench_value_of(x, "policy", BERTH_LATENCY, 0);
}

/* ---- passes and draws ---- */

enum { CHAIN, ALL, DRAWS_16, DRAWS_64, FEW, START, N_ANSWERS, FEW_EVALUATIONS = 100 };
static const struct {
	const char *name, *method;
	int64_t evaluations;
	int draws;
} answers[N_ANSWERS] = {{"a chain of passes from nothing", NULL, 0, 0},
                        {"`policy`", "policy", 0, 0},
                        {"`policy` and 16 draws", "policy", 0, 16},
                        {"`policy` and 64 draws", "policy", 0, 64},
                        {"`berth`, 100 evaluations", "berth", FEW_EVALUATIONS, 0},
                        {"`berth`, none asked", "berth", 0, 0}};

typedef struct answer {
	double value[N_PAIRS], annealed[N_PAIRS], as_often[N_PAIRS], seconds;
	int64_t evaluations, steps; /* of all pairs; of annealing that takes as much CPU time */
	int drawn, alike;           /* draws, and those that are placements drawn before */
} answer;

/* Of few evaluations it is one run, each worth a choice among many moves, as in `berth` (method_berth.c). */
static berth_status annealed_peft(berth_search *s, berth_arena *tmp, berth_err *err)
{
	enum { CANDIDATES = 100 };
	berth_cooling c;
	BERTH_TRY(berth_method_run(bench_method("peft-contended"), s, tmp, err));
	if (!berth_can_move(s->p))
		return BERTH_OK;
	s->candidates = berth_seeds_few(s) ? CANDIDATES : 0;
	BERTH_TRY(berth_cooling_new(s, true, s->mem, &c, err));
	if (berth_seeds_few(s))
		c.heats.n_steps = s->cfg.evaluations - s->evaluations;
	return berth_cooling_finish(&c, tmp, err);
}

const berth_method peft_annealing = {"peft-contended, annealed", "", true, annealed_peft, NULL, NULL};

/* n draws more, one by one: placements with their orders. */
static void draw(berth_proposals *p, berth_search *s, int n, answer *out)
{
	const size_t ops = (size_t)s->p->n_ops;
	int32_t *seen = bench_new(s->mem, 2 * (size_t)n * ops, sizeof *seen);
	for (int i = 0; i < n; i++) {
		int32_t *own = seen + 2 * (size_t)i * ops;
		bool known = false;
		berth_proposals_offer_draws(p, 2);
		BERTH_COPY(own, p->batch.op_devs, ops);
		BERTH_COPY(own + ops, p->batch.orders, ops);
		for (int k = 0; k < i && !known; k++)
			known = memcmp(seen + 2 * (size_t)k * ops, own, 2 * ops * sizeof *seen) == 0;
		out->alike += known;
	}
	out->drawn += n;
}

/* Answer k of the pair, and what annealing comes to in as much CPU time. */
static void give(const subject *x, int k, int at, answer *out)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search_cfg cfg = {.seed = 1};
	berth_policy_file f;
	berth_proposals p;
	berth_search s, same;
	cfg.evaluations = answers[k].evaluations ? answers[k].evaluations : k == START ? 0 : BERTH_UNLIMITED;
	const double from = bench_thread_seconds();
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	if (answers[k].method)
		MUST(berth_method_run(bench_method(answers[k].method), &s, &tmp, &err));
	if ((!answers[k].method || answers[k].draws) && berth_can_move(&x->p)) {
		MUST(berth_policy_builtin(&mem, &f, &err));
		MUST(berth_proposals_new(&f, &s, &mem, &tmp, &p, &err));
		if (!answers[k].method)
			MUST(berth_proposals_offer_greedy(&p, &tmp, &err));
		draw(&p, &s, answers[k].draws, out);
	}
	cfg.cpu_s = bench_thread_seconds() - from;
	cfg.evaluations = BERTH_UNLIMITED;
	out->value[at] = bench_found(&s);
	out->seconds += cfg.cpu_s;
	out->evaluations += s.evaluations;
	MUST(berth_search_new(&x->p, &cfg, &mem, &same, &err));
	MUST(berth_method_run(&peft_annealing, &same, &tmp, &err));
	out->annealed[at] = bench_found(&same);
	out->steps += same.evaluations;
	cfg = (berth_search_cfg){.seed = 1, .evaluations = s.evaluations};
	out->as_often[at] = bench_value(x, &peft_annealing, &cfg);
}

/* ---- the page ---- */

typedef struct page {
	double seen[N_SEEN][2][N_PAIRS]; /* with gaps, and without */
	answer answer[N_ANSWERS];
	double best[N_PAIRS];
	int n;
} page;

static void add_pair(page *w, const bench_pair pair, int64_t evaluations)
{
	const berth_search_cfg cfg = {.seed = 1, .evaluations = FOUND};
	double v[2][N_SEEN];
	berth_search found;
	BENCH_OPEN(x, pair.graph, pair.system);
	if (berth_problem_feasible(&x.p, NULL) != BERTH_OK)
		return;
	MUST(berth_search_new(&x.p, &cfg, &x.mem, &found, &err));
	MUST(berth_method_run(bench_method("anneal"), &found, &x.tmp, &err));
	if (!isfinite(bench_found(&found)))
		return;
	for (int queue = 0; queue < 2; queue++) {
		x.p.lists_queue = queue;
		look(&x, &found, v[queue]);
	}
	x.p.lists_queue = false;
	for (int k = 0; k < N_SEEN; k++)
		for (int queue = 0; queue < 2; queue++)
			w->seen[k][queue][w->n] = k < PEFT ? v[queue][k] : v[queue][k] / v[0][k];
	double best = bench_value_of(&x, "berth", BERTH_LATENCY, evaluations);
	for (int k = 0; k < N_ANSWERS; k++) {
		answer *a = &w->answer[k];
		give(&x, k, w->n, a);
		best = fmin(best, fmin(a->value[w->n], fmin(a->annealed[w->n], a->as_often[w->n])));
	}
	w->best[w->n++] = best;
}

static double by_best(const page *w, const double *value, double *worst)
{
	bench_mean m = {0};
	*worst = 0;
	for (int i = 0; i < w->n; i++) {
		double ratio = fmin(value[i] / w->best[i], 100); /* what does not fit */
		bench_add(&m, ratio);
		*worst = fmax(*worst, ratio);
	}
	return bench_mean_of(m);
}

static double mean_of(const double *ratio, int n)
{
	bench_mean m = {0};
	for (int i = 0; i < n; i++)
		bench_add(&m, ratio[i]);
	return bench_mean_of(m);
}

static void print_seen(const page *w)
{
	printf("\n### What lists and the policy see\n\nOn every fourth of the pairs above, %d: with "
	       "transfers that "
	       "fill the gaps of channels, and with transfers that queue in the order of the list. The "
	       "median, "
	       "and the geometric mean. The search is annealing with %d evaluations.\n\n",
	       w->n, FOUND);
	bench_head("|gaps are filled, median|mean|transfers queue, median|mean");
	for (int k = 0; k < N_SEEN; k++)
		printf("| %s | %.3f | %.3f | %.3f | %.3f |\n", seen_name[k],
		       bench_median(w->seen[k][0], w->n), mean_of(w->seen[k][0], w->n),
		       bench_median(w->seen[k][1], w->n), mean_of(w->seen[k][1], w->n));
}

static void print_answers(const page *w)
{
	printf("\n### What passes and draws are worth\n\nOn the same pairs. Values by the best known "
	       "(geometric "
	       "mean). Annealing begins at `peft-contended`, and has as many "
	       "evaluations, or as much CPU time. Alike: draws that came up before, of all.\n\n");
	bench_head("|value|its worst|evaluations|CPU ms|annealing, as many|annealing, its CPU "
	           "time|evaluations of "
	           "that|alike");
	for (int k = 0; k < N_ANSWERS; k++) {
		const answer *a = &w->answer[k];
		double worst, other, value = by_best(w, a->value, &worst);
		printf("| %s | %.4f | %.3f | %.0f | %.1f | %.4f | %.4f | %.0f |", answers[k].name, value,
		       worst, (double)a->evaluations / w->n, 1e3 * a->seconds / w->n,
		       by_best(w, a->as_often, &other), by_best(w, a->annealed, &other),
		       (double)a->steps / w->n);
		if (a->drawn)
			printf(" %d of %d |\n", a->alike, a->drawn);
		else
			printf(" |\n");
	}
}

void table_passes(const bench_options *o)
{
	static page w;
	for (int i = 0; i < HELD_OUT_PAIRS; i += STEP)
		add_pair(&w, held_out(i), o->evaluations);
	print_seen(&w);
	print_answers(&w);
}
