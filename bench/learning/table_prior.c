/* What is the learned prior worth? The same searches, once from the policy that comes with berth and once
 * from a uniform one: evaluations until the best so far is within 2 % of the best known. A search is given
 * that value as its bound, so it ends when it is there. */
#include "anneal.h"
#include "cooling.h"
#include "instances_of_learning.h"
#include "learner.h"
#include "portfolio.h"
#include "screen.h"

enum { BEST_EVALUATIONS = 10000 };
#define NEAR 1.02

/* Model families that the policy was not trained on, as in table_zero_shot.c (random graphs: other seeds);
 * small, as uniform priors need long. */
static const bench_pair instances[] = {
	{"inception-v3:batch=16", "cpu+2gpu"}, {"inception-v3:batch=8", "hetero-cluster"},
	{"gnmt:seq=2", "hetero-cluster"}, {"transformer:batch=8", "random:seed=102:topology=bus"},
	{"moe:layers=2", "cpu+2gpu"}, {"llama-layer:tiles=2", "4gpu"},
	{"random:ops=150:seed=78:ccr=1", "random:seed=103:devices=6:topology=hosts"},
	{"random:ops=200:seed=77", "hetero-cluster"},
};

/* Weights of the sequential policy: as shipped; fresh ones that decode like HEFT; fresh ones, near uniform.
 */
typedef enum prior { PRIOR_LEARNED, PRIOR_HEFT, PRIOR_UNIFORM, N_PRIORS } prior;

/* What follows the draws. */
typedef enum search_kind { SEARCH_DRAWS, SEARCH_PPO, SEARCH_ANNEAL, N_SEARCHES } search_kind;
static const char *const kind_name[N_SEARCHES] = {"draws alone", "draws with PPO",
                                                  "64 evaluations of draws, then annealing"};

static void anneal_from(berth_search *s, berth_arena *tmp)
{
	berth_annealer *a;
	berth_heats heats;
	berth_heats_begin(&heats, berth_walk_style_of(s)->first_temperature);
	MUST(berth_annealer_new(s, 0, false, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), tmp, &a,
	                        &err));
	for (berth_score before = s->best;
	     berth_anneal_cool(a, (berth_keyed){.op_dev = s->best_dev}, berth_heats_temperature(&heats),
	                       berth_heats_steps(&heats));
	     before = s->best)
		berth_heats_tell(&heats, before, s->best);
}

/* Evaluations until the value `enough` is reached; INFINITY where `most` were not. */
static double search_from(const subject *x, const berth_policy_file *f, prior which, search_kind kind,
                          uint64_t seed, double enough, int64_t most)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search s, *all = &s;
	const berth_search_cfg cfg = {.seed = seed, .evaluations = most};
	berth_learner_cfg how = f->cfg;
	berth_learner l;
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_INIT);
	nn_real *w = params_of(f, &mem);
	int64_t left;
	how.epochs = kind == SEARCH_PPO ? how.epochs : 0;
	if (which != PRIOR_LEARNED)
		policy_init(&f->dims, w, &rng);
	if (which == PRIOR_HEFT)
		berth_decode_prior(&f->dims, w);
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_learner_new(&how, seed, w, &all, 1, &mem, &tmp, &l, &err));
	MUST(berth_single_reference(&s, &l.pair[0].reference, &tmp, &err));
	s.evaluations = 0; /* the reference is no part of the search */
	s.bound = enough;
	MUST(berth_learner_offer_greedy(&l, 0, &tmp, &err));
	while ((kind != SEARCH_ANNEAL || s.evaluations < 64) &&
	       (left = berth_search_budget_left(&s, how.batch)) > 0)
		MUST(berth_learner_step(&l, 0, (int32_t)left, NULL, &err));
	if (kind == SEARCH_ANNEAL)
		anneal_from(&s, &tmp);
	return bench_found(&s) <= enough ? (double)s.evaluations : INFINITY;
}

static double best_known(const subject *x)
{
	double best = INFINITY;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		const berth_search_cfg cfg = {.seed = seed, .evaluations = BEST_EVALUATIONS};
		best = fmin(best, bench_value(x, bench_method("berth"), &cfg));
		best = fmin(best, bench_value(x, bench_method("anneal"), &cfg));
	}
	return best;
}

static void print_instance(int i, const berth_policy_file *f, const bench_options *o,
                           bench_mean mean[N_SEARCHES][N_PRIORS], int reached[N_SEARCHES][N_PRIORS])
{
	const double most = (double)o->evaluations;
	BENCH_OPEN(x, instances[i].graph, instances[i].system);
	double enough = NEAR * best_known(&x);
	for (int kind = 0; kind < N_SEARCHES; kind++) {
		double n[N_PRIORS], v[MAX_SEEDS];
		printf("| %s on %s, %s", instances[i].graph, instances[i].system, kind_name[kind]);
		for (int which = 0; which < N_PRIORS; which++) {
			for (int k = 0; k < o->seeds; k++)
				v[k] = search_from(&x, f, (prior)which, (search_kind)kind, (uint64_t)k + 1,
				                   enough, o->evaluations);
			n[which] = bench_median(v, o->seeds);
			printf(isfinite(n[which]) ? " | %.0f" : " | > %.0f", fmin(n[which], most));
			reached[kind][which] += isfinite(n[which]);
			bench_add(&mean[kind][which], fmin(n[which], most));
		}
		if (isfinite(n[PRIOR_LEARNED]))
			printf(" | %s%.3f |\n", isfinite(n[PRIOR_UNIFORM]) ? "" : "< ",
			       n[PRIOR_LEARNED] / fmin(n[PRIOR_UNIFORM], most));
		else
			printf(" | - |\n");
	}
}

void table_prior(const bench_options *o)
{
	bench_mean mean[N_SEARCHES][N_PRIORS] = {{{0}}};
	int reached[N_SEARCHES][N_PRIORS] = {{0}};
	BERTH_ARENA(mem);
	berth_policy_file f;
	MUST(berth_policy_builtin(&mem, &f, &err));
	printf("\n## What the learned prior is worth\n\nEvaluations until a search is within 2 %% of the "
	       "best known value (of `berth` and `anneal`, 2 seeds of %d evaluations each), at most %lld, "
	       "median of\n%d seeds. None starts from a heuristic. The prior is the distribution that the "
	       "first draws come from, along a list schedule: the policy that comes\nwith berth; untrained "
	       "weights that decode like HEFT; untrained weights, near uniform.\n\n",
	       BEST_EVALUATIONS, (long long)o->evaluations, o->seeds);
	bench_head("instance, search|learned|like HEFT|uniform|learned / uniform");
	for (int i = 0; i < BENCH_N(instances); i++)
		print_instance(i, &f, o, mean, reached);
	printf("\n");
	for (int kind = 0; kind < N_SEARCHES; kind++) {
		double learned = bench_mean_of(mean[kind][PRIOR_LEARNED]);
		printf("%s: reached on %d, %d and %d of %d instances; geometric mean of learned / uniform "
		       "%.3f, of learned / like HEFT %.3f (the limit where it was not reached).\n",
		       kind_name[kind],
		       reached[kind][0], reached[kind][1], reached[kind][2], BENCH_N(instances),
		       learned / bench_mean_of(mean[kind][PRIOR_UNIFORM]),
		       learned / bench_mean_of(mean[kind][PRIOR_HEFT]));
	}
}
