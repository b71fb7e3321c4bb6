/* `hsdag`: HSDAG (Duan et al., NeurIPS 2024), one network per graph.
 *
 * Faithful: chains are joined, and features have the fractal dimension. The edge scores of a graph network
 * parse the graph by every node's dominant edge and connected components (the grouper by-score). Clusters
 * are placed by a softmax each. The gradient reaches the scores through the clusters (hsdag.h).
 *
 * Ours: parsing stops at a target count, where the released loop goes on to one cluster a component.
 * Placements on one device are not forbidden. Scores of merged edges are added up from round to round, not
 * computed anew.
 *
 * Two forms. REINFORCE as released has episodes of steps. Each step parses anew, with what its clusters'
 * embeddings leave in the nodes. An episode has one gradient step, for the sum of all log-probabilities
 * times the discounted sum of rewards 1 / latency, without a baseline. PPO draws placements from one
 * parsing, with a moving baseline of logarithmic rewards and each cluster's ratio clipped. The method is
 * the PPO form, the better one (docs/learning.md). */
#include "hsdag.h"
#include "method.h"
#include "nn_table.h"
#include "policy_loss.h"
#include "portfolio.h"

#define KEEP 0.8 /* of the baseline, from batch to batch */

berth_hsdag_cfg berth_hsdag_cfg_default(void)
{
	return (berth_hsdag_cfg){.ppo = true,
	                         .groups = 64,
	                         .hidden = 64,
	                         .batch = 10,
	                         .epochs = 4,
	                         .lr = 5e-4,
	                         .clip = 0.2,
	                         .entropy = 0.005,
	                         .steps = 20,
	                         .discount = 0.95,
	                         .reinforce_lr = 1e-3};
}

typedef struct learner {
	berth_search *s;
	berth_hsdag_cfg cfg;
	berth_arena *tmp;
	hsdag_view v;
	hsdag_dims dims;
	hsdag_parsing parsing;
	nn_real *params, *grads, *acts, *z;
	adam_state adam;
	/* [nodes][devs] three times; as policy_loss.h has it; [batch][nodes]; [batch]. */
	nn_real *logits, *logp, *dlogits, *work, *old_logp, *advantage;
	double *threshold;         /* [nodes][devs] */
	int32_t *action, *op_devs; /* [batch][nodes], [batch][n_ops] */
	berth_score *score;
	double *reward, reference;
	berth_baseline baseline;
	int64_t episodes;
} learner;

static berth_status new_learner(learner *l, berth_arena *tmp, berth_err *err)
{
	size_t batch = (size_t)l->cfg.batch, ops = (size_t)l->s->p->n_ops;
	BERTH_TRY(hsdag_view_new(l->s->p, tmp, l->s->mem, &l->v, err));
	BERTH_TRY(hsdag_parsing_new(&l->v, tmp, &l->parsing, err));
	l->dims = (hsdag_dims){HSDAG_FEATURES, l->cfg.hidden, l->s->p->n_devs};
	size_t n = hsdag_param_count(&l->dims), nodes = (size_t)l->v.g.n_nodes,
	       cells = nodes * (size_t)l->s->p->n_devs;
	BERTH_TRY_NEW(tmp, n, err, l->params, l->grads);
	BERTH_TRY(adam_new(n, tmp, &l->adam, err));
	BERTH_TRY_NEW(tmp, hsdag_acts_size(&l->dims, &l->v.g), err, l->acts);
	BERTH_TRY_NEW(tmp, nodes * (size_t)l->cfg.hidden, err, l->z);
	BERTH_TRY_NEW(tmp, cells, err, l->logits, l->logp, l->dlogits, l->threshold);
	BERTH_TRY_NEW(tmp, policy_loss_work_size((int32_t)nodes, l->s->p->n_devs), err, l->work);
	BERTH_TRY_NEW(tmp, batch * nodes, err, l->old_logp);
	BERTH_TRY_NEW(tmp, batch, err, l->advantage);
	BERTH_TRY_NEW(tmp, batch * nodes, err, l->action);
	BERTH_TRY_NEW(tmp, batch * ops, err, l->op_devs);
	BERTH_TRY_NEW(tmp, batch, err, l->score, l->reward);
	berth_rng rng = berth_rng_seed(l->s->cfg.seed, BERTH_STREAM_INIT);
	hsdag_init(&l->dims, l->params, &rng);
	return BERTH_OK;
}

