/* Learning the sequential decoding: PPO over the decisions of whole episodes (each decision's ratio clipped
 * on its own, one advantage for all), a Gaussian policy over the keys of the list, and imitation by
 * following a placement along the list. Batches that are taught follow the pair's incumbent: without a guide,
 * and after one, two and three passes of the policy, as far as there is room. The batches of a round are
 * independent but for the policy that they start from, so each is one item for the workers, and for ranks
 * (sequence_ranks.h). */
#include "sequence_ranks.h"

#define EXP _Generic((nn_real)0, float: expf, double: exp)

/* Floats that the features of a batch may take; larger problems draw fewer episodes at once. */
enum { MOST_FLOATS = 1 << 26 };

/* Batches of a pair differ by their guides, so each has its own baseline. */
#define KEEP 0.0

static int32_t window(const berth_learner_cfg *cfg)
{
	(void)cfg;
	return 0;
}

static berth_status new_pair(const berth_learner_cfg *cfg, berth_pair *pair, berth_arena *mem, berth_err *err)
{
	(void)cfg;
	return berth_rollout_new(pair->s, &pair->e, mem, &pair->rollout, err);
}

static berth_status new_scratch(berth_learner *l, const learner_sizes *z, berth_arena *mem, berth_err *err)
{
	size_t room = MOST_FLOATS / (size_t)l->cfg.at_once / (z->op_cells * N_STEP + 1);
	size_t episodes = (z->rows + 1) / 2;
	for (int32_t k = 0; k < l->cfg.at_once; k++) {
		berth_sequence *q = &l->batch[k].sequence;
		q->most = room < 2 ? 2 : room < episodes ? (int32_t)room : (int32_t)episodes;
		size_t hidden = (size_t)l->cfg.hidden;
		BERTH_TRY_NEW(mem, q->most, err, q->episode);
		for (int32_t i = 0; i < q->most; i++)
			BERTH_TRY(berth_episode_new(z->ops, z->op_cells, mem, &q->episode[i], err));
		BERTH_TRY_NEW(mem, (size_t)q->most * z->ops, err, q->op_devs, q->orders);
		BERTH_TRY_NEW(mem, 2 * (size_t)q->most, err, q->scores);
		BERTH_TRY_NEW(mem, z->op_cells * hidden, err, q->hidden);
		BERTH_TRY_NEW(mem, z->op_cells, err, q->logits, q->dlogits);
		BERTH_TRY_NEW(mem, 2 * z->op_cells, err, q->work);
		BERTH_TRY_NEW(mem, z->ops, err, q->guide_dev);
		BERTH_TRY(berth_guide_room(z->ops, z->op_cells, mem, &q->guide, err));
		BERTH_TRY_NEW(mem, z->groups, err, q->keys);
		BERTH_TRY(BERTH_NEW(mem, q->dkeys, z->groups, err));
	}
	return BERTH_OK;
}

static policy_stepper embed(const berth_learner *l, berth_batch *b)
{
	const policy_input *in = &b->pair->e.in;
	policy_embed(&l->dims, l->params, in, b->acts);
	return policy_stepper_of(&l->dims, l->params, in, b->acts);
}

/* ---- drawing ---- */

/* On one worker; on all of them where that is ALL, and the placements are offered then. */
enum { ALL = -1 };

/* A list schedule under the guide as it is. trace NULL: greedy, its placement into guide_dev; else the
 * devices of force [n_ops], with what was decided. */
static void run_list(berth_batch *b, const policy_stepper *net, int32_t worker, const int32_t *force,
                     berth_episode *trace)
{
	berth_sequence *q = &b->sequence;
	berth_decoder *decoder = b->pair->rollout.decoder[worker];
	berth_decode_how how = {.temperature = 1, .guide = &q->guide, .force = force};
	berth_partial *part = berth_decoder_partial(decoder);
	berth_partial_limit_memory(part, 0);
	berth_decode(decoder, net, &how, part, trace);
	if (!trace)
		berth_partial_devs(part, q->guide_dev);
}

static void drop_guide(berth_batch *b)
{
	b->sequence.guide.p = b->pair->s->p;
	b->sequence.guide.is_set = false;
}

/* What `passes` more greedy passes come to is the guide. */
static void pass_on(berth_batch *b, const policy_stepper *net, int32_t worker, int64_t passes)
{
	for (int64_t k = 0; k < passes; k++) {
		run_list(b, net, worker, NULL, NULL);
		berth_guide_set(&b->sequence.guide, b->sequence.guide_dev);
	}
}

