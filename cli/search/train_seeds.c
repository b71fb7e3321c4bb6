/* berth train --seeds: several trainings, what each came to, their spread, and the best. */
#include "cmd_train.h"

#include "methods.h"
#include "print.h"
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "statistics.h"
#include "tell.h"

/* Of what was found with n seeds. */
typedef struct spread {
	double median, least, most;
} spread;

#define SPREAD(K, IF) \
	K(NUMBER_OR_NULL, "median", "", "of seeds that ended; null: none did, or somewhere nothing fits", \
	  s->median) \
	K(NUMBER_OR_NULL, "least", "", "", s->least) \
	K(NUMBER_OR_NULL, "most", "", "", s->most)
static RESULT_KIND(spread_kind, "Spread of seeds", "", SPREAD);

#define SEED(K, IF) \
	K(INT, "seed", "", "", (int64_t)s->seed) \
	K(TEXT, "policy", "", "the file", s->policy) \
	K(INT, "evaluations", "", "", s->evaluations) \
	K(TEXT, "stopped", "", "as in [train](#train)", s->stopped) \
	K(NUMBER_OR_NULL, "pass", "", \
	  "one pass of the policy over the best heuristic, geometric mean of pairs", s->pass_ratio) \
	K(NUMBER_OR_NULL, "found", "", "the best that training found, the same", s->found_ratio)
static RESULT_KIND(seed_kind, "", "", SEED);

#define SEED_PAIR(K, IF) \
	CLI_PAIR(K, b->graph, b->system) \
	K(NUMBER_OR_NULL, "heuristic", "of the objective", "of the best heuristic", b->portfolio_value) \
	K(OBJECT(spread_kind), "pass", "", "of the objective, over the seeds", \
	  spread_result(c, x, pass_of, i)) \
	K(OBJECT(spread_kind), "found", "", "", spread_result(c, x, found_of, i))
static RESULT_KIND(seed_pair_kind, "", "", SEED_PAIR);

#define SEEDS(K, IF) \
	K(TEXT_OR_NULL, "best", "", "the policy with the least `pass`", best ? best->policy : NULL) \
	K(OBJECT(spread_kind), "pass", "", "of the seeds", spread_result(c, x, pass_of, -1)) \
	K(OBJECT(spread_kind), "found", "", "", spread_result(c, x, found_of, -1)) \
	K(LIST(seed_kind), "seeds", "", "", seeds) \
	K(LIST(seed_pair_kind), "pairs", "", \
	  "those of all seeds: `--tight` and `--fine-tune` draw others with each", pairs)
RESULT_KIND(train_seeds_document, "Train with several seeds", "Of `train --seeds`.", SEEDS);

/* Of its pair i; -1: of all. */
static double pass_of(const train_seed *x, int32_t i)
{
	return i < 0 ? x->pass_ratio : x->pass[i];
}

static double found_of(const train_seed *x, int32_t i)
{
	return i < 0 ? x->found_ratio : x->found[i];
}

/* Where among the first n of its pairs it has pair i; -1: nowhere. */
static int32_t place_of(const train_seed *x, int32_t n, int32_t i)
{
	while (--n >= 0 && x->pair[n] != i)
		;
	return n;
}

/* Of the seeds that ended, and have pair i; -1: of all pairs. */
static spread spread_over(cli *c, const train_seeds *x, double (*of)(const train_seed *, int32_t), int32_t i)
{
	double *value;
	int32_t n = 0;
	spread s = {NAN, INFINITY, -INFINITY};
	if (BERTH_NEW(&c->tmp, value, x->n, NULL) != BERTH_OK)
		return (spread){NAN, NAN, NAN}; /* of out of memory more is told by what follows */
	for (const train_seed *k = x->seed; k < x->seed + x->n; k++) {
		int32_t at = i < 0 ? i : place_of(k, k->n_items, i);
		if (!k->ended || (at < 0 && i >= 0))
			continue;
		value[n] = of(k, at);
		s.least = fmin(s.least, value[n]);
		s.most = fmax(s.most, value[n++]);
	}
	s.median = n ? berth_median(value, n, &c->tmp) : NAN;
	return isnan(s.median) ? (spread){NAN, NAN, NAN} : s;
}

