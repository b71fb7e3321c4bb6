/* `berth`: the portfolio seeds a policy, softly; the policy learns by PPO and elite cloning, and in turn with it the incumbent is refined back through the
 * levels of the grouping down to single units. What refinement finds is cloned again. Every part is anytime: phases follow the count of
 * rounds, never the budget. */
#include "learner.h"
#include "method.h"
#include "policy_file.h"
#include "portfolio.h"
#include "refine.h"

#include <string.h>

enum { LEARN_STEPS = 4, CLONE_STEPS = 2, SEED_STEPS = 60 };

typedef struct placer {
	berth_search *s;
	berth_seeds seeds;
	berth_learner l;
	berth_levels levels;
	int32_t *op_dev; /* what is being refined */
} placer;

static berth_status refine_incumbent(placer *w, int64_t round, int64_t evaluations, berth_arena *tmp, berth_err *err)
{
	berth_search *s = w->s;
	berth_rng rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_SEARCH + (uint64_t)round);
	berth_score score = s->best;
	memcpy(w->op_dev, s->best_dev, (size_t)s->p->n_ops * sizeof *w->op_dev);
	BERTH_TRY(berth_refine(s, &w->levels, w->op_dev, &score, evaluations, &rng, tmp, err));
	return berth_learner_clone(&w->l, 0, s->best_dev, CLONE_STEPS, err);
}

static berth_status rounds(placer *w, berth_arena *tmp, berth_err *err)
{
	for (int64_t round = 0;; round++) {
		int64_t before = w->s->evaluations;
		for (int32_t k = 0; k < LEARN_STEPS; k++) {
			int64_t room = berth_search_room(w->s, w->l.cfg.batch);
			if (room == 0)
				return BERTH_OK;
			BERTH_TRY(berth_learner_step(&w->l, 0, (int32_t)room, NULL, err));
		}
		BERTH_TRY(refine_incumbent(w, round, w->s->evaluations - before, tmp, err));
	}
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	placer w = {.s = s};
	berth_learner_cfg cfg = berth_learner_cfg_default();
	const int32_t *seed_dev[BERTH_MAX_SEEDS];
	int32_t n = 0;
	const berth_policy_file *f = s->cfg.policy;
	if (f)
		cfg = f->cfg;
	cfg.table_lr = 0.02;
	BERTH_TRY(berth_portfolio_run(s, s->mem, tmp, &w.seeds, err));
	if (s->p->n_ops == 0 || (!f && berth_search_room(s, 1) == 0))
		return BERTH_OK;
	BERTH_TRY(berth_learner_new(&cfg, s->cfg.seed, f ? f->params : NULL, &s, 1, s->mem, tmp, &w.l, err));
	w.l.task[0].reference = w.seeds.reference;
	BERTH_TRY(berth_levels_new(s->p, &w.l.task[0].e.co, s->mem, &w.levels, err));
	BERTH_TRY(BERTH_NEW(s->mem, w.op_dev, s->p->n_ops, err));
	if (f) {
		BERTH_TRY(berth_learner_greedy(&w.l, 0, w.op_dev, err));
		berth_search_offer(s, w.op_dev, NULL);
		return rounds(&w, tmp, err);
	}
	seed_dev[n++] = w.seeds.seed[w.seeds.best].op_dev;
	BERTH_TRY(berth_learner_seed(&w.l, 0, n, seed_dev, SEED_STEPS, err));
	return rounds(&w, tmp, err);
}

const berth_method berth_method_berth = {"berth", "policy seeded by the portfolio, PPO and elite cloning, multilevel refinement (the default)", true, run};
