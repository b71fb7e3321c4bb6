/* Offers to a search what a trained policy comes to in a few passes, and draws from it. Nothing is learned
 * here. */
#include "proposals.h"

#include "coloc.h"
#include "learner.h"
#include "registry.h"
#include "seeds.h"

enum { BATCH = 16 };

#define KEY_SIGMA 2 /* of keys of draws: more than in training, as orders are what draws are to differ in */

/* Measured on random graphs of 20,000 and 100,000 operators on six and eight devices, rounded up. */
double berth_proposals_ns(const berth_problem *p)
{
	return 150.0 * ((double)p->n_ops + p->g->n_edges) * p->n_devs;
}

berth_status berth_proposals_policy(const berth_search *s, berth_arena *mem, const berth_policy_file **out,
                                    berth_err *err)
{
	berth_policy_file *f;
	*out = s->cfg.policy;
	if (*out)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, 1, err, f);
	BERTH_TRY(berth_policy_builtin(mem, f, err));
	*out = f;
	return BERTH_OK;
}

/* One forward pass of the encoder. */
static berth_status add_net(const berth_policy_file *f, const nn_real *params, berth_arena *mem,
                            berth_proposals *p, berth_err *err)
{
	BERTH_TRY_NEW(mem, policy_forward_size(&f->dims, p->e.n_groups, p->e.in.n_edges, p->e.n_devs), err,
	              p->acts);
	policy_embed(&f->dims, params, &p->e.in, p->acts);
	p->net[p->n_nets++] = policy_stepper_of(&f->dims, params, &p->e.in, p->acts);
	return BERTH_OK;
}

berth_status berth_proposals_new(const berth_policy_file *f, berth_search *s, berth_arena *mem,
                                 berth_arena *tmp, berth_proposals *out, berth_err *err)
{
	size_t ops = (size_t)s->p->n_ops;
	berth_proposals *p = out;
	*p = (berth_proposals){0};
	berth_aim aim = berth_aim_of(&s->cfg.objective);
	BERTH_TRY(berth_encode(s->p, aim, f->cfg.groups, f->cfg.hints, mem, tmp, &p->e, err));
	BERTH_TRY(policy_input_check(&f->dims, &p->e.in, err));
	BERTH_TRY(berth_rollout_new(s, &p->e, mem, &p->rollout, err));
	if (f->base)
		BERTH_TRY(add_net(f, f->base, mem, p, err));
	BERTH_TRY(add_net(f, f->params, mem, p, err));
	p->batch = (berth_rollout_batch){
		.n = BATCH, .seed = s->cfg.seed, .temperature = 1, .key_sigma = KEY_SIGMA};
	BERTH_TRY(berth_guide_new(s->p, mem, &p->guide, err));
	BERTH_TRY_NEW(mem, BATCH * ops, err, p->batch.op_devs, p->batch.orders);
	return BERTH_NEW(mem, p->batch.scores, 2 * BATCH, err);
}

/* From nothing (NULL), or guided by op_dev. */
static berth_status offer_from(const berth_proposals *p, const int32_t *op_dev, berth_arena *tmp,
                               berth_err *err)
{
	for (int32_t k = 0; k < p->n_nets; k++)
		BERTH_TRY(berth_rollout_offer_greedy(&p->rollout, &p->net[k], op_dev, tmp, err));
	return BERTH_OK;
}

berth_status berth_proposals_offer_greedy(const berth_proposals *p, berth_arena *tmp, berth_err *err)
{
	return offer_from(p, NULL, tmp, err);
}

berth_status berth_proposals_offer_at_once(const berth_policy_file *f, berth_search *s, berth_arena *tmp,
                                           berth_err *err)
{
	berth_learner l;
	BERTH_TRY(berth_learner_new(&f->cfg, s->cfg.seed, f->params, &s, 1, s->mem, tmp, &l, err));
	return berth_learner_offer_greedy(&l, 0, tmp, err);
}

/* Is the last the same placement as one before? */
static bool is_known(const int32_t *const *known, int32_t n, int32_t n_ops)
{
	for (int32_t k = 0; k < n - 1; k++)
		if (memcmp(known[k], known[n - 1], (size_t)n_ops * sizeof **known) == 0)
			return true;
	return false;
}

berth_status berth_proposals_offer_revised(const berth_proposals *p, int32_t n, const int32_t *const *known,
                                           berth_arena *tmp, berth_err *err)
{
	const berth_search *s = p->rollout.s;
	if (s->cut || !berth_can_move(s->p) || is_known(known, n, s->p->n_ops))
		return BERTH_OK;
	return offer_from(p, known[n - 1], tmp, err);
}