static const berth_result *spread_result(cli *c, const train_seeds *x,
                                         double (*of)(const train_seed *, int32_t), int32_t i)
{
	const spread all = spread_over(c, x, of, i), *s = &all;
	return RESULT_NEW(&c->mem, spread_kind, SPREAD);
}

/* What one pass of the policy makes of a pair. NAN: nothing that fits. */
static berth_status pass_value(const train_run *t, const berth_policy_file *policy, int32_t i,
                               berth_arena *tmp, double *out, berth_err *err)
{
	berth_arena mem = {0};
	const berth_method *method;
	berth_search s;
	berth_search_cfg cfg = {
		.objective = t->cfg.objective, .seed = t->a->budget.seed, .evaluations = 1, .policy = policy};
	BERTH_TRY(berth_method_find("policy", &method, err));
	berth_status st = berth_search_new(t->item[i].p, &cfg, &mem, &s, err);
	if (st == BERTH_OK)
		st = berth_method_run(method, &s, tmp, err);
	*out = st == BERTH_OK && berth_score_feasible(s.best) ? s.best.value : NAN;
	berth_arena_free(&mem);
	return st;
}

static double ratio_over(const train_run *t, const double *value, double *tmp)
{
	for (int32_t i = 0; i < t->n_items; i++)
		tmp[i] = value[i] / t->result.best[i].portfolio_value;
	return berth_geomean(tmp, t->n_items);
}

/* Are pairs of two seeds one? The same words lead to other memory at most. */
static bool is_same(const struct train_pair *a, const struct train_pair *b)
{
	const berth_system *x = a->on, *y = b->on;
	bool same = strcmp(a->best->graph, b->best->graph) == 0 &&
		    strcmp(a->best->system, b->best->system) == 0 &&
		    x->n_devs == y->n_devs && x->n_pools == y->n_pools;
	for (int32_t d = 0; same && d < x->n_devs; d++)
		same = x->dev_memory_bytes[d] == y->dev_memory_bytes[d];
	for (int32_t d = 0; same && d < x->n_pools; d++)
		same = x->pool_bytes[d] == y->pool_bytes[d];
	return same;
}

/* Pair i of a seed among those of all. */
static berth_status add_pair(cli *c, train_seeds *all, train_seed *x, int32_t i, struct train_pair new,
                             berth_err *err)
{
	int32_t k = 0;
	while (k < all->n_pairs && (!is_same(&all->pair[k], &new) || place_of(x, i, k) >= 0))
		k++;
	x->pair[i] = k;
	if (k < all->n_pairs)
		return BERTH_OK;
	return BERTH_PUSH(&c->mem, all->pair, all->n_pairs, &all->cap, err, new);
}

/* Interrupted: what it found is told, its policy is not tried. */
berth_status train_seeds_add(cli *c, const train_run *t, berth_err *err)
{
	train_seeds *all = t->seeds;
	train_seed *x = &all->seed[all->n];
	berth_policy_file policy;
	double *ratio;
	*x = (train_seed){.seed = t->a->budget.seed,
	                  .policy = t->a->out,
	                  .stopped = train_stopped_by(t),
	                  .ended = !t->interrupted,
	                  .n_items = t->n_items,
	                  .evaluations = t->result.evaluations};
	BERTH_TRY_NEW(&c->mem, t->n_items, err, x->pair, x->pass, x->found, ratio);
	if (x->ended)
		BERTH_TRY(cli_policy_read(c, t->a->out, &policy, err));
	for (int32_t i = 0; i < t->n_items; i++) {
		struct train_pair new = {&t->result.best[i], t->item[i].p->s};
		BERTH_TRY(add_pair(c, all, x, i, new, err));
		x->pass[i] = NAN;
		x->found[i] = t->result.best[i].value;
		if (x->ended)
			BERTH_TRY(pass_value(t, &policy, i, &c->tmp, &x->pass[i], err));
	}
	x->pass_ratio = ratio_over(t, x->pass, ratio);
	x->found_ratio = ratio_over(t, x->found, ratio);
	all->n++;
	return BERTH_OK;
}