enum { GUIDES = 4 };

/* Batches of a pair take turns: no guide, or what one, two, three greedy passes come to. */
static void find_guide(berth_batch *b, const policy_stepper *net, int32_t worker)
{
	int32_t most = b->sequence.most;
	drop_guide(b);
	pass_on(b, net, worker, b->first / (most ? most : 1) % GUIDES);
}

static void draw_batch(const berth_learner *l, berth_batch *b, int32_t worker)
{
	const berth_rollout *w = &b->pair->rollout;
	policy_stepper net = embed(l, b);
	find_guide(b, &net, worker == ALL ? 0 : worker);
	const berth_sequence *q = &b->sequence;
	berth_rollout_batch draws = (berth_rollout_batch){.n = b->n,
	                                                  .seed = b->pair->seed,
	                                                  .first = b->first,
	                                                  .temperature = 1,
	                                                  .key_sigma = l->cfg.key_sigma,
	                                                  .guide = q->guide.is_set ? &q->guide : NULL,
	                                                  .op_devs = q->op_devs,
	                                                  .orders = q->orders,
	                                                  .scores = q->scores,
	                                                  .episode = q->episode};
	BERTH_COPY(b->sequence.keys, net.keys, b->pair->e.n_groups);
	if (worker == ALL)
		berth_rollout_draw(w, &net, &draws);
	else
		berth_rollout_draw_alone(w, worker, &net, &draws);
	b->best = 0;
	for (int32_t i = 0; i < b->n; i++) {
		b->score[i] = berth_rollout_score(&draws, i);
		b->best = berth_score_less(b->score[i], b->score[b->best]) ? i : b->best;
	}
	learner_note_rewards(b, KEEP);
}

/* ---- being taught ---- */

/* What is to be imitated, into the first row: the pair's incumbent, or what l->teach finds. */
static berth_status find_teacher(const berth_learner *l, berth_batch *b, const policy_stepper *net,
                                 int32_t worker, berth_err *err)
{
	berth_sequence *q = &b->sequence;
	bool first = b->pair->episodes == 0;
	if (b->search) {
		drop_guide(b);
		pass_on(b, net, worker, first ? 0 : GUIDES);
		return l->teach(l->teach_ctx, (int32_t)(b->pair - l->pair), first ? NULL : q->guide_dev,
		                q->op_devs, q->orders, q->scores, err);
	}
	berth_search_tell_ordered(b->pair->s, q->op_devs, q->orders, q->scores);
	return BERTH_OK;
}

/* Follow it under each of the guides. */
static berth_status be_taught(const berth_learner *l, berth_batch *b, int32_t worker, berth_err *err)
{
	berth_sequence *q = &b->sequence;
	policy_stepper net = embed(l, b);
	BERTH_TRY(find_teacher(l, b, &net, worker, err));
	drop_guide(b);
	b->best = 0;
	for (int32_t i = 0; i < b->n; i++) {
		pass_on(b, &net, worker, i > 0);
		run_list(b, &net, worker, q->op_devs, &q->episode[i]);
		b->score[i] = q->scores[berth_score_less(q->scores[1], q->scores[0])];
	}
	learner_note_rewards(b, KEEP);
	return BERTH_OK;
}

static void drawn(const berth_learner *l, const berth_pair *pair, int32_t k, int32_t *op_dev)
{
	size_t n_ops = (size_t)pair->s->p->n_ops;
	BERTH_COPY(op_dev, BERTH_ROW(l->batch->sequence.op_devs, k, n_ops), n_ops);
}

/* ---- gradients ---- */

static policy_steps steps_of(const berth_episode *ep)
{
	return (policy_steps){(size_t)ep->n_steps, ep->node, ep->x};
}

/* Gradient of the keys of one episode: normal density, ratio clipped like the devices'. */
static void add_key_gradient(const berth_learner *l, berth_batch *b, const berth_episode *ep,
                             nn_real advantage, double share)
{
	const nn_real *now = policy_keys(&l->dims, &b->pair->e.in, b->acts);
	berth_sequence *q = &b->sequence;
	double sigma = l->cfg.key_sigma, low = 1 - l->cfg.clip, high = 1 + l->cfg.clip, A = (double)advantage;
	for (int32_t op = 0; op < b->pair->s->p->n_ops; op++) {
		int32_t v = b->pair->e.co.op_group[op];
		double moved = (double)(now[v] - q->keys[v]) / sigma, z = (double)ep->noise[op];
		double ratio = exp(fmin(z * moved - moved * moved / 2, 20));
		if ((A > 0 && ratio > high) || (A < 0 && ratio < low))
			continue;
		q->dkeys[v] -= (nn_real)(share * ratio * A * (z - moved) / sigma);
	}
}

