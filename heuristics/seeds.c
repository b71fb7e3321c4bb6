/* The table of methods, and the seeds among them. The nanoseconds are those of an ordinary core, measured on
 * random graphs of 1,000 to 20,000 operators on six devices, and rounded up. */
#include "seeds.h"

#include "cost_model.h"
#include "loads.h"
#include "registry.h"

#define ENTRY(name) &berth_method_##name,

const berth_method *const berth_heuristics[] = {BERTH_HEURISTICS(ENTRY)};
const int32_t berth_n_heuristics = (int32_t)(sizeof berth_heuristics / sizeof *berth_heuristics);

#define SHARE 0.1           /* of the time */
/* In so short a time annealing gains more than dear seeds do, which it would have no time to go on from. */
#define SHORT_S 0.2
#define SHORT_NS (BERTH_SURE_NS / 4) /* of dear seeds, then */
#define FAR_NS (BERTH_SURE_NS / 2) /* of far seeds at most */
#define LIST_NS 60.0        /* of a list schedule, for each operator, edge and device */
#define TABLE_ENTRY_NS 2.0  /* of PEFT's table, for each edge and pair of devices */
#define PBQP_ENTRY_NS 100.0 /* of a round, for each entry of the matrices of edges and rivals */
#define PARTITION_NS 15000.0 /* of a partition, with the balances that are tried, for each operator */
#define PBQP_LEAST_EDGES 2  /* of an operator: what has few edges runs side by side and has rivals */

static double single_ns(const berth_problem *p)
{
	return berth_search_evaluation_ns(p) * p->n_devs;
}

double berth_seed_list_ns(const berth_problem *p)
{
	return LIST_NS * ((double)p->n_ops + p->g->n_edges) * p->n_devs + 2 * berth_search_evaluation_ns(p);
}

double berth_seed_table_ns(const berth_problem *p)
{
	return TABLE_ENTRY_NS * p->g->n_edges * p->n_devs * p->n_devs;
}

double berth_seed_priced_ahead_ns(const berth_problem *p)
{
	return berth_seed_table_ns(p) + berth_seed_list_ns(p);
}

double berth_seed_pbqp_round_ns(const berth_problem *p)
{
	double edges = fmax(p->g->n_edges, (double)PBQP_LEAST_EDGES * p->n_ops);
	return PBQP_ENTRY_NS * edges * p->n_devs * p->n_devs + berth_search_evaluation_ns(p);
}

/* The plain problem, behind a list schedule. */
double berth_seed_pbqp_ns(const berth_problem *p)
{
	return berth_seed_list_ns(p) + berth_seed_pbqp_round_ns(p);
}

const berth_seed berth_seeds[] = {{&berth_method_single, single_ns},
                                  {&berth_method_least_sum, berth_search_evaluation_ns},
                                  {&berth_method_heft, berth_seed_list_ns},
                                  {&berth_method_heft_priced, berth_seed_list_ns},
                                  {&berth_method_peft_priced, berth_seed_priced_ahead_ns},
                                  {&berth_method_peft_contended, berth_seed_priced_ahead_ns},
                                  {&berth_method_ceft_cpop, berth_seed_list_ns},
                                  {&berth_method_pbqp, berth_seed_pbqp_ns},
                                  {&berth_method_ceft_pbqp, berth_seed_pbqp_ns}};
const int32_t berth_n_seeds = (int32_t)(sizeof berth_seeds / sizeof *berth_seeds);

static double scotch_ns(const berth_problem *p)
{
	return PARTITION_NS * p->n_ops;
}

static double metis_ns(const berth_problem *p)
{
	return 2 * PARTITION_NS * p->n_ops;
}

/* It counts its own work, search by search. */
static double split_ns(const berth_problem *p)
{
	return berth_search_evaluation_ns(p);
}

/* The first BERTH_PARTITIONS are partitions, the rest communities. */
static const berth_seed far_seeds[] = {
	{&berth_method_scotch, scotch_ns}, {&berth_method_metis, metis_ns}, {&berth_method_split, split_ns}};

static bool is_little_time(const berth_search *s)
{
	return berth_search_timed(s) && fmax(s->cfg.time_s, s->cfg.cpu_s) < SHORT_S;
}

/* What the dear ones, PBQP's and the far seeds, may work at once, however little time there is. */
static double dear_ns(const berth_search *s)
{
	return is_little_time(s) ? SHORT_NS : BERTH_SURE_NS;
}