static void cell_spread(cli *c, cli_table *table, const train_seeds *x, int32_t i,
                        double (*of)(const train_seed *, int32_t))
{
	char median[32], least[32], most[32];
	const berth_objective *o = &x->pair[i].best->objective;
	spread s = spread_over(c, x, of, i);
	cli_cell(table, "%s (%s .. %s)", cli_value(median, o, s.median), cli_value(least, o, s.least),
	         cli_value(most, o, s.most));
}

static berth_status print_seeds(cli *c, const train_seeds *x, const train_seed *best, berth_err *err)
{
	cli_table table;
	char count[32];
	cli_table_init(&table, &c->mem, "rlrlrr");
	cli_table_head(&table,
	               "seed|policy|evaluations|ended by|a pass / best heuristic|found / best heuristic");
	for (const train_seed *s = x->seed; s < x->seed + x->n; s++) {
		cli_cell_int(&table, (int64_t)s->seed);
		cli_cell_text(&table, s->policy);
		cli_cell(&table, "%s", cli_count(count, s->evaluations));
		cli_cell_text(&table, s->stopped);
		cli_cell(&table, isnan(s->pass_ratio) ? "-" : "%.4f", s->pass_ratio);
		cli_cell(&table, isnan(s->found_ratio) ? "-" : "%.4f", s->found_ratio);
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	cli_say("\n");
	cli_table_init(&table, &c->mem, "llrrr");
	cli_table_head(&table, "graph|system|best heuristic|a pass, median (least .. most)|found");
	for (int32_t i = 0; i < x->n_pairs; i++) {
		cli_cell_text(&table, x->pair[i].best->graph);
		cli_cell_text(&table, x->pair[i].best->system);
		cli_cell_value(&table, &x->pair[i].best->objective, x->pair[i].best->portfolio_value);
		cell_spread(c, &table, x, i, pass_of);
		cell_spread(c, &table, x, i, found_of);
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	spread s = spread_over(c, x, pass_of, -1);
	int32_t ended = 0;
	for (int32_t i = 0; i < x->n; i++)
		ended += x->seed[i].ended;
	if (best && !isnan(s.median))
		cli_say("\nover %d seed%s a pass takes %.4f (%.4f .. %.4f) times the best heuristic's; the "
		        "best: %s\n",
		        (int)ended, ended == 1 ? "" : "s", s.median, s.least, s.most, best->policy);
	return BERTH_OK;
}

berth_status train_tell_seeds(cli *c, const train_seeds *x, berth_err *err)
{
	const train_seed *best = NULL;
	berth_result_list *seeds = berth_result_list_new(&c->mem, &seed_kind);
	berth_result_list *pairs = berth_result_list_new(&c->mem, &seed_pair_kind);
	for (const train_seed *s = x->seed; s < x->seed + x->n; s++)
		if (!isnan(s->pass_ratio) && (!best || s->pass_ratio < best->pass_ratio))
			best = s;
	for (int32_t i = 0; i < x->n_pairs; i++) {
		const berth_train_best *b = x->pair[i].best;
		RESULT_ADD(pairs, SEED_PAIR);
	}
	for (int32_t i = 0; i < x->n; i++) {
		const train_seed *s = &x->seed[i];
		RESULT_ADD(seeds, SEED);
	}
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, train_seeds_document, SEEDS), err));
	return cli_in_words(c) ? print_seeds(c, x, best, err) : BERTH_OK;
}