void berth_proposals_offer_draws(berth_proposals *p, int64_t evaluations)
{
	int64_t end = p->rollout.s->evaluations + evaluations, left;
	/* A draw does not depend on those beside it: as many at a time as there are workers. */
	int32_t workers = berth_pool_workers(p->rollout.s->cfg.pool);
	int32_t most = workers < BATCH ? workers : BATCH;
	while ((left = end - p->rollout.s->evaluations) > 1 &&
	       (left = berth_search_budget_left(p->rollout.s, left)) > 1 &&
	       berth_search_afford(p->rollout.s, most * berth_proposals_ns(p->rollout.s->p) / workers)) {
		int32_t begun = (int32_t)(p->batch.first % BATCH);
		int32_t n = BATCH - begun < most ? BATCH - begun : most;
		if (begun == 0 && berth_score_feasible(p->rollout.s->best))
			berth_guide_set(&p->guide, p->rollout.s->best_dev);
		berth_rollout_batch b = p->batch;
		b.guide = &p->guide;
		b.n = left / 2 < n ? (int32_t)(left / 2) : n;
		berth_rollout_draw(&p->rollout, &p->net[p->n_nets - 1], &b);
		p->batch.first += b.n;
	}
}

/* `policy`: what a trained policy holds most probable, in one forward pass, without search: from nothing, and
 * as it revises quick answers of other methods; or the best single device, where that is better. */

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
static berth_status find_start(starts *w, const berth_seed *seed, berth_search *sub, berth_arena *tmp,
                               berth_err *err)
{
	int32_t *copy;
	BERTH_TRY(berth_method_run_apart(seed->method, w->s, &w->s->cfg.objective, sub, tmp, err));
	w->s->evaluations += sub->evaluations;
	BERTH_TRY_NEW(w->s->mem, w->s->p->n_ops, err, copy);
	BERTH_COPY(copy, sub->best_dev, w->s->p->n_ops);
	w->op_dev[w->n++] = copy;
	return BERTH_OK;
}

/* The first seed is the best single device. */
static berth_status offer_single(starts *w, berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	BERTH_SCRATCH(tmp);
	w->s->worked_ns += berth_seeds[0].work_ns(w->s->p);
	BERTH_TRY(find_start(w, &berth_seeds[0], &sub, tmp, err));
	berth_search_keep(w->s, sub.best, sub.best_dev, berth_search_order(&sub));
	return BERTH_OK;
}

/* The answer itself is not offered: what comes of it is the policy's. */
static berth_status begin_at(starts *w, const berth_seed *seed, const berth_proposals *p, berth_arena *tmp,
                             berth_err *err)
{
	berth_search sub;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (!berth_seeds_left(w->s, seed->work_ns(w->s->p)))
		return BERTH_OK;
	berth_status st = find_start(w, seed, &sub, tmp, err);
	berth_arena_reset(tmp, mark);
	BERTH_TRY(st);
	return berth_proposals_offer_revised(p, w->n, w->op_dev, tmp, err);
}

static berth_status policy_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_policy_file *f;
	berth_proposals p;
	starts w = {.s = s};
	BERTH_TRY(offer_single(&w, tmp, err));
	BERTH_TRY(berth_proposals_policy(s, s->mem, &f, err));
	if (f->cfg.decoding != BERTH_SEQUENTIAL)
		return berth_proposals_offer_at_once(f, s, tmp, err);
	BERTH_TRY(berth_proposals_new(f, s, s->mem, tmp, &p, err));
	BERTH_TRY(berth_proposals_offer_greedy(&p, tmp, err));
	if (!berth_can_move(w.s->p))
		return BERTH_OK;
	BERTH_TRY(berth_proposals_offer_revised(&p, w.n, w.op_dev, tmp, err));
	for (int32_t i = 0; i < N_QUICK; i++)
		BERTH_TRY(begin_at(&w, &quick[i], &p, tmp, err));
	if (berth_aim_of(&w.s->cfg.objective).energy > 0) {
		/* Of limited time it takes no more than a seed of a search. */
		berth_seeds_begin(w.s);
		BERTH_TRY(begin_at(&w, &dear, &p, tmp, err));
		berth_seeds_cut(w.s, dear.method->name);
		berth_seeds_end(w.s);
	}
	int32_t *partition[BERTH_PARTITIONS];
	if (w.s->cut) /* there is no time to revise what is found */
		return BERTH_OK;
	BERTH_TRY(berth_seeds_find_partitions(w.s, partition, w.s->mem, tmp, err));
	for (int32_t i = 0; i < BERTH_PARTITIONS; i++) {
		if (!partition[i])
			continue;
		w.op_dev[w.n++] = partition[i];
		BERTH_TRY(berth_proposals_offer_revised(&p, w.n, w.op_dev, tmp, err));
	}
	return BERTH_OK;
}

const berth_method berth_method_policy = {
	"policy",
	"A trained policy's most probable placement, its revisions of quick answers, or one device.", false,
	policy_run, NULL, "this project"};
