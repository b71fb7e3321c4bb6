/* `policy`: what a trained policy holds most probable, in one forward pass, without search: from nothing, and
 * as it revises quick answers of other methods; or the best single device, where that is better. */
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

/* Quick answers that the policy revises, beside the best single device. Those that are poor by themselves are
 * unlike the others. */
static const berth_seed quick[] = {{&berth_method_heft, berth_seed_list_ns},
                                   {&berth_method_peft_contended, berth_seed_priced_ahead_ns},
                                   {&berth_method_ceft_cpop, berth_seed_list_ns},
                                   {&berth_method_m_topo, berth_search_evaluation_ns},
                                   {&berth_method_round_robin, berth_search_evaluation_ns}};
/* It takes as long as all the others, and is worth it where joules count, as its sum is of them. */
static const berth_seed dear = {&berth_method_pbqp, berth_seed_pbqp_ns};
enum { N_QUICK = sizeof quick / sizeof *quick, N_KNOWN = 1 + N_QUICK + 1 + BERTH_PARTITIONS };

/* Placements to revise, in the search's memory. */
typedef struct known {
	const int32_t *op_dev[N_KNOWN]; /* [n_ops] each */
	int32_t n;
} known;

static berth_status keep(known *k, const berth_search *s, const int32_t *op_dev, berth_err *err)
{
	int32_t *copy;
	size_t bytes = (size_t)s->p->n_ops * sizeof *copy;
	BERTH_TRY(BERTH_NEW(s->mem, copy, s->p->n_ops, err));
	if (bytes)
		memcpy(copy, op_dev, bytes);
	k->op_dev[k->n++] = copy;
	return BERTH_OK;
}

/* What a quick answer comes to, apart; none where the work is cut, or the method does not suit. */
static berth_status find(known *k, const berth_seed *seed, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (!berth_search_afford(s, seed->work_ns(s->p)))
		return BERTH_OK;
	berth_status st = berth_method_run_apart(seed->method, s, &s->cfg.objective, &sub, tmp, err);
	if (st == BERTH_OK) {
		s->evaluations += sub.evaluations;
		st = keep(k, s, sub.best_dev, err);
	}
	berth_arena_reset(tmp, mark);
	return st == BERTH_EUNSUPPORTED ? BERTH_OK : st;
}

static berth_status find_all(known *k, berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t *partition[BERTH_PARTITIONS];
	for (int32_t i = 0; i < N_QUICK; i++)
		BERTH_TRY(find(k, &quick[i], s, tmp, err));
	if (berth_aim_of(&s->cfg.objective).energy > 0)
		BERTH_TRY(find(k, &dear, s, tmp, err));
	if (s->cut) /* there is no time to revise what is found */
		return BERTH_OK;
	BERTH_TRY(berth_seeds_find_partitions(s, partition, s->mem, tmp, err));
	for (int32_t i = 0; i < BERTH_PARTITIONS; i++)
		if (partition[i])
			k->op_dev[k->n++] = partition[i];
	return BERTH_OK;
}

/* Placements from elsewhere are not offered: what comes of them is the policy's. */
static berth_status revise(const berth_proposals *p, known *k, berth_arena *tmp, berth_err *err)
{
	if (!berth_can_move(p->rollout.s->p))
		return BERTH_OK;
	BERTH_TRY(find_all(k, p->rollout.s, tmp, err));
	return berth_proposals_offer_revised(p, k->n, k->op_dev, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f;
	berth_proposals p;
	known k = {.n = 0};
	BERTH_TRY(berth_portfolio_offer_single(s, tmp, err));
	BERTH_TRY(keep(&k, s, s->best_dev, err));
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return one_shot(f, s, tmp, err);
	BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &p, err));
	BERTH_TRY(berth_proposals_offer_greedy(&p, tmp, err));
	return revise(&p, &k, tmp, err);
}

const berth_method berth_method_policy = {
	"policy",
	"A trained policy's most probable placement, its revisions of quick answers, or one device.",
	false, run, NULL};
