/* `policy`: what a trained policy holds most probable, in one forward pass, without search: from nothing, and
 * as it revises quick answers of other methods; or the best single device, where that is better. */
#include "coloc.h"
#include "learner.h"
#include "method.h"
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
enum { N_QUICK = sizeof quick / sizeof *quick, N_STARTS = 1 + N_QUICK + 1 + BERTH_PARTITIONS };

/* Where the policy begins, in the search's memory. */
typedef struct starts {
	berth_search *s;
	const int32_t *op_dev[N_STARTS]; /* [n_ops] each */
	int32_t n;
} starts;

/* What a seed comes to, apart, is one start more. *sub lives in tmp. */
static berth_status find(starts *w, const berth_seed *seed, berth_search *sub, berth_arena *tmp,
                         berth_err *err)
{
	int32_t *copy;
	size_t bytes = (size_t)w->s->p->n_ops * sizeof *copy;
	BERTH_TRY(berth_method_run_apart(seed->method, w->s, &w->s->cfg.objective, sub, tmp, err));
	w->s->evaluations += sub->evaluations;
	BERTH_TRY(BERTH_NEW(w->s->mem, copy, w->s->p->n_ops, err));
	if (bytes)
		memcpy(copy, sub->best_dev, bytes);
	w->op_dev[w->n++] = copy;
	return BERTH_OK;
}

/* The first seed is the best single device. */
static berth_status offer_single(starts *w, berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	w->s->worked_ns += berth_seeds[0].work_ns(w->s->p);
	berth_status st = find(w, &berth_seeds[0], &sub, tmp, err);
	if (st == BERTH_OK)
		berth_search_keep(w->s, sub.best, sub.best_dev, berth_search_order(&sub));
	berth_arena_reset(tmp, mark);
	return st;
}

/* The answer itself is not offered: what comes of it is the policy's. */
static berth_status begin_at(starts *w, const berth_seed *seed, const berth_proposals *p, berth_arena *tmp,
                             berth_err *err)
{
	berth_search sub;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (!berth_seeds_left(w->s, seed->work_ns(w->s->p)))
		return BERTH_OK;
	berth_status st = find(w, seed, &sub, tmp, err);
	berth_arena_reset(tmp, mark);
	BERTH_TRY(st);
	return berth_proposals_offer_revised(p, w->n, w->op_dev, tmp, err);
}

/* Of limited time it takes no more than a seed of a search. */
static berth_status begin_at_dear(starts *w, const berth_proposals *p, berth_arena *tmp, berth_err *err)
{
	berth_seeds_begin(w->s);
	BERTH_TRY(begin_at(w, &dear, p, tmp, err));
	berth_seeds_cut(w->s, dear.method->name);
	berth_seeds_end(w->s);
	return BERTH_OK;
}

static berth_status begin_at_partitions(starts *w, const berth_proposals *p, berth_arena *tmp, berth_err *err)
{
	int32_t *partition[BERTH_PARTITIONS];
	if (w->s->cut) /* there is no time to revise what is found */
		return BERTH_OK;
	BERTH_TRY(berth_seeds_find_partitions(w->s, partition, w->s->mem, tmp, err));
	for (int32_t i = 0; i < BERTH_PARTITIONS; i++) {
		if (!partition[i])
			continue;
		w->op_dev[w->n++] = partition[i];
		BERTH_TRY(berth_proposals_offer_revised(p, w->n, w->op_dev, tmp, err));
	}
	return BERTH_OK;
}

static berth_status begin_everywhere(starts *w, const berth_proposals *p, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_proposals_offer_greedy(p, tmp, err));
	if (!berth_can_move(w->s->p))
		return BERTH_OK;
	BERTH_TRY(berth_proposals_offer_revised(p, w->n, w->op_dev, tmp, err));
	for (int32_t i = 0; i < N_QUICK; i++)
		BERTH_TRY(begin_at(w, &quick[i], p, tmp, err));
	if (berth_aim_of(&w->s->cfg.objective).energy > 0)
		BERTH_TRY(begin_at_dear(w, p, tmp, err));
	return begin_at_partitions(w, p, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f;
	berth_proposals p;
	starts w = {.s = s};
	BERTH_TRY(offer_single(&w, tmp, err));
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return one_shot(f, s, tmp, err);
	BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &p, err));
	return begin_everywhere(&w, &p, tmp, err);
}

const berth_method berth_method_policy = {
	"policy",
	"A trained policy's most probable placement, its revisions of quick answers, or one device.",
	false, run, NULL};
