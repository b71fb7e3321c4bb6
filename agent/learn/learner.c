/* The learner's state, a step of it, and cloning. What differs between decodings goes through their table
 * of operations. */
#include "learner.h"

static const learner_decoding *const decodings[] = {
#define X(constant, operations, name) &learner_##operations,

	BERTH_DECODINGS(X)
#undef X

};

static const learner_decoding *decoding_of(const berth_learner *l)
{
	return decodings[l->cfg.decoding];
}

/* ---- set-up ---- */

berth_status berth_learner_open_pair(berth_learner *l, int32_t i, berth_search *s, berth_arena *mem,
                                     berth_arena *tmp, berth_err *err)
{
	berth_pair *pair = &l->pair[i];
	pair->s = s;
	pair->n_ops = s->p->n_ops;
	berth_aim aim = berth_aim_of(&s->cfg.objective);
	BERTH_TRY(berth_encode(s->p, aim, l->cfg.groups, l->cfg.hints, mem, tmp, &pair->e, err));
	BERTH_TRY(policy_input_check(&l->dims, &pair->e.in, err));
	return decoding_of(l)->new_pair(&l->cfg, pair, mem, err);
}

static void raise_to(size_t *most, size_t x)
{
	*most = x > *most ? x : *most;
}

void berth_learner_measure(const berth_learner *l, int32_t i, learner_sizes *z)
{
	const berth_pair *pair = &l->pair[i];
	size_t devs = (size_t)pair->e.n_devs;
	raise_to(&z->groups, (size_t)pair->e.n_groups);
	raise_to(&z->cells, (size_t)pair->e.n_groups * devs);
	raise_to(&z->ops, (size_t)pair->n_ops);
	raise_to(&z->op_cells, (size_t)pair->n_ops * devs);
	raise_to(&z->acts, policy_acts_size(&l->dims, pair->e.n_groups, pair->e.in.n_edges, pair->e.n_devs));
	raise_to(&z->workers, (size_t)berth_pool_workers(pair->s->cfg.pool));
	raise_to(&z->rows, (size_t)l->cfg.batch);
}

berth_status berth_learner_make_room(berth_learner *l, const learner_sizes *z, berth_arena *mem,
                                     berth_err *err)
{
	BERTH_TRY_NEW(mem, l->cfg.at_once, err, l->batch);
	for (int32_t k = 0; k < l->cfg.at_once; k++) {
		berth_batch *b = &l->batch[k];
		BERTH_TRY_NEW(mem, z->acts, err, b->acts);
		BERTH_TRY_NEW(mem, policy_param_count(&l->dims), err, b->grads);
		BERTH_TRY_NEW(mem, z->rows, err, b->advantage, b->score, b->reward);
	}
	return decoding_of(l)->new_scratch(l, z, mem, err);
}

static berth_status new_closed(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params,
                               int32_t n_pairs, berth_arena *mem, berth_learner *out, berth_err *err)
{
	berth_learner l = {.cfg = *cfg, .seed = seed, .n_pairs = n_pairs, .lr_scale = 1};
	BERTH_TRY(berth_learner_cfg_check(cfg, err));
	l.dims = berth_encode_dims(cfg->hidden, cfg->rounds);
	size_t n = policy_param_count(&l.dims);
	BERTH_TRY_NEW(mem, n, err, l.params);
	BERTH_TRY(adam_new(n, mem, &l.adam, err));
	if (params) {
		BERTH_COPY(l.params, params, n);
	} else {
		berth_rng rng = berth_rng_seed(l.seed, BERTH_STREAM_INIT);
		policy_init(&l.dims, l.params, &rng);
		berth_decode_prior(&l.dims, l.params);
	}
	BERTH_TRY_NEW(mem, n_pairs, err, l.pair);
	for (int32_t i = 0; i < n_pairs; i++)
		l.pair[i].seed = seed + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
	*out = l;
	return BERTH_OK;
}

berth_status berth_learner_new_closed(const berth_learner_cfg *cfg, uint64_t seed, int32_t n_pairs,
                                      berth_arena *mem, berth_learner *out, berth_err *err)
{
	return new_closed(cfg, seed, NULL, n_pairs, mem, out, err);
}

