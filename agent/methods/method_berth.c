/* `berth`: a policy starts from the portfolio, softly, and learns by PPO and elite cloning. In turn with it
 * the incumbent is annealed. What annealing finds is cloned again. Every part is anytime: phases follow the
 * count of rounds, not the budget, but in a search too short to learn in. */
#include "cooling.h"
#include "cost_model.h"
#include "methods.h"
#include "coloc.h"
#include "policy_file.h"
#include "max_load_search.h"
#include "portfolio.h"
#include "proposals.h"
#include "seeds.h"

enum { CLONE_STEPS = 2, START_STEPS = 60, DRAWN_EVALUATIONS = 64, CANDIDATES = 100 };

#define CHAIN 4 /* passes that one chain takes as long as, about */

typedef struct agent {
	berth_search *s;
	berth_portfolio portfolio;
	int32_t *partition[BERTH_PARTITIONS]; /* [n_ops] each, or NULL */
	berth_learner l;
	berth_cooling cooling;
	berth_max_load_turns loads; /* where the largest load is the value */
	double learned_eval_s; /* seconds of the latest evaluation for learning, where time is limited */
	berth_proposals proposals;
	bool proposes;         /* there are some */
	bool far;              /* communities are looked at */
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

/* What the policy makes of the answers of the portfolio and of partitions. */
static berth_status revise(agent *w, berth_arena *tmp, berth_err *err)
{
	const int32_t *known[BERTH_MOST_SEEDS + BERTH_PARTITIONS];
	int32_t n = 0;
	for (int32_t i = 0; i < w->portfolio.n; i++)
		known[n++] = w->portfolio.answer[i].op_dev;
	for (int32_t i = 0; i < BERTH_PARTITIONS; i++)
		if (w->partition[i])
			known[n++] = w->partition[i];
	for (int32_t i = 1; i <= n; i++)
		BERTH_TRY(berth_proposals_offer_revised(&w->proposals, i, known, tmp, err));
	return BERTH_OK;
}

/* The policy's most probable placement, and its revisions of known ones. Under a time limit it may cost what
 * seeds may cost. */
static berth_status propose(agent *w, const berth_policy_file *f, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	berth_seeds_begin(s);
	if (berth_search_afford(s, berth_proposals_ns(s->p))) {
		BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &w->proposals, err));
		BERTH_TRY(berth_proposals_offer_greedy(&w->proposals, tmp, err));
		BERTH_TRY(revise(w, tmp, err));
		w->proposes = true;
	}
	berth_seeds_cut(s, "policy");
	berth_seeds_end(s);
	return BERTH_OK;
}

/* What is dear for a budget that ends with the first run: draws of the policy, and communities. */
static berth_status go_far(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	const int64_t seeded = s->seeded;
	if (w->proposes) {
		berth_seeds_begin(s);
		berth_proposals_offer_draws(&w->proposals, DRAWN_EVALUATIONS);
		berth_seeds_cut(s, "policy");
		berth_seeds_end(s);
		s->seeded = seeded; /* annealing has run */
	}
	return w->far ? berth_seeds_communities(s, tmp, err) : BERTH_OK;
}

static berth_status rounds(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	for (bool ended, first = true;; first = false) {
		berth_score before = s->best;
		if (!first) { /* a budget that ends with the first run is better spent on it */
			int64_t n_steps = berth_cooling_steps(&w->cooling);
			BERTH_TRY(learn(w, learned_at_once(w, n_steps), &ended, err));
			if (ended)
				return BERTH_OK;
		}
		bool learned = berth_score_less(s->best, before);
		before = s->best;
		BERTH_TRY(berth_cooling_run(&w->cooling, &ended, tmp, err));
		if (ended)
			return BERTH_OK;
		BERTH_TRY(balance(w, &ended, tmp, err));
		if (ended)
			return BERTH_OK;
		if (first)
			BERTH_TRY(go_far(w, tmp, err));
		bool cooled = berth_score_less(s->best, before);
		if (learned)
			w->learn_share = w->learn_share * 1.5 < 2 ? w->learn_share * 1.5 : 2;
		else if (cooled)
			w->learn_share = w->learn_share * 0.6 > 0.05 ? w->learn_share * 0.6 : 0.05;
		BERTH_TRY(berth_learner_clone(&w->l, 0, s->best_dev, CLONE_STEPS, err));
	}
}

/* A search too short to learn in. Few evaluations: the policy goes on from the best seed, and what is left is
 * one run of annealing, each worth a choice among many moves. In a short time it proposes its own where that
 * is quick. */