void berth_seeds_begin(berth_search *s)
{
	double most_ns = SHARE * 1e9 * fmax(s->cfg.time_s, s->cfg.cpu_s);
	if (berth_search_timed(s))
		s->may_work_ns = s->worked_ns + fmax(most_ns, BERTH_SURE_NS);
	s->may_dear_ns = is_little_time(s) ? s->worked_ns + SHORT_NS : s->may_work_ns;
}

void berth_seeds_begin_short(berth_search *s)
{
	s->may_work_ns = s->worked_ns + SHARE * 1e9 * fmax(s->cfg.time_s, s->cfg.cpu_s);
}

void berth_seeds_end(berth_search *s)
{
	s->may_work_ns = INFINITY;
	s->seeded = s->evaluations;
}

/* What a budget cuts it cuts without a time, too. */
static void leave_out(berth_search *s, const char *name)
{
	s->cut = false;
	if (berth_search_timed(s) && s->may_evaluate == INT64_MAX)
		berth_search_leave_out(s, name);
}

bool berth_seeds_left(berth_search *s, double ns)
{
	double before = s->worked_ns;
	bool left = berth_search_afford(s, ns);
	s->worked_ns = before;
	return left;
}

bool berth_seeds_needless(const berth_search *s)
{
	return s->p->s->cost_model->sums_times && berth_search_proven(s);
}

bool berth_seeds_may_run(berth_search *s, int32_t i)
{
	if (berth_seeds[i].method == &berth_method_least_sum && !s->p->s->cost_model->sums_times)
		return false;
	if (i > 0 && berth_seeds_needless(s))
		return false;
	if (i == 0)
		s->worked_ns += berth_seeds[0].work_ns(s->p);
	if (berth_seeds[i].work_ns == berth_seed_pbqp_ns)
		s->may_work_ns = s->may_dear_ns;
	if (i == 0 || berth_seeds_left(s, berth_seeds[i].work_ns(s->p)))
		return true;
	leave_out(s, berth_seeds[i].method->name);
	return false;
}

void berth_seeds_cut(berth_search *s, const char *name)
{
	if (s->cut)
		leave_out(s, name);
}

void berth_seeds_have_run(berth_search *s, int32_t i)
{
	berth_seeds_cut(s, berth_seeds[i].method->name);
}

berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_seeds_begin(s);
	for (int32_t i = 0; i < berth_n_seeds; i++) {
		if (!berth_seeds_may_run(s, i))
			continue;
		BERTH_TRY(berth_method_run(berth_seeds[i].method, s, tmp, err));
		berth_seeds_have_run(s, i);
	}
	berth_seeds_end(s);
	return BERTH_OK;
}

/* A far seed, run apart in sub. One that knows no other objective than the latency is asked for that one
 * where energy is all that comes to it. *found: it suits the objective and the machine; *asked_for: the
 * objective is that of s. */
static berth_status run_apart(berth_search *s, const berth_method *method, berth_search *sub, bool *found,
                              bool *asked_for, berth_arena *tmp, berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_err why = {.code = BERTH_OK};
	berth_status st = berth_method_run_apart(method, s, &s->cfg.objective, sub, tmp, &why);
	*asked_for = st == BERTH_OK;
	if (st == BERTH_EUNSUPPORTED && berth_prices_known(&s->cfg.objective))
		st = berth_method_run_apart(method, s, &latency, sub, tmp, &why);
	*found = st == BERTH_OK;
	return *found || st == BERTH_EUNSUPPORTED ? BERTH_OK : berth_fail(err, st, "%s", why.msg);
}

/* Where far seeds go: offered to the search, kept, or both. */
typedef struct far_use {
	bool offer;
	int32_t **kept; /* [seeds], in mem; NULL: none is kept */
	berth_arena *mem;
} far_use;

static berth_status run_far(berth_search *s, int32_t i, const berth_seed *seed, const far_use *use,
                            berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	bool found, asked_for;
	size_t bytes = (size_t)s->p->n_ops * sizeof *sub.best_dev;
	BERTH_TRY(run_apart(s, seed->method, &sub, &found, &asked_for, tmp, err));
	if (!found)
		return BERTH_OK;
	s->evaluations += sub.evaluations;
	if (use->offer && asked_for)
		berth_search_keep(s, sub.best, sub.best_dev, berth_search_order(&sub));
	else if (use->offer && berth_score_feasible(sub.best))
		berth_search_offer(s, sub.best_dev, berth_search_order(&sub));
	if (!use->kept)
		return BERTH_OK;
	BERTH_TRY_NEW(use->mem, s->p->n_ops, err, use->kept[i]);
	if (bytes)
		memcpy(use->kept[i], sub.best_dev, bytes);
	return BERTH_OK;
}