/* One episode's share of the loss and its gradient; *now is added to stats. */
static berth_status add_episode(const berth_learner *l, berth_batch *b, int32_t i, policy_ppo_stats *sums,
                                berth_err *err)
{
	berth_sequence *q = &b->sequence;
	const berth_episode *ep = &q->episode[i];
	const policy_input *in = &b->pair->e.in;
	policy_steps steps = steps_of(ep);
	policy_ppo_cfg ppo = {l->cfg.clip, l->cfg.entropy};
	policy_ppo_stats now;
	int32_t n = b->n, n_devs = b->pair->e.n_devs;
	size_t cells = steps.n * (size_t)n_devs;
	policy_steps_forward(&l->dims, l->params, in, b->acts, &steps, q->hidden, q->logits);
	BERTH_CLEAR(q->dlogits, cells);
	BERTH_TRY(policy_ppo_loss(&ppo, 1, ep->n_steps, n_devs, q->logits, ep->mask, ep->action, ep->logp,
	                          &b->advantage[i], q->work, q->dlogits, &now, err));
	for (size_t k = 0; k < cells; k++)
		q->dlogits[k] /= (nn_real)n;
	policy_steps_backward(&l->dims, l->params, in, b->acts, &steps, q->hidden, q->dlogits, b->grads);
	add_key_gradient(l, b, ep, b->advantage[i], 1.0 / ((double)n * b->pair->s->p->n_ops));
	sums->policy_loss += now.policy_loss / n;
	sums->entropy += now.entropy / n;
	sums->kl += now.kl / n;
	sums->clip_fraction += now.clip_fraction / n;
	return BERTH_OK;
}

static void begin_gradient(const berth_learner *l, berth_batch *b)
{
	BERTH_CLEAR(b->grads, policy_param_count(&l->dims));
	BERTH_CLEAR(b->sequence.dkeys, b->pair->e.n_groups);
	policy_backward_begin(&l->dims, &b->pair->e.in, b->acts);
}

static void end_gradient(const berth_learner *l, berth_batch *b)
{
	policy_backward_end(&l->dims, l->params, &b->pair->e.in, b->acts, b->sequence.dkeys, b->grads);
}

/* The share of one episode that followed a placement; *loss grows by it. What was decided is left in work. */
static berth_status add_imitation(const berth_learner *l, berth_batch *b, const berth_episode *ep,
                                  double share, double *loss, berth_err *err)
{
	berth_sequence *q = &b->sequence;
	const policy_input *in = &b->pair->e.in;
	int32_t n_devs = b->pair->e.n_devs;
	policy_steps steps = steps_of(ep);
	nn_real one = 1;
	double own;
	policy_steps_forward(&l->dims, l->params, in, b->acts, &steps, q->hidden, q->logits);
	BERTH_CLEAR(q->dlogits, steps.n * (size_t)n_devs);
	BERTH_TRY(policy_ce_loss(share, 1, ep->n_steps, n_devs, q->logits, ep->mask, ep->action, &one,
	                         q->work, q->dlogits, &own, err));
	policy_steps_backward(&l->dims, l->params, in, b->acts, &steps, q->hidden, q->dlogits, b->grads);
	*loss += own;
	return BERTH_OK;
}

/* Epoch k's gradient of a batch, which is embedded; b->ended where it is not to be taken. */
static berth_status find_gradient(const berth_learner *l, berth_batch *b, int32_t k, berth_err *err)
{
	policy_ppo_stats now = {0};
	if (b->taught) {
		double loss = 0;
		begin_gradient(l, b);
		for (int32_t i = 0; i < b->n; i++)
			BERTH_TRY(add_imitation(l, b, &b->sequence.episode[i], 1.0 / b->n, &loss, err));
		end_gradient(l, b);
		b->stats.clone_loss = loss;
		return BERTH_OK;
	}
	begin_gradient(l, b);
	for (int32_t i = 0; i < b->n; i++)
		BERTH_TRY(add_episode(l, b, i, &now, err));
	learner_note_ppo(&now, &b->stats);
	b->ended = k && now.kl > l->cfg.kl_stop;
	if (!b->ended)
		end_gradient(l, b);
	return BERTH_OK;
}

