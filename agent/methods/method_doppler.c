/* `doppler`: DOPPLER (X. Yao et al., "DOPPLER: Dual-Policy Learning for Device Assignment in Asynchronous
 * Dataflow Graphs", ICLR 2026), one policy pair per graph.
 *
 * Faithful: the two policies and what they see (doppler.h). Stage one imitates the
 * critical-path list: the ready operator with the longest path down, on the device where it starts first.
 * Stage two is REINFORCE on the simulator, with the running average of rewards as its baseline and one
 * reward at the end of an episode.
 *
 * Reconstruction or ours: actions are drawn from the policies, as the policy gradient is that of draws.
 * The paper takes the best and explores at random. Rewards are logarithms, so a graph's unit of time is of
 * no matter. A gradient step takes several episodes. Rates, sizes and numbers of steps are the best of
 * those tried at 2,400 evaluations. A state also tells how much slower a device runs the operator, as the
 * paper's devices are all alike. Stage three of the paper, on the real machine, is measured training
 * (berth train --env measured). An episode takes two evaluations: by the system's rule, and in the order
 * of the schedule. */
#include "doppler.h"
#include "method.h"
#include "nn_table.h"
#include "offer_schedule.h"
#include "policy_loss.h"
#include "portfolio.h"
#include "repair.h"

enum { HIDDEN = 32, ROUNDS = 2, EPISODES = 4, IMITATION_STEPS = 100 };
static const double IMITATION_RATE = 3e-3, RATE = 1e-3, MASS = 0.7, KEEP = 0.9;

typedef struct learner {
	berth_search *s;
	doppler_view v;
	doppler_dims dims;
	doppler_actor *actor;     /* [workers] */
	doppler_episode episode[EPISODES];
	nn_real *params, *grads, *acts, *work;
	int32_t *ready, *waits;
	adam_state adam;
	int32_t *op_devs, *orders; /* [EPISODES][n_ops] */
	berth_score score[EPISODES][2];
	double reward[EPISODES], reference;
	berth_baseline baseline;
	int64_t episodes;
} learner;

static berth_status new_learner(learner *l, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = l->s->p;
	int32_t workers = berth_pool_workers(l->s->cfg.pool);
	size_t ops = (size_t)p->n_ops, n;
	l->dims = (doppler_dims){HIDDEN, ROUNDS};
	BERTH_TRY(doppler_view_new(p, tmp, l->s->mem, &l->v, err));
	BERTH_TRY_NEW(tmp, workers, err, l->actor);
	for (int32_t i = 0; i < workers; i++)
		BERTH_TRY(doppler_actor_new(&l->v, &l->dims, tmp, &l->actor[i], err));
	for (int32_t i = 0; i < EPISODES; i++)
		BERTH_TRY(doppler_episode_new(&l->v, tmp, &l->episode[i], err));
	n = doppler_param_count(&l->dims);
	BERTH_TRY_NEW(tmp, n, err, l->params, l->grads);
	BERTH_TRY(adam_new(n, tmp, &l->adam, err));
	BERTH_TRY_NEW(tmp, doppler_acts_size(&l->dims, &l->v.in), err, l->acts);
	BERTH_TRY_NEW(tmp, doppler_work_size(&l->dims, &l->v.in), err, l->work);
	BERTH_TRY_NEW(tmp, ops, err, l->ready, l->waits);
	BERTH_TRY_NEW(tmp, EPISODES * ops, err, l->op_devs, l->orders);
	berth_rng rng = berth_rng_seed(l->s->cfg.seed, BERTH_STREAM_INIT);
	doppler_init(&l->dims, l->params, &rng);
	return BERTH_OK;
}

/* ---- gradients ---- */

static void begin_gradient(learner *l)
{
	BERTH_CLEAR(l->grads, doppler_param_count(&l->dims));
	doppler_backward_begin(&l->dims, &l->v.in, l->acts);
}

static double add_episode(learner *l, const doppler_episode *ep, double weight)
{
	return doppler_episode_backward(&l->dims, l->params, &l->v.in, l->acts, ep, weight, l->work, l->ready,
	                                l->waits, l->grads);
}