static berth_status run_all_far(berth_search *s, const berth_seed *seed, int32_t n, const far_use *use,
                                berth_arena *tmp, berth_err *err)
{
	double worked_ns = s->worked_ns, may_work_ns = s->may_work_ns;
	bool cut = s->cut;
	berth_status st = BERTH_OK;
	s->worked_ns = 0;
	s->may_work_ns = fmin(FAR_NS, dear_ns(s));
	for (int32_t i = 0; i < n && st == BERTH_OK && !berth_seeds_needless(s); i++) {
		BERTH_SCRATCH(tmp);
		if (berth_search_afford(s, seed[i].work_ns(s->p)))
			st = run_far(s, i, &seed[i], use, tmp, err);
	}
	s->worked_ns += worked_ns;
	s->may_work_ns = may_work_ns;
	s->cut = cut;
	return st;
}

/* Those of a short search, the most worth first; where loads alone count, last. A short time has one of them:
 * the others take longer than what they are counted as, and annealing gains more. */
static const berth_seed short_seeds[] = {{&berth_method_peft_contended, berth_seed_priced_ahead_ns},
                                         {&berth_method_split, split_ns},
                                         {&berth_method_pbqp, berth_seed_pbqp_ns},
                                         {&berth_method_scotch, scotch_ns}};

enum { N_SHORT = sizeof short_seeds / sizeof *short_seeds, FEW_FROM = 64, FEW_BELOW = 300, SHORT_SHARE = 8 };

bool berth_seeds_few(const berth_search *s)
{
	return !is_little_time(s) && s->cfg.evaluations < FEW_BELOW &&
	       s->cfg.evaluations - s->evaluations >= FEW_FROM;
}

bool berth_seeds_short(const berth_search *s)
{
	return berth_seed_priced_ahead_ns(s->p) < SHORT_NS && (is_little_time(s) || berth_seeds_few(s));
}

berth_status berth_seeds_run_short(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const far_use use = {.offer = true};
	const bool few = berth_seeds_few(s);
	int64_t half = s->cfg.evaluations / 2, own = s->cfg.evaluations / SHORT_SHARE;
	berth_status st = berth_method_run(berth_seeds[0].method, s, tmp, err);
	for (int32_t i = 0; i < N_SHORT && st == BERTH_OK; i++) {
		BERTH_SCRATCH(tmp);
		int32_t k = berth_prices_known(&s->cfg.objective) ? i : N_SHORT - 1 - i;
		s->may_evaluate = !few                         ? INT64_MAX
		                  : s->evaluations + own < half ? s->evaluations + own
		                                                : half;
		s->may_work_ns = few ? s->worked_ns + FAR_NS : i == 0 ? s->worked_ns + SHORT_NS : 0;
		if (berth_search_afford(s, short_seeds[k].work_ns(s->p)))
			st = run_far(s, k, &short_seeds[k], &use, tmp, err);
		berth_seeds_cut(s, short_seeds[k].method->name);
	}
	s->may_evaluate = INT64_MAX;
	berth_seeds_end(s);
	return st;
}

static berth_status run_partitions(berth_search *s, bool offer, int32_t *partition[BERTH_PARTITIONS],
                                   berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const far_use use = {offer, partition, mem};
	for (int32_t i = 0; i < BERTH_PARTITIONS; i++)
		partition[i] = NULL;
	return run_all_far(s, far_seeds, BERTH_PARTITIONS, &use, tmp, err);
}

berth_status berth_seeds_partitions(berth_search *s, int32_t *partition[BERTH_PARTITIONS], berth_arena *mem,
                                    berth_arena *tmp, berth_err *err)
{
	return run_partitions(s, true, partition, mem, tmp, err);
}

berth_status berth_seeds_find_partitions(berth_search *s, int32_t *partition[BERTH_PARTITIONS],
                                         berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	return run_partitions(s, false, partition, mem, tmp, err);
}

berth_status berth_seeds_communities(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const int32_t n = (int32_t)(sizeof far_seeds / sizeof *far_seeds);
	const far_use use = {.offer = true};
	s->may_evaluate = s->cfg.evaluations;
	berth_status st =
		run_all_far(s, far_seeds + BERTH_PARTITIONS, n - BERTH_PARTITIONS, &use, tmp, err);
	s->may_evaluate = INT64_MAX;
	return st;
}
