/* `berth`: annealing starts from quick answers and from what a trained policy makes of them. From its first
 * run on a policy learns by PPO and elite cloning in turn with annealing, and what annealing finds is cloned
 * again. For latency the late seeds, which take the time of thousands of steps, come after the first run;
 * for other objectives they are worth more than those steps. Every part is anytime: phases follow the count
 * of runs, never the budget. */
#include "cooling.h"
#include "agent.h"
#include "coloc.h"
#include "dp.h"
#include "policy_file.h"
#include "learner.h"
#include "max_load_search.h"
#include "portfolio.h"
#include "proposals.h"
#include "seeds.h"

#include <math.h>

enum { CLONE_STEPS = 2, START_STEPS = 60, DRAWN_EVALUATIONS = 64 };

typedef struct agent {
	berth_search *s;
	const berth_agent_cfg *cfg;
	const berth_policy_file *f;
	berth_portfolio portfolio;
	int32_t *partition[BERTH_PARTITIONS]; /* [n_ops] each, or NULL */
	bool waits;            /* late seeds and partitions come after the first run */
	berth_learner l;
	berth_cooling cooling;
	berth_max_load_turns loads; /* where the largest load is the value */
	double learned_eval_s; /* seconds of the latest evaluation for learning, where time is limited */
	berth_proposals proposals;
	bool proposes;         /* there are some */
	double learn_share;  /* evaluations of learning per evaluation of annealing, in its first runs */
} agent;

/* An evaluation for learning takes longer than one of a walk. */
static int64_t left_to_learn(agent *w)
{
	double walk_eval_s = w->s->eval_s;
	w->s->eval_s = fmax(walk_eval_s, w->learned_eval_s * berth_pool_workers(w->s->cfg.pool));
	int64_t left = berth_search_budget_left(w->s, berth_learner_want(&w->l, 0));
	w->s->eval_s = walk_eval_s;
	return left;
}

/* Learn for about n evaluations; *ended where the budget is. */
static berth_status learn(agent *w, int64_t n, bool *ended, berth_err *err)
{
	int64_t end = w->s->evaluations + n;
	*ended = false;
	while (w->s->evaluations < end) {
		int64_t left = left_to_learn(w), before = w->s->evaluations;
		double began = berth_search_timed(w->s) ? berth_wall_seconds() : 0;
		if (left < berth_learner_draw_cost(&w->l)) {
			*ended = left == 0;
			return BERTH_OK;
		}
		BERTH_TRY(berth_learner_step(&w->l, 0, (int32_t)left, NULL, err));
		if (began > 0 && w->s->evaluations > before)
			w->learned_eval_s =
				(berth_wall_seconds() - began) / (double)(w->s->evaluations - before);
	}
	return BERTH_OK;
}

/* Learning takes many times the work of annealing for an evaluation, and gains less and less: its part grows
 * with the root of the length of the runs. */
static int64_t learned_at_once(const agent *w, int64_t n_steps)
{
	return (int64_t)(w->learn_share * sqrt((double)n_steps * BERTH_HEATS_FIRST_STEPS));
}

/* Loads alone are annealed, without simulation. */
static berth_status balance(agent *w, bool *ended, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	if (!berth_max_load_knows(s) || !berth_score_feasible(s->best) || !berth_can_move(s->p))
		return BERTH_OK;
	return berth_max_load_turn(&w->loads, s, ended, tmp, err);
}

/* What the policy makes of the best near answer. */
static berth_status revise_best(agent *w, berth_arena *tmp, berth_err *err)
{
	const berth_portfolio *x = &w->portfolio;
	const int32_t *known[] = {x->answer[x->best].op_dev};
	return berth_proposals_offer_revised(&w->proposals, x->n > 0, known, tmp, err);
}

/* What it makes of all answers but the i-th, and of partitions. */
static berth_status revise_but(agent *w, int32_t i, berth_arena *tmp, berth_err *err)
{
	const int32_t *known[BERTH_MOST_SEEDS + BERTH_PARTITIONS];
	int32_t n = 0;
	for (int32_t k = 0; k < w->portfolio.n; k++)
		if (k != i)
			known[n++] = w->portfolio.answer[k].op_dev;
	for (int32_t k = 0; k < BERTH_PARTITIONS; k++)
		if (w->partition[k])
			known[n++] = w->partition[k];
	return berth_proposals_offer_revised(&w->proposals, n, known, tmp, err);
}