/* ---- a round ---- */

typedef struct pass {
	berth_learner *l;
	int32_t epoch;
	const int32_t *order; /* of this rank's batches */
} pass;

/* A batch's part of a pass over the round: the draw and the first epoch, or another epoch. */
static void run_batch(const pass *x, berth_batch *b, int32_t worker)
{
	if (b->ended)
		return;
	if (x->epoch > 0)
		embed(x->l, b);
	else if (b->taught)
		b->status = be_taught(x->l, b, worker == ALL ? 0 : worker, &b->err);
	else
		draw_batch(x->l, b, worker);
	b->ended = b->pair->e.n_groups == 0 || x->l->cfg.epochs == 0 || b->status != BERTH_OK;
	b->ended |= b->taught && !berth_score_feasible(b->score[0]); /* it is no example */
	if (!b->ended)
		b->status = find_gradient(x->l, b, x->epoch, &b->err);
}

static void run_item(void *ctx, int32_t item, int32_t worker)
{
	const pass *x = ctx;
	run_batch(x, &x->l->batch[x->order[item]], worker);
}

/* What a round is made of. */
typedef struct turns {
	int32_t n, order[BERTH_MOST_AT_ONCE]; /* the longest first, so that no worker comes last with it */
	int32_t n_mine, mine[BERTH_MOST_AT_ONCE]; /* those of this rank */
	bool alone; /* one batch, and one rank */
} turns;

static berth_status run_pass(berth_learner *l, const turns *t, int32_t epoch, berth_err *err)
{
	pass x = {l, epoch, t->mine};
	if (t->alone)
		run_batch(&x, l->batch, ALL);
	else
		berth_pool_run(l->batch->pair->s->cfg.pool, t->n_mine, run_item, &x);
	return sequence_trade(l, t->n, epoch, err);
}

static int64_t work_of(const berth_batch *b)
{
	return (int64_t)b->n * b->pair->n_ops * b->pair->e.n_devs;
}

/* Sizes, first episodes, and the order to work in. A pair that comes again goes on where its batch before
 * ends. */