/* ---- what both forms do ---- */

/* Scores, a parsing by them, and the distributions of its clusters. */
static berth_status begin(learner *l, const nn_real *z, berth_err *err)
{
	hsdag_embed(&l->dims, l->params, &l->v.g, z, l->acts);
	BERTH_TRY(hsdag_parse(&l->v, hsdag_scores(&l->dims, &l->v.g, l->acts), l->cfg.groups, l->tmp,
	                      l->s->mem, &l->parsing, err));
	hsdag_place(&l->dims, l->params, &l->v.g, &l->parsing.c, l->acts, l->logits);
	return policy_log_probs(l->parsing.c.n, l->dims.n_devs, l->logits, l->parsing.mask, l->logp, err);
}

static void draw(learner *l, int32_t n)
{
	size_t clusters = (size_t)l->parsing.c.n, ops = (size_t)l->s->p->n_ops;
	berth_encoding_thresholds(&l->parsing.e, l->logp, l->threshold);
	for (int32_t i = 0; i < n; i++) {
		int32_t *action = BERTH_ROW(l->action, i, clusters);
		berth_rng rng =
			berth_rng_seed(l->s->cfg.seed, BERTH_STREAM_ROLLOUT + (uint64_t)l->episodes++);
		berth_encoding_draw(&l->parsing.e, l->threshold, &rng, action);
		berth_encoding_pick(&l->parsing.e, l->logp, action, BERTH_ROW(l->old_logp, i, clusters));
		berth_encoding_project(&l->parsing.e, action, BERTH_ROW(l->op_devs, i, ops));
	}
	berth_search_offer_batch(l->s, n, l->op_devs, l->score);
}

static size_t clear_dlogits(learner *l)
{
	size_t n = (size_t)l->parsing.c.n * (size_t)l->dims.n_devs;
	BERTH_CLEAR(l->dlogits, n);
	return n;
}

static void clear_grads(learner *l)
{
	BERTH_CLEAR(l->grads, hsdag_param_count(&l->dims));
}

static void backward(learner *l)
{
	hsdag_backward(&l->dims, l->params, &l->v.g, &l->parsing.c, l->acts, l->dlogits, l->grads);
}

static berth_status descend(learner *l, double lr, berth_err *err)
{
	double norm;
	return adam_step(lr, &l->adam, l->params, l->grads, &norm, err);
}

/* ---- PPO ---- */

static berth_status ppo_update(learner *l, int32_t n, berth_err *err)
{
	policy_ppo_cfg cfg = {l->cfg.clip, l->cfg.entropy};
	policy_ppo_stats stats;
	bool first = l->episodes == 0;
	BERTH_TRY(begin(l, NULL, err));
	draw(l, n);
	for (int32_t i = 0; i < n; i++)
		l->reward[i] = berth_reward(l->reference, l->score[i]);
	berth_baseline_move(&l->baseline, first ? 0 : KEEP, n, l->reward);
	for (int32_t i = 0; i < n; i++)
		l->advantage[i] = (nn_real)berth_baseline_advantage(&l->baseline, l->reward[i]);
	for (int32_t k = 0; k < l->cfg.epochs; k++) {
		if (k) {
			hsdag_embed(&l->dims, l->params, &l->v.g, NULL, l->acts);
			hsdag_place(&l->dims, l->params, &l->v.g, &l->parsing.c, l->acts, l->logits);
		}
		clear_dlogits(l);
		clear_grads(l);
		BERTH_TRY(policy_ppo_loss(&cfg, n, l->parsing.c.n, l->dims.n_devs, l->logits, l->parsing.mask,
		                          l->action, l->old_logp, l->advantage, l->work, l->dlogits, &stats,
		                          err));
		backward(l);
		BERTH_TRY(descend(l, l->cfg.lr, err));
	}
	return BERTH_OK;
}

