/* What is the learned prior worth? The same searches, once from the policy that comes with berth and once
 * from a uniform one: evaluations until the best so far is within 2 % of the best known. A search is given
 * that value as its bound, so it ends when it is there. */
#include "anneal.h"
#include "cooling.h"
#include "instances_of_learning.h"
#include "learner.h"
#include "policy_file.h"
#include "portfolio.h"
#include "screen.h"

#include <math.h>
#include <string.h>

enum { BEST_EVALUATIONS = 10000 };
#define NEAR 1.02

/* Model families that the policy was not trained on, as in table_zero_shot.c (random graphs: other seeds);
 * small, as uniform priors need long. */
static const bench_pair instances[] = {
	{"inception-v3:batch=16", "cpu+2gpu"}, {"inception-v3:batch=8", "hetero-cluster"},
	{"gnmt:seq=2", "hetero-cluster"},
	{"transformer:batch=8", "random:seed=102:topology=bus"}, {"moe:layers=2", "cpu+2gpu"},
	{"llama-layer:tiles=2", "4gpu"},
	{"random:ops=150:seed=78:ccr=1", "random:seed=103:devices=6:topology=hosts"},
	{"random:ops=200:seed=77", "hetero-cluster"},
};
enum { N_INSTANCES = sizeof instances / sizeof *instances };

typedef enum prior { PRIOR_LEARNED, PRIOR_HEFT, PRIOR_UNIFORM, N_PRIORS } prior;

/* Weights of the sequential policy: as shipped; fresh ones that decode like HEFT; fresh ones, near uniform.
 */
static void fill_weights(const berth_policy_file *f, prior which, uint64_t seed, nn_real *w)
{
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_INIT);
	if (which == PRIOR_LEARNED) {
		memcpy(w, f->params, policy_param_count(&f->dims) * sizeof *w);
		return;
	}
	policy_init(&f->dims, w, &rng);
	if (which == PRIOR_HEFT)
		berth_decode_prior(&f->dims, w);
}

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
	berth_arena mem = {0}, tmp = {0};
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = most};
	berth_learner_cfg how = f->cfg;
	berth_learner l;
	nn_real *w;
	int64_t left;
	how.epochs = kind == SEARCH_PPO ? how.epochs : 0;
	MUST(BERTH_NEW(&mem, w, policy_param_count(&f->dims), &err));
	fill_weights(f, which, seed, w);
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
	double n = berth_score_feasible(s.best) && s.best.value <= enough ? (double)s.evaluations : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return n;
}

static double best_known(const subject *x)
{
	double best = INFINITY;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		berth_search_cfg cfg = {.seed = seed, .evaluations = BEST_EVALUATIONS};
		best = fmin(best, fmin(bench_value_of(x, "berth", &cfg), bench_value_of(x, "anneal", &cfg)));
	}
	return best;
}

static void print_count(double n, int64_t most)
{
	if (isfinite(n))
		printf(" | %.0f", n);
	else
		printf(" | > %lld", (long long)most);
	fflush(stdout);
}

static void run_prior(const bench_options *o)
{
	double ratio[N_SEARCHES][N_PRIORS] = {{0}};
	int reached[N_SEARCHES][N_PRIORS] = {{0}};
	int64_t most = o->evaluations;
	berth_arena mem = {0};
	berth_policy_file f;
	MUST(berth_policy_builtin(&mem, &f, &err));
	printf("\n## What the learned prior is worth\n\n"
	       "Evaluations until a search is within 2 %% of the best known value (of `berth` and `anneal`, "
	       "2 seeds of %lld evaluations each), at most %lld, median of\n"
	       "%d seeds. None starts from a heuristic. The prior is the distribution that the first draws "
	       "come from, along a list schedule: the policy that comes\n"
	       "with berth; untrained weights that decode like HEFT; untrained weights, near uniform.\n\n",
	       (long long)BEST_EVALUATIONS, (long long)most, o->seeds);
	bench_head("instance, search|learned|like HEFT|uniform|learned / uniform");
	for (int i = 0; i < N_INSTANCES; i++) {
		subject x;
		bench_open(&x, instances[i].graph, instances[i].system);
		double enough = NEAR * best_known(&x);
		for (int kind = 0; kind < N_SEARCHES; kind++) {
			double n[N_PRIORS];
			printf("| %s on %s, %s", instances[i].graph, instances[i].system,
			       kind_name[kind]);
			for (int which = 0; which < N_PRIORS; which++) {
				double v[MAX_SEEDS];
				for (int k = 0; k < o->seeds; k++)
					v[k] = search_from(&x, &f, (prior)which, (search_kind)kind,
					                   (uint64_t)k + 1, enough, most);
				n[which] = bench_median(v, o->seeds);
				print_count(n[which], most);
				reached[kind][which] += isfinite(n[which]);
				ratio[kind][which] += log(fmin(n[which], (double)most)) / N_INSTANCES;
			}
			if (isfinite(n[PRIOR_LEARNED]))
				printf(" | %s%.3f |\n", isfinite(n[PRIOR_UNIFORM]) ? "" : "< ",
				       n[PRIOR_LEARNED] / fmin(n[PRIOR_UNIFORM], (double)most));
			else
				printf(" | - |\n");
		}
		bench_close(&x);
	}
	printf("\n");
	for (int kind = 0; kind < N_SEARCHES; kind++)
		printf("%s: reached on %d, %d and %d of %d instances; geometric mean of learned / uniform "
		       "%.3f, of learned / like HEFT %.3f (the limit where it was not reached).\n",
		       kind_name[kind], reached[kind][0], reached[kind][1], reached[kind][2], N_INSTANCES,
		       exp(ratio[kind][0] - ratio[kind][2]), exp(ratio[kind][0] - ratio[kind][1]));
	berth_arena_free(&mem);
}

const bench_entry bench_prior = {
	"prior", "", "learning", "2 h",
	"evaluations to come near the best known, from the learned prior and others",
	{.evaluations = 5000, .seeds = 5}, run_prior};
