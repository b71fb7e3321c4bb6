/* `berth`: the quick heuristics of the portfolio, what a trained policy proposes and makes of their answers,
 * and annealing from the best of it. Every part is anytime: phases follow the count of rounds, not the
 * budget, but in a search too short for all of them. */
#include "cooling.h"
#include "cost_model.h"
#include "methods.h"
#include "coloc.h"
#include "policy_file.h"
#include "max_load_search.h"
#include "portfolio.h"
#include "proposals.h"
#include "seeds.h"

enum { DRAWN_EVALUATIONS = 64, CANDIDATES = 100 };

#define CHAIN 4 /* passes that one chain takes as long as, about */

typedef struct agent {
	berth_search *s;
	berth_portfolio portfolio;
	int32_t *partition[BERTH_PARTITIONS]; /* [n_ops] each, or NULL */
	berth_cooling cooling;
	berth_max_load_turns loads; /* where the largest load is the value */
	berth_proposals proposals;
	bool proposes; /* there are some */
	bool far;      /* partitions and communities are looked at */
} agent;

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
static berth_status propose(agent *w, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	const berth_policy_file *f;
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return berth_proposals_offer_at_once(f, s, tmp, err);
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

/* Annealing until the budget ends. */
static berth_status rounds(agent *w, berth_arena *tmp, berth_err *err)
{
	for (bool ended, first = true;; first = false) {
		BERTH_TRY(berth_cooling_run(&w->cooling, &ended, tmp, err));
		if (!ended)
			BERTH_TRY(balance(w, &ended, tmp, err));
		if (ended)
			return BERTH_OK;
		if (first)
			BERTH_TRY(go_far(w, tmp, err));
	}
}

/* A search too short for all of it. Few evaluations: the policy goes on from the best seed, and what is left
 * is one run of annealing, each worth a choice among many moves. In a short time it proposes its own where
 * that is quick. */
static berth_status run_short(agent *w, const berth_agent_cfg *cfg, berth_arena *tmp,
                              berth_err *err)
{
	berth_search *s = w->s;
	const berth_policy_file *f;
	const bool few = berth_seeds_few(s);
	BERTH_TRY(berth_seeds_run_short(s, tmp, err));
	BERTH_TRY(berth_dp_seed(s, tmp, err));
	if (few)
		s->may_evaluate = s->cfg.evaluations / 2;
	else
		berth_seeds_begin_short(s);
	if (cfg->proposals && (few || berth_search_afford(s, CHAIN * berth_proposals_ns(s->p)))) {
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
	BERTH_TRY(berth_cooling_new(s, cfg->orders, s->mem, &w->cooling, err));
	if (few)
		w->cooling.heats.n_steps = s->cfg.evaluations - s->evaluations;
	w->far = false;
	return rounds(w, tmp, err);
}

static berth_status start_search(agent *w, const berth_agent_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	if (cfg->portfolio) {
		BERTH_TRY(berth_portfolio_run(w->s, w->s->mem, tmp, &w->portfolio, err));
		if (cfg->far)
			BERTH_TRY(berth_seeds_partitions(w->s, w->partition, w->s->mem, tmp, err));
		return berth_dp_seed(w->s, tmp, err);
	}
	return berth_method_run(berth_seeds[0].method, w->s, tmp, err);
}

berth_agent_cfg berth_agent_cfg_default(void)
{
	return (berth_agent_cfg){.portfolio = true, .far = true, .proposals = true, .orders = true};
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
	agent w = {.s = s, .far = cfg->portfolio && cfg->far};
	if (cfg->orders && berth_orders_decide(s)) {
		BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
		return berth_walk_orders(s, tmp, err);
	}
	w.loads = berth_max_load_turns_new(s);
	bool whole = cfg->portfolio && !s->cfg.policy;
	if (whole && berth_can_move(s->p) && !s->p->s->cost_model->sums_times && berth_seeds_short(s)) {
		BERTH_TRY(run_short(&w, cfg, tmp, err));
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
	if (cfg->proposals)
		BERTH_TRY(propose(&w, tmp, err));
	if (berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
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
	"berth", "Portfolio, a trained policy's proposals and revisions, then annealing (the default).",
	true, berth_run, NULL, "this project"};