static berth_status run_short(agent *w, bool orders, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	const berth_policy_file *f;
	const bool few = berth_seeds_few(s);
	bool ended = false;
	BERTH_TRY(berth_seeds_run_short(s, tmp, err));
	BERTH_TRY(berth_dp_seed(s, tmp, err));
	if (few)
		s->may_evaluate = s->cfg.evaluations / 2;
	else
		berth_seeds_begin_short(s);
	if (few || berth_search_afford(s, CHAIN * berth_proposals_ns(s->p))) {
		BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
		BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &w->proposals, err));
		BERTH_TRY(few ? berth_proposals_offer_revised(
					&w->proposals, 1, &(const int32_t *){s->best_dev}, tmp, err)
		              : berth_proposals_offer_greedy(&w->proposals, tmp, err));
	}
	s->may_evaluate = INT64_MAX;
	berth_seeds_cut(s, "policy");
	berth_seeds_end(s);
	if (!berth_score_feasible(s->best))
		return BERTH_OK;
	s->candidates = few ? CANDIDATES : 0;
	BERTH_TRY(berth_cooling_new(s, orders, s->mem, &w->cooling, err));
	if (few)
		w->cooling.heats.n_steps = s->cfg.evaluations - s->evaluations;
	while (!ended) {
		BERTH_TRY(berth_cooling_run(&w->cooling, &ended, tmp, err));
		if (!ended)
			BERTH_TRY(balance(w, &ended, tmp, err));
	}
	return BERTH_OK;
}

static berth_status start_search(agent *w, const berth_agent_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	if (cfg->portfolio) {
		BERTH_TRY(berth_portfolio_run(w->s, w->s->mem, tmp, &w->portfolio, err));
		if (cfg->far)
			BERTH_TRY(berth_seeds_partitions(w->s, w->partition, w->s->mem, tmp, err));
		return berth_dp_seed(w->s, tmp, err);
	}
	BERTH_TRY(berth_method_run(berth_seeds[0].method, w->s, tmp, err));
	return berth_single_reference(w->s, &w->portfolio.reference, tmp, err);
}

/* From the policy where it is of the same decoding, else from fresh weights and the best of the portfolio. */
static berth_status start_learner(agent *w, const berth_agent_cfg *cfg, const berth_policy_file *f,
                                  berth_arena *tmp, berth_err *err)
{
	berth_learner_cfg how = cfg->learner;
	bool small = (int64_t)w->s->p->n_ops * w->s->p->n_devs <= cfg->sequential_cells;
	how.decoding = small ? f->cfg.decoding : BERTH_ONE_SHOT;
	bool trained = f->cfg.decoding == how.decoding;
	if (trained) {
		how = f->cfg;
		how.table_lr = how.decoding == BERTH_SEQUENTIAL ? 0 : cfg->learner.table_lr;
		how.epochs = cfg->learner.epochs ? how.epochs : 0;
		how.clone_steps = cfg->learner.clone_steps ? how.clone_steps : 0;
	}
	BERTH_TRY(berth_learner_new(&how, w->s->cfg.seed, trained ? f->params : NULL, &w->s, 1, w->s->mem,
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

/* Annealing by the rule may start from any answer, while the incumbent owes its value to an order. */
static void consider_portfolio(agent *w)
{
	berth_search *s = w->s;
	for (int32_t i = 0; i < w->portfolio.n; i++) {
		const int32_t *op_dev = w->portfolio.answer[i].op_dev;
		if (s->best_has_order && berth_search_budget_left(s, 1) > 0)
			berth_cooling_consider(&w->cooling, op_dev, berth_search_offer(s, op_dev, NULL));
	}
}

berth_status berth_agent_run(berth_search *s, const berth_agent_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	agent w = {.s = s, .far = cfg->portfolio && cfg->far, .learn_share = cfg->learn_share};
	const berth_policy_file *f;
	bool ended;
	if (cfg->anneal && cfg->orders && berth_orders_decide(s)) {
		BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
		return berth_walk_orders(s, tmp, err);
	}
	w.loads = berth_max_load_turns_new(s);
	bool whole = cfg->portfolio && cfg->proposals && cfg->anneal && !s->cfg.policy;
	if (whole && berth_can_move(s->p) && !s->p->s->cost_model->sums_times && berth_seeds_short(s)) {
		BERTH_TRY(run_short(&w, cfg->orders, tmp, err));
		if (berth_score_feasible(s->best))
			return BERTH_OK;
		s->n_left_out = 0;
	}
	BERTH_TRY(start_search(&w, cfg, tmp, err));
	if (s->p->n_ops == 0 || berth_seeds_needless(s))
		return BERTH_OK;
	if (!berth_can_move(s->p)) {
		BERTH_TRY(berth_cooling_new(s, cfg->orders, s->mem, &w.cooling, err));
		return berth_cooling_finish(&w.cooling, tmp, err);
	}
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding == BERTH_SEQUENTIAL && cfg->proposals)
		BERTH_TRY(propose(&w, f, tmp, err));
	if (berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(start_learner(&w, cfg, f, tmp, err));
	if (!cfg->anneal)
		return learn(&w, INT64_MAX / 4, &ended, err);
	BERTH_TRY(berth_cooling_new(s, cfg->orders, s->mem, &w.cooling, err));
	consider_portfolio(&w);
	return rounds(&w, tmp, err);
}

static berth_status berth_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	return berth_agent_run(s, &cfg, tmp, err);
}

const berth_method berth_method_berth = {
	"berth", "Policy seeded by the portfolio, PPO and elite cloning, annealing in turn (the default).",
	true, berth_run, NULL, "this project"};