static berth_status run_ppo(learner *l, berth_err *err)
{
	int64_t left;
	while ((left = berth_search_budget_left(l->s, l->cfg.batch)) > 0)
		BERTH_TRY(ppo_update(l, (int32_t)left, err));
	return BERTH_OK;
}

/* ---- REINFORCE as released ---- */

/* One placement of an episode; grads += the gradient of minus its log-probability. */
static berth_status step(learner *l, double *reward, berth_err *err)
{
	nn_real one = 1;
	double loss;
	BERTH_TRY(begin(l, l->z, err));
	draw(l, 1);
	*reward = berth_score_feasible(l->score[0]) && l->score[0].value > 0
	                  ? l->reference / l->score[0].value
	                  : 0;
	clear_dlogits(l);
	BERTH_TRY(policy_ce_loss(l->parsing.c.n, 1, l->parsing.c.n, l->dims.n_devs, l->logits,
	                         l->parsing.mask, l->action, &one, l->work, l->dlogits, &loss, err));
	backward(l);
	const nn_real *c = hsdag_embeddings(&l->dims, &l->v.g, l->acts);
	size_t hidden = (size_t)l->cfg.hidden;
	for (size_t i = 0; i < (size_t)l->v.g.n_nodes * hidden; i++)
		l->z[i] += c[(size_t)l->parsing.node_cluster[i / hidden] * hidden + i % hidden];
	return BERTH_OK;
}

static berth_status episode(learner *l, bool *ended, berth_err *err)
{
	double sum = 0;
	BERTH_CLEAR(l->z, (size_t)l->v.g.n_nodes * (size_t)l->cfg.hidden);
	clear_grads(l);
	for (int32_t i = 0; i < l->cfg.steps; i++) {
		double reward;
		if (berth_search_budget_left(l->s, 1) == 0) {
			*ended = true;
			return BERTH_OK;
		}
		BERTH_TRY(step(l, &reward, err));
		sum = reward + l->cfg.discount * sum; /* newest first */
	}
	for (size_t i = 0; i < hsdag_param_count(&l->dims); i++)
		l->grads[i] *= (nn_real)sum;
	return descend(l, l->cfg.reinforce_lr, err);
}

static berth_status run_reinforce(learner *l, berth_err *err)
{
	bool ended = false;
	while (!ended)
		BERTH_TRY(episode(l, &ended, err));
	return BERTH_OK;
}

/* ---- the method ---- */

berth_status berth_hsdag_run(berth_search *s, const berth_hsdag_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	learner l = {.s = s, .cfg = *cfg, .tmp = tmp};
	BERTH_TRY(new_learner(&l, tmp, err));
	BERTH_TRY(berth_single_reference(s, &l.reference, tmp, err));
	if (s->p->n_ops == 0 || berth_search_budget_left(s, 1) == 0) {
		berth_search_offer(s, l.v.op_fallback, NULL);
		return BERTH_OK;
	}
	return (cfg->ppo ? run_ppo : run_reinforce)(&l, err);
}

static berth_status hsdag_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_hsdag_cfg cfg = berth_hsdag_cfg_default();
	return berth_hsdag_run(s, &cfg, tmp, err);
}

const berth_method berth_method_hsdag = {"hsdag",
                                         "A graph network that groups by learned edge scores and places the "
                                         "groups, by PPO (Duan et al. 2024).",
                                         true, hsdag_run, NULL, "Duan et al., NeurIPS 2024"};