/* The policy's most probable placement, and its revisions of the answers so far; only of the best where
 * others come later. Under a time limit it may cost what seeds may cost. */
static berth_status propose(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	berth_seeds_begin(s);
	if (berth_search_afford(s, berth_proposals_ns(s->p))) {
		BERTH_TRY(berth_proposals_new(w->f, s, s->mem, tmp, &w->proposals, err));
		BERTH_TRY(berth_proposals_offer_greedy(&w->proposals, tmp, err));
		BERTH_TRY(w->waits ? revise_best(w, tmp, err) : revise_but(w, -1, tmp, err));
		w->proposes = true;
	}
	berth_seeds_cut(s, "policy");
	berth_seeds_end(s);
	return BERTH_OK;
}

/* Late seeds and partitions, and what the policy makes of all that it has not revised. */
static berth_status answer_late(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	int32_t revised = w->portfolio.best;
	BERTH_TRY(berth_portfolio_run_late(s, s->mem, tmp, &w->portfolio, err));
	if (w->cfg->far)
		BERTH_TRY(berth_seeds_partitions(s, w->partition, s->mem, tmp, err));
	return w->proposes ? revise_but(w, revised, tmp, err) : BERTH_OK;
}

/* Annealing by the rule may start from any answer from the n-th on, while the incumbent owes its value to an
 * order. */
static void consider_portfolio(agent *w, int32_t n)
{
	berth_search *s = w->s;
	for (int32_t i = n; i < w->portfolio.n; i++) {
		const int32_t *op_dev = w->portfolio.answer[i].op_dev;
		if (s->best_has_order && berth_search_budget_left(s, 1) > 0)
			berth_cooling_consider(&w->cooling, op_dev, berth_search_offer(s, op_dev, NULL));
	}
}

/* What is dear for a budget that ends with the first runs: late seeds, draws of the policy, communities. */
static berth_status go_far(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	int32_t n_near = w->portfolio.n;
	berth_seeds_begin_late(s);
	if (w->waits)
		BERTH_TRY(answer_late(w, tmp, err));
	consider_portfolio(w, n_near);
	if (w->proposes)
		berth_proposals_offer_draws(&w->proposals, DRAWN_EVALUATIONS);
	berth_seeds_cut(s, "policy");
	if (w->cfg->portfolio && w->cfg->far)
		BERTH_TRY(berth_seeds_communities(s, tmp, err));
	berth_seeds_end(s);
	return BERTH_OK;
}

/* From the policy where it is of the same decoding, else from fresh weights and the best so far. */
static berth_status start_learner(agent *w, berth_arena *tmp, berth_err *err)
{
	const berth_agent_cfg *cfg = w->cfg;
	berth_learner_cfg how = cfg->learner;
	bool small = (int64_t)w->s->p->n_ops * w->s->p->n_devs <= cfg->sequential_cells;
	how.decoding = small ? w->f->cfg.decoding : BERTH_ONE_SHOT;
	bool trained = w->f->cfg.decoding == how.decoding;
	if (trained) {
		how = w->f->cfg;
		how.table_lr = how.decoding == BERTH_SEQUENTIAL ? 0 : cfg->learner.table_lr;
		how.epochs = cfg->learner.epochs ? how.epochs : 0;
		how.clone_steps = cfg->learner.clone_steps ? how.clone_steps : 0;
	}
	BERTH_TRY(berth_learner_new(&how, w->s->cfg.seed, trained ? w->f->params : NULL, &w->s, 1, w->s->mem,
	                            tmp, &w->l, err));
	w->l.pair[0].reference = w->portfolio.reference;
	if (!cfg->edges)
		w->l.pair[0].e.in.n_edges = 0;
	if (trained)
		return how.decoding == BERTH_SEQUENTIAL ? BERTH_OK /* left to propose */
		                                        : berth_learner_offer_greedy(&w->l, 0, tmp, err);
	return cfg->portfolio ? berth_learner_clone_starts(&w->l, 0, 1, &(const int32_t *){w->s->best_dev},
	                                               START_STEPS, err)
	                  : BERTH_OK;
}