static void start_batches(berth_learner *l, int32_t n, const berth_turn *turn, int32_t *order)
{
	for (int32_t k = 0; k < n; k++) {
		berth_batch *b = &l->batch[k];
		int32_t most = b->sequence.most, at = k;
		int32_t want = turn[k].taught ? GUIDES : turn[k].left / 2;
		b->taught = turn[k].taught;
		b->search = turn[k].search;
		b->n = want < most ? want : most;
		b->n = b->n > 0 ? b->n : 1; /* the last evaluation of an odd budget may become two */
		b->first = b->pair->episodes;
		b->ended = false;
		b->status = BERTH_OK;
		for (int32_t i = 0; i < k; i++)
			b->first += l->batch[i].pair == b->pair ? l->batch[i].n : 0;
		for (; at > 0 && work_of(b) > work_of(&l->batch[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = k;
	}
}

/* Into their pairs, by all ranks. Of the placements the best one is offered, which leaves the incumbent that
 * all of them would. */
static void settle_round(berth_learner *l, const turns *t)
{
	for (int32_t k = 0; k < t->n; k++) {
		berth_batch *b = &l->batch[k];
		berth_search *s = b->pair->s;
		size_t row = (size_t)b->best * (size_t)b->pair->n_ops;
		learner_settle(b, KEEP);
		if (b->taught) {
			berth_search_keep(s, b->sequence.scores[0], b->sequence.op_devs, NULL);
			berth_search_keep(s, b->sequence.scores[1], b->sequence.op_devs, b->sequence.orders);
			continue;
		}
		l->evaluations += sequence_is_mine(l, b) ? 2 * (int64_t)b->n : 0;
		if (t->alone)
			continue;
		s->evaluations += 2 * (int64_t)(b->n - 1);
		berth_search_offer_scored(s, 1, b->sequence.op_devs + row, b->sequence.orders + row,
		                          b->sequence.scores + 2 * (size_t)b->best);
	}
}

/* The first failure of a batch. */
static berth_status check_batches(const berth_learner *l, int32_t n, berth_err *err)
{
	for (int32_t k = 0; k < n; k++)
		if (l->batch[k].status != BERTH_OK)
			return berth_fail(err, l->batch[k].status, "%s", l->batch[k].err.msg);
	return BERTH_OK;
}

/* Each batch's own gradient step, in their order. */
static berth_status take_steps(berth_learner *l, int32_t n, bool *ended, berth_err *err)
{
	*ended = true;
	BERTH_TRY(check_batches(l, n, err));
	for (int32_t k = 0; k < n; k++) {
		berth_batch *b = &l->batch[k];
		if (b->ended)
			continue;
		BERTH_TRY(learner_apply(l, b, &b->stats.grad_norm, err));
		*ended = false;
	}
	return BERTH_OK;
}

static berth_status run_round(berth_learner *l, int32_t n, const berth_turn *turn, berth_err *err)
{
	turns t;
	bool ended = false;
	int64_t work[BERTH_MOST_AT_ONCE] = {0};
	t = (turns){.n = n, .alone = n == 1 && !sequence_is_shared(l)};
	start_batches(l, n, turn, t.order);
	for (int32_t k = 0; k < n; k++)
		work[k] = work_of(&l->batch[k]);
	sequence_deal(l, n, t.order, work);
	for (int32_t k = 0; k < n; k++)
		if (sequence_is_mine(l, &l->batch[t.order[k]]))
			t.mine[t.n_mine++] = t.order[k];
	if (l->open)
		BERTH_TRY(l->open(l->open_ctx, n, err));
	BERTH_TRY(run_pass(l, &t, 0, err));
	BERTH_TRY(check_batches(l, n, err));
	settle_round(l, &t);
	for (int32_t k = 1; !ended; k++) {
		BERTH_TRY(take_steps(l, n, &ended, err));
		if (k >= l->cfg.epochs)
			break;
		if (!ended)
			BERTH_TRY(run_pass(l, &t, k, err));
	}
	return BERTH_OK;
}

/* ---- imitation ---- */

/* Mean probability of the actions, from the log-probabilities that stand first in work. */
static double mass_of(const berth_sequence *q, const berth_episode *ep, int32_t n_devs)
{
	double sum = 0;
	for (int32_t i = 0; i < ep->n_steps; i++)
		sum += (double)EXP(q->work[(size_t)i * (size_t)n_devs + (size_t)ep->action[i]]);
	return ep->n_steps ? sum / ep->n_steps : 1;
}

/* One gradient step; *mass: the mean probability of the choices before it. At `enough` there is none. */
static berth_status imitate(berth_learner *l, const int32_t *op_dev, double enough, double *mass,
                            berth_err *err)
{
	berth_batch *b = l->batch;
	berth_episode *ep = &b->sequence.episode[0];
	policy_stepper net = embed(l, b);
	double loss = 0, norm;
	drop_guide(b);
	run_list(b, &net, 0, op_dev, ep);
	begin_gradient(l, b);
	BERTH_TRY(add_imitation(l, b, ep, 1, &loss, err));
	*mass = mass_of(&b->sequence, ep, b->pair->e.n_devs);
	if (*mass >= enough)
		return BERTH_OK;
	end_gradient(l, b);
	return learner_apply(l, b, &norm, err);
}

/* One placement after the other: each is followed along the list. */
static berth_status clone(berth_learner *l, berth_pair *pair, int32_t n, const int32_t *const *op_devs,
                          int32_t steps, double mass, berth_err *err)
{
	l->batch->pair = pair;
	for (int32_t i = 0; i < n; i++) {
		double now = 0;
		for (int32_t k = 0; k < (steps + n - 1) / n && now < mass; k++)
			BERTH_TRY(imitate(l, op_devs[i], mass, &now, err));
	}
	return BERTH_OK;
}

static berth_status offer_greedy(berth_learner *l, berth_pair *pair, berth_arena *tmp, berth_err *err)
{
	l->batch->pair = pair;
	policy_stepper net = embed(l, l->batch);
	return berth_rollout_offer_greedy(&pair->rollout, &net, NULL, tmp, err);
}

const learner_decoding learner_sequence = {
	.window = window,
	.new_pair = new_pair,
	.new_scratch = new_scratch,
	.round = run_round,
	.drawn = drawn,
	.offer_greedy = offer_greedy,
	.clone = clone,
};
