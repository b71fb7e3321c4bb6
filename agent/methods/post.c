/* Post's Algorithm 1 and its halves. Two readings: each group's ratio is clipped on its own, as
 * the product over all groups learns nothing. The baseline is a moving average of rewards, which are
 * logarithms of the value. */
#include "encode.h"
#include "method.h"
#include "policy_loss.h"
#include "portfolio.h"
#include "search.h"

typedef struct post_cfg {
	int32_t groups;    /* default 64 */
	int32_t ppo_every; /* K: PPO on the latest K samples; 0: never; default 10 */
	/* N, a multiple of K: cross-entropy on the latest N samples. 0: never. Default 100. */
	int32_t ce_every;
	int32_t steps;  /* gradient steps of a PPO update; default 10 */
	double lr;      /* of plain gradient ascent per group; default 0.03 */
	double clip;    /* default 0.2 */
	double elite;   /* rho: share of the N samples that is fitted; default 0.1 */
	double epsilon; /* uniform share mixed in after each fit; default 0.02 */
} post_cfg;

#define KEEP 0.8 /* of the baseline, from chunk to chunk */

static post_cfg post_cfg_default(void)
{
	return (post_cfg){.groups = 64,
	                  .ppo_every = 10,
	                  .ce_every = 100,
	                  .steps = 10,
	                  .lr = 0.03,
	                  .clip = 0.2,
	                  .elite = 0.1,
	                  .epsilon = 0.02};
}

typedef struct table {
	berth_search *s;
	post_cfg cfg;
	berth_encoding e;
	size_t groups, devs, ops;
	int32_t chunk, n; /* samples drawn together; in the window of N now */
	nn_real *u, *logp, *work, *du, *old_logp, *advantage; /* u, logp, du [groups][devs] */
	double *threshold;                                    /* [groups][devs] */
	int32_t *action;                                      /* [N][groups] */
	double *reward;                                       /* [N] */
	int32_t *op_devs;
	berth_score *score;
	double reference;
	berth_baseline baseline;
	int64_t episodes;
} table;

/* Draw n placements behind those of the window, and score them. */
static berth_status draw_chunk(table *t, int32_t n, berth_err *err)
{
	BERTH_TRY(policy_log_probs(t->e.n_groups, t->e.n_devs, t->u, t->e.in.mask, t->logp, err));
	berth_encoding_thresholds(&t->e, t->logp, t->threshold);
	for (int32_t i = 0; i < n; i++) {
		size_t at = (size_t)(t->n + i) * t->groups;
		berth_rng rng =
			berth_rng_seed(t->s->cfg.seed, BERTH_STREAM_ROLLOUT + (uint64_t)t->episodes++);
		berth_encoding_draw(&t->e, t->threshold, &rng, t->action + at);
		berth_encoding_pick(&t->e, t->logp, t->action + at, t->old_logp + at);
		berth_encoding_project(&t->e, t->action + at, BERTH_ROW(t->op_devs, i, t->ops));
	}
	berth_search_offer_batch(t->s, n, t->op_devs, t->score);
	for (int32_t i = 0; i < n; i++)
		t->reward[t->n + i] = berth_reward(t->reference, t->score[i]);
	berth_baseline_move(&t->baseline, t->episodes > n ? KEEP : 0, n, t->reward + t->n);
	return BERTH_OK;
}

/* Gradient steps on the chunk that begins at sample `from`. */
static berth_status ppo(table *t, int32_t from, int32_t n, berth_err *err)
{
	policy_ppo_cfg cfg = {t->cfg.clip, 0};
	policy_ppo_stats stats;
	size_t cells = t->groups * t->devs, at = (size_t)from * t->groups;
	for (int32_t i = 0; i < n; i++)
		t->advantage[i] = (nn_real)berth_baseline_advantage(&t->baseline, t->reward[from + i]);
	for (int32_t k = 0; k < t->cfg.steps; k++) {
		BERTH_CLEAR(t->du, cells);
		BERTH_TRY(policy_ppo_loss(&cfg, n, t->e.n_groups, t->e.n_devs, t->u, t->e.in.mask,
		                          t->action + at, t->old_logp + at, t->advantage, t->work, t->du,
		                          &stats, err));
		for (size_t i = 0; i < cells; i++)
			/* The loss is a mean over groups. */
			t->u[i] -= (nn_real)(t->cfg.lr * (double)t->groups) * t->du[i];
	}
	return BERTH_OK;
}

/* Closed form of the cross-entropy step: the elite's frequencies, mixed with the uniform distribution over
 * legal devices. */