/* How much is learned between runs follows what it gained. */
static void share_learning(agent *w, bool learned, bool cooled)
{
	if (learned)
		w->learn_share = fmin(w->learn_share * 1.5, 2);
	else if (cooled)
		w->learn_share = fmax(w->learn_share * 0.6, 0.05);
}

/* A run of annealing. */
static berth_status cool(agent *w, bool *ended, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_cooling_run(&w->cooling, ended, tmp, err));
	return *ended ? BERTH_OK : balance(w, ended, tmp, err);
}

/* Learn, run, and clone what came of both. */
static berth_status learn_and_cool(agent *w, bool *ended, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	berth_score before = s->best;
	if (!w->l.pair) /* it was not needed before */
		BERTH_TRY(start_learner(w, tmp, err));
	BERTH_TRY(learn(w, learned_at_once(w, berth_cooling_steps(&w->cooling)), ended, err));
	if (*ended)
		return BERTH_OK;
	bool learned = berth_score_less(s->best, before);
	before = s->best;
	BERTH_TRY(cool(w, ended, tmp, err));
	if (*ended)
		return BERTH_OK;
	share_learning(w, learned, berth_score_less(s->best, before));
	return berth_learner_clone(&w->l, 0, s->best_dev, CLONE_STEPS, err);
}

static berth_status rounds(agent *w, berth_arena *tmp, berth_err *err)
{
	bool ended;
	BERTH_TRY(berth_cooling_new(w->s, w->cfg->orders, w->s->mem, &w->cooling, err));
	consider_portfolio(w, 0);
	BERTH_TRY(cool(w, &ended, tmp, err));
	if (!ended)
		BERTH_TRY(go_far(w, tmp, err));
	while (!ended)
		BERTH_TRY(learn_and_cool(w, &ended, tmp, err));
	return BERTH_OK;
}

static berth_status start_search(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	w->loads = berth_max_load_turns_new(s);
	if (!w->cfg->portfolio) {
		BERTH_TRY(berth_method_run(berth_seeds[0].method, s, tmp, err));
		return berth_single_reference(s, &w->portfolio.reference, tmp, err);
	}
	BERTH_TRY(w->waits ? berth_portfolio_run_near(s, s->mem, tmp, &w->portfolio, err)
	                   : berth_portfolio_run(s, s->mem, tmp, &w->portfolio, err));
	if (w->cfg->far && !w->waits)
		BERTH_TRY(berth_seeds_partitions(s, w->partition, s->mem, tmp, err));
	return berth_dp_seed(s, tmp, err);
}

berth_agent_cfg berth_agent_cfg_default(void)
{
	berth_agent_cfg cfg = {.portfolio = true,
	                       .far = true,
	                       .proposals = true,
	                       .edges = true,
	                       .anneal = true,
	                       .orders = true,
	                       .learn_share = 0.1,
	                       .sequential_cells = 1024,
	                       .learner = berth_learner_cfg_default()};
	cfg.learner.table_lr = 0.02;
	return cfg;
}

static berth_status search(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	bool sequential = w->f->cfg.decoding == BERTH_SEQUENTIAL, ended;
	if (sequential && w->cfg->proposals)
		BERTH_TRY(propose(w, tmp, err));
	if (berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	if (!sequential || !w->cfg->anneal)
		BERTH_TRY(start_learner(w, tmp, err));
	return w->cfg->anneal ? rounds(w, tmp, err) : learn(w, INT64_MAX / 4, &ended, err);
}

berth_status berth_agent_run(berth_search *s, const berth_agent_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	agent w = {.s = s,
	           .cfg = cfg,
	           .waits = cfg->portfolio && berth_objective_is(&s->cfg.objective, BERTH_LATENCY),
	           .learn_share = cfg->learn_share};
	BERTH_TRY(start_search(&w, tmp, err));
	if (s->p->n_ops == 0)
		return BERTH_OK;
	BERTH_TRY(berth_proposals_policy(s, s->mem, &w.f, err));
	return search(&w, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	return berth_agent_run(s, &cfg, tmp, err);
}

const berth_method berth_method_berth = {
	"berth", "Policy seeded by the portfolio, PPO and elite cloning, annealing in turn (the default).",
	true, run, NULL};