berth_status berth_learner_new(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params,
                               berth_search *const *s, int32_t n_pairs, berth_arena *mem, berth_arena *tmp,
                               berth_learner *out, berth_err *err)
{
	berth_learner l;
	learner_sizes z = {.workers = 1};
	BERTH_TRY(new_closed(cfg, seed, params, n_pairs, mem, &l, err));
	z.rows = (size_t)cfg->batch;
	for (int32_t i = 0; i < n_pairs; i++) {
		BERTH_TRY(berth_learner_open_pair(&l, i, s[i], mem, tmp, err));
		berth_learner_measure(&l, i, &z);
	}
	BERTH_TRY(berth_learner_make_room(&l, &z, mem, err));
	*out = l;
	return BERTH_OK;
}

/* ---- cloning ---- */

berth_status berth_learner_clone_starts(berth_learner *l, int32_t i, int32_t n, const int32_t *const *op_devs,
                                        int32_t steps, berth_err *err)
{
	if (n == 0 || l->pair[i].e.n_groups == 0)
		return BERTH_OK;
	return decoding_of(l)->clone(l, &l->pair[i], n, op_devs, steps, l->cfg.seed_mass, err);
}

berth_status berth_learner_clone(berth_learner *l, int32_t i, const int32_t *op_dev, int32_t steps,
                                 berth_err *err)
{
	if (l->pair[i].e.n_groups == 0)
		return BERTH_OK;
	return decoding_of(l)->clone(l, &l->pair[i], 1, &op_dev, steps, 0.9, err);
}

/* ---- a step ---- */

int32_t berth_learner_window(const berth_learner_cfg *cfg)
{
	return decodings[cfg->decoding]->window(cfg);
}

berth_status berth_learner_round(berth_learner *l, int32_t n, const berth_turn *turn, berth_step_stats *stats,
                                 berth_err *err)
{
	assert(n <= l->cfg.at_once);
	for (int32_t k = 0; k < n; k++) {
		l->batch[k].pair = &l->pair[turn[k].pair];
		l->batch[k].stats = (berth_step_stats){.clone_loss = NAN};
	}
	BERTH_TRY(decoding_of(l)->round(l, n, turn, err));
	l->steps += n;
	for (int32_t k = 0; stats && k < n; k++)
		stats[k] = l->batch[k].stats;
	return BERTH_OK;
}

berth_status berth_learner_step(berth_learner *l, int32_t i, int32_t left, berth_step_stats *stats,
                                berth_err *err)
{
	return berth_learner_round(l, 1, &(berth_turn){.pair = i, .left = left}, stats, err);
}

void berth_learner_drawn(const berth_learner *l, int32_t i, int32_t k, int32_t *op_dev)
{
	decoding_of(l)->drawn(l, &l->pair[i], k, op_dev);
}

berth_status berth_learner_offer_greedy(berth_learner *l, int32_t i, berth_arena *tmp, berth_err *err)
{
	return decoding_of(l)->offer_greedy(l, &l->pair[i], tmp, err);
}

static double keep_of(const berth_pair *pair, double keep)
{
	return pair->episodes > 0 ? keep : 0;
}

void learner_note_rewards(berth_batch *b, double keep)
{
	berth_step_stats *stats = &b->stats;
	double values = 0;
	stats->n = b->n;
	stats->best = -INFINITY;
	stats->worst = INFINITY;
	for (int32_t i = 0; i < b->n; i++) {
		b->reward[i] = berth_reward(b->pair->reference, b->score[i]);
		stats->best = fmax(stats->best, b->reward[i]);
		stats->worst = fmin(stats->worst, b->reward[i]);
		if (berth_score_feasible(b->score[i])) {
			stats->feasible++;
			values += b->score[i].value;
		}
	}
	b->baseline = b->pair->baseline;
	stats->mean = berth_baseline_move(&b->baseline, keep_of(b->pair, keep), b->n, b->reward);
	for (int32_t i = 0; i < b->n; i++)
		b->advantage[i] = (nn_real)berth_baseline_advantage(&b->baseline, b->reward[i]);
	stats->mean_value = stats->feasible ? values / stats->feasible : NAN;
}

void learner_settle(const berth_batch *b, double keep)
{
	berth_pair *pair = b->pair;
	berth_baseline_move(&pair->baseline, keep_of(pair, keep), b->n, b->reward);
	pair->episodes += b->n;
	pair->s->mean = b->stats.mean_value;
}

void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats)
{
	stats->policy_loss = now->policy_loss;
	stats->kl = now->kl;
	stats->clip_fraction = now->clip_fraction;
	stats->entropy = now->entropy;
}

berth_status learner_apply(berth_learner *l, const berth_batch *b, double *norm, berth_err *err)
{
	return adam_step(l->cfg.lr * l->lr_scale, &l->adam, l->params, b->grads, norm, err);
}