static berth_status descend(learner *l, double rate, berth_err *err)
{
	double norm;
	doppler_backward_end(&l->dims, l->params, &l->v.in, l->acts, l->grads);
	return adam_step(rate, &l->adam, l->params, l->grads, &norm, err);
}

/* ---- the two stages ---- */

/* Follow the list, softly: until its steps have the mean log-probability of MASS. Nothing is evaluated here,
 * so that time may end it. */
static berth_status imitate(learner *l, const doppler_episode *teacher, berth_err *err)
{
	for (int k = 0; k < IMITATION_STEPS && berth_search_budget_left(l->s, 1) > 0; k++) {
		doppler_embed(&l->dims, l->params, &l->v.in, l->acts);
		begin_gradient(l);
		if (add_episode(l, teacher, 1) < -log(MASS))
			return BERTH_OK;
		BERTH_TRY(descend(l, IMITATION_RATE, err));
	}
	return BERTH_OK;
}

static void play(void *ctx, int32_t item, int32_t worker)
{
	learner *l = ctx;
	doppler_actor *a = &l->actor[worker];
	const berth_problem *p = l->s->p;
	int64_t k = l->episodes + item;
	berth_rng rng = berth_rng_seed(l->s->cfg.seed, BERTH_STREAM_ROLLOUT + (uint64_t)k);
	double memory = p->memory_free ? 0 : berth_memory_share[k % BERTH_MEMORY_TRIES];
	doppler_episode_run(a, l->params, l->acts, &rng, memory, &l->episode[item]);
	berth_partial_devs(a->part, BERTH_ROW(l->op_devs, item, p->n_ops));
	berth_partial_order(a->part, BERTH_ROW(l->orders, item, p->n_ops));
}

static berth_status reinforce(learner *l, int32_t n, berth_err *err)
{
	doppler_embed(&l->dims, l->params, &l->v.in, l->acts);
	berth_pool_run(l->s->cfg.pool, n, play, l);
	berth_search_offer_batch_ordered(l->s, n, l->op_devs, l->orders, l->score[0]);
	for (int32_t i = 0; i < n; i++)
		l->reward[i] = berth_reward(
			l->reference, l->score[i][berth_score_less(l->score[i][1], l->score[i][0])]);
	berth_baseline_move(&l->baseline, l->episodes > 0 ? KEEP : 0, n, l->reward);
	l->episodes += n;
	begin_gradient(l);
	for (int32_t i = 0; i < n; i++)
		add_episode(l, &l->episode[i], berth_baseline_advantage(&l->baseline, l->reward[i]) / n);
	return descend(l, RATE, err);
}

static berth_status doppler_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	learner l = {.s = s};
	int64_t left;
	BERTH_TRY(new_learner(&l, tmp, err));
	doppler_episode_run(&l.actor[0], NULL, NULL, NULL, s->p->memory_free ? 0 : 1, &l.episode[0]);
	berth_partial_devs(l.actor[0].part, l.op_devs);
	berth_partial_order(l.actor[0].part, l.orders);
	berth_search_offer_ordered(s, l.op_devs, l.orders);
	BERTH_TRY(berth_repair_incumbent(s, tmp, err));
	if (s->p->n_ops == 0 || berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(berth_single_reference(s, &l.reference, tmp, err));
	BERTH_TRY(imitate(&l, &l.episode[0], err));
	while ((left = berth_search_budget_left(s, 2 * EPISODES)) > 1)
		BERTH_TRY(reinforce(&l, (int32_t)(left / 2), err));
	if (left == 1) {
		play(&l, 0, 0);
		berth_search_offer(s, l.op_devs, NULL);
	}
	return BERTH_OK;
}

const berth_method berth_method_doppler = {"doppler",
                                           "Two policies, of the next operator and of its device, along a "
                                           "list: imitation, then REINFORCE (Yao et al. 2026).",
                                           true, doppler_run, NULL, "Yao et al., ICLR 2026"};