static void fit_elite(table *t)
{
	int32_t n = (int32_t)ceil(t->cfg.elite * t->n);
	BERTH_CLEAR(t->du, t->groups * t->devs);
	for (int32_t k = 0; k < n; k++) {
		int32_t best = 0;
		for (int32_t i = 1; i < t->n; i++)
			if (t->reward[i] > t->reward[best])
				best = i;
		t->reward[best] = -INFINITY; /* the window ends here */
		for (size_t v = 0; v < t->groups; v++)
			t->du[v * t->devs + (size_t)t->action[(size_t)best * t->groups + v]] +=
				1 / (nn_real)n;
	}
	for (size_t v = 0; v < t->groups; v++) {
		const uint8_t *mask = t->e.in.mask + v * t->devs;
		int legal = 0;
		for (size_t d = 0; d < t->devs; d++)
			legal += mask[d];
		for (size_t d = 0; d < t->devs; d++)
			if (mask[d])
				t->u[v * t->devs + d] =
					(nn_real)log((1 - t->cfg.epsilon) * (double)t->du[v * t->devs + d] +
				                     t->cfg.epsilon / legal);
	}
}

/* Draw, score and learn until the budget of s ends; at least one placement is offered. Source of the
 * settings: our own measurements on public graphs; the paper's are not all readable. Fails: BERTH_ENOMEM. */
static berth_status post_run(berth_search *s, const post_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	table t = {.s = s, .cfg = *cfg};
	const post_cfg *c = &t.cfg;
	berth_aim aim = berth_aim_of(&t.s->cfg.objective);
	BERTH_TRY(berth_encode(t.s->p, aim, c->groups, false, tmp, t.s->mem, &t.e, err));
	t.groups = (size_t)t.e.n_groups;
	t.devs = (size_t)t.e.n_devs;
	t.ops = (size_t)t.s->p->n_ops;
	t.chunk = c->ppo_every ? c->ppo_every : c->ce_every;
	size_t cells = t.groups * t.devs,
	       window = (size_t)(c->ce_every > t.chunk ? c->ce_every : t.chunk);
	BERTH_TRY_NEW(tmp, cells, err, t.u, t.logp, t.du, t.threshold);
	BERTH_TRY_NEW(tmp, policy_loss_work_size(t.e.n_groups, t.e.n_devs), err, t.work);
	BERTH_TRY_NEW(tmp, window * t.groups, err, t.old_logp, t.action);
	BERTH_TRY_NEW(tmp, window, err, t.reward);
	BERTH_TRY_NEW(tmp, t.chunk, err, t.advantage);
	BERTH_TRY_NEW(tmp, (size_t)t.chunk * t.ops, err, t.op_devs);
	BERTH_TRY(BERTH_NEW(tmp, t.score, t.chunk, err));
	BERTH_TRY(berth_single_reference(s, &t.reference, tmp, err));
	for (bool first = true;; first = false) {
		int32_t n = (int32_t)berth_search_budget_left(s, t.chunk);
		if (n == 0 && !first)
			return BERTH_OK;
		n = n ? n : 1;
		BERTH_TRY(draw_chunk(&t, n, err));
		if (t.groups == 0)
			return BERTH_OK;
		int32_t from = t.n;
		t.n += n;
		bool fit = cfg->ce_every && t.n >= cfg->ce_every;
		if (cfg->ppo_every && !fit)
			BERTH_TRY(ppo(&t, from, n, err));
		if (fit)
			fit_elite(&t);
		if (fit || !cfg->ce_every)
			t.n = 0;
	}
}

static berth_status run_post(berth_search *s, berth_arena *tmp, berth_err *err)
{
	post_cfg cfg = post_cfg_default();
	return post_run(s, &cfg, tmp, err);
}

static berth_status run_ppo(berth_search *s, berth_arena *tmp, berth_err *err)
{
	post_cfg cfg = post_cfg_default();
	cfg.ce_every = 0;
	/* Alone it must go all the way itself. Each of the three has its best of the rates tried. */
	cfg.lr = 0.1;
	return post_run(s, &cfg, tmp, err);
}

/* One gradient step a chunk: every ratio is 1, so nothing is clipped. */
static berth_status run_reinforce(berth_search *s, berth_arena *tmp, berth_err *err)
{
	post_cfg cfg = post_cfg_default();
	cfg.ce_every = 0;
	cfg.steps = 1;
	cfg.lr = 0.3;
	return post_run(s, &cfg, tmp, err);
}

static berth_status run_cem(berth_search *s, berth_arena *tmp, berth_err *err)
{
	post_cfg cfg = post_cfg_default();
	cfg.ppo_every = 0;
	return post_run(s, &cfg, tmp, err);
}

const berth_method berth_method_post = {
	"post", "Softmax table per group, PPO and cross-entropy in turn (Gao, Chen, Li 2018).",
	true,   run_post,
	NULL,   "Gao, Chen, Li, NeurIPS 2018"};

const berth_method berth_method_ppo = {
	"ppo", "The PPO half of post alone, clipped per group (Schulman et al. 2017).",
	true,  run_ppo,
	NULL,  "Schulman et al. 2017"};

const berth_method berth_method_reinforce = {"reinforce",
                                             "Policy gradient with a moving baseline on the table of post "
                                             "(Williams 1992; Mirhoseini et al. 2017).",
                                             true, run_reinforce, NULL, "Williams 1992"};

const berth_method berth_method_cem = {"cem", "The cross-entropy half of post alone (Rubinstein 1999).", true,
                                       run_cem, NULL, "Rubinstein 1999"};
