/* `policy`: what a trained policy holds most probable, in one forward pass, without search: from nothing, and
 * as it revises what two quick list schedules and two partitions come to; or the best single device, where
 * that is better. */
#include "coloc.h"
#include "learner.h"
#include "method.h"
#include "portfolio.h"
#include "proposals.h"
#include "registry.h"
#include "seeds.h"

#include <string.h>

static berth_status one_shot(const berth_policy_file *f, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_learner l;
	BERTH_TRY(berth_learner_new(&f->cfg, s->cfg.seed, f->params, &s, 1, s->mem, tmp, &l, err));
	return berth_learner_offer_greedy(&l, 0, tmp, err);
}

static const berth_method *const schedules[] = {&berth_method_heft, &berth_method_ceft_cpop};
enum { N_SCHEDULES = sizeof schedules / sizeof *schedules };

/* What a list schedule comes to, apart. *op_dev, in mem: NULL where the work is cut. */
static berth_status find_schedule(const berth_method *schedule, berth_search *s, int32_t **op_dev,
                                  berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	size_t bytes = (size_t)s->p->n_ops * sizeof **op_dev;
	*op_dev = NULL;
	if (!berth_search_afford(s, berth_seed_list_ns(s->p)))
		return BERTH_OK;
	BERTH_TRY(berth_method_run_apart(schedule, s, &s->cfg.objective, &sub, tmp, err));
	s->evaluations += sub.evaluations;
	BERTH_TRY(BERTH_NEW(mem, *op_dev, s->p->n_ops, err));
	memcpy(*op_dev, sub.best_dev, bytes);
	return BERTH_OK;
}

/* Placements from elsewhere are not offered: what comes of them is the policy's. */
static berth_status revise(const berth_proposals *p, berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t *found[N_SCHEDULES + BERTH_PARTITIONS], n = 0;
	const int32_t *known[N_SCHEDULES + BERTH_PARTITIONS];
	if (!berth_can_move(s->p))
		return BERTH_OK;
	for (int32_t i = 0; i < N_SCHEDULES; i++) {
		berth_arena_mark mark = berth_arena_get_mark(tmp);
		berth_status st = find_schedule(schedules[i], s, &found[i], s->mem, tmp, err);
		berth_arena_reset(tmp, mark);
		BERTH_TRY(st);
	}
	if (s->cut) /* there is no time to revise what is found */
		return BERTH_OK;
	BERTH_TRY(berth_seeds_find_partitions(s, found + N_SCHEDULES, s->mem, tmp, err));
	for (int32_t i = 0; i < N_SCHEDULES + BERTH_PARTITIONS; i++)
		if (found[i])
			known[n++] = found[i];
	return berth_proposals_offer_revised(p, n, known, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f;
	berth_proposals p;
	BERTH_TRY(berth_portfolio_offer_single(s, tmp, err));
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return one_shot(f, s, tmp, err);
	BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &p, err));
	BERTH_TRY(berth_proposals_offer_greedy(&p, tmp, err));
	return revise(&p, s, tmp, err);
}

const berth_method berth_method_policy = {
	"policy",
	"A trained policy's most probable placement, its revisions of quick answers, or one device.",
	false, run, NULL};
