/* Rewards of placements, and the moving baseline that makes advantages of them. */
#pragma once

#include "arena.h"
#include "eval.h"
#include "nn.h"

/* log(reference / value), in [-3, 3]. Lower for what does not fit memory, by its excess. reference: value of
 * the best single device. */
double berth_reward(double reference, berth_score score);

/* Mean and variance of rewards, moving from batch to batch. All 0 at first. */
typedef struct berth_baseline {
	double mean, var;
} berth_baseline;

/* Take a batch of n >= 1 rewards in. keep: share of the old figures that stays, in [0, 1); 0 in the first
 * batch. Returns the batch's mean. */
double berth_baseline_move(berth_baseline *b, double keep, int32_t n, const double *reward);

/* A reward in standard deviations above the mean, within [-4, 4]. */
double berth_baseline_advantage(const berth_baseline *b, double reward);

/* Losses on the logits of policy.h: loss and gradient in one function. In one-shot placements every node's
 * device is drawn on its own, so all samples of one instance share its logits. The gradient is gathered over
 * the samples first, and the network runs backward once. Gradients accumulate into dlogits, so losses can be
 * added. Sums run in the order of the samples. */

/* logp[n_nodes][n_devs] = log-probabilities; -INFINITY where mask is 0. Fails: BERTH_EINFEASIBLE, naming a
 * node without a legal device; logp is then as it was. */
berth_status policy_log_probs(int32_t n_nodes, int32_t n_devs, const nn_real logits[restrict],
                              const uint8_t mask[restrict], nn_real logp[restrict], berth_err *err);

/* Proximal policy optimisation (Schulman et al. 2017), with the ratio, its clip and the gradient of each
 * node on their own: a ratio that is the product over many nodes hardly learns. */
typedef struct policy_ppo_cfg {
	double clip;    /* ratios beyond 1 +- clip earn nothing, > 0 */
	double entropy; /* weight of the entropy bonus, >= 0 */
} policy_ppo_cfg;

typedef struct policy_ppo_stats {
	double loss; /* policy_loss - cfg.entropy * entropy */
	/* - mean of min(ratio * advantage, clipped ratio * advantage) over samples and nodes. */
	double policy_loss;
	double entropy;       /* mean over nodes, nats */
	double kl;            /* mean of old_logp - new_logp over samples and nodes */
	double clip_fraction; /* share of ratios outside 1 +- clip */
} policy_ppo_stats;

/* Elements of the scratch of the losses. */
size_t policy_loss_work_size(int32_t n_nodes, int32_t n_devs);

/* dlogits[n_nodes][n_devs] += gradient of stats->loss.
 *   action     [n_samples][n_nodes], a legal device each
 *   old_logp   [n_samples][n_nodes], log-probability of the action when it was drawn
 *   advantage  [n_samples], higher is better; shared by all nodes of the sample
 *   work       scratch, policy_loss_work_size elements; on return the log-probabilities [n_nodes][n_devs]
 *              stand first
 * n_samples >= 1; without nodes all is 0. Ratios are cut at e^20, so the loss stays finite. Fails, with
 * dlogits and stats as they were: BERTH_EINFEASIBLE (a node without a legal device), BERTH_EINVAL (an
 * illegal action). O(n_samples * n_nodes + n_nodes * n_devs). */
berth_status policy_ppo_loss(const policy_ppo_cfg *cfg, int32_t n_samples, int32_t n_nodes, int32_t n_devs,
                             const nn_real logits[restrict], const uint8_t mask[restrict],
                             const int32_t action[restrict], const nn_real old_logp[restrict],
                             const nn_real advantage[restrict], nn_real work[restrict],
                             nn_real dlogits[restrict], policy_ppo_stats *stats, berth_err *err);

/* ---- samples of one table ---- Where all samples were drawn from one table of log-probabilities, a ratio
 * depends on (node, device) alone. So the samples are gathered once, and every epoch's loss, statistics and
 * gradient cost what the table costs, however many samples there are. */

/* Sums over the samples that put a node on a device. */
typedef struct policy_batch {
	int32_t n_samples, n_nodes, n_devs;
	nn_real *old_logp;   /* [n_nodes][n_devs] the table; set by whoever draws */
	double *gain, *loss; /* [n_nodes][n_devs] of the advantages above 0; of those below */
	int32_t *count;      /* [n_nodes][n_devs] samples */
} policy_batch;

/* Room for a table of n_cells = nodes * devices. Fails: BERTH_ENOMEM. */
berth_status policy_batch_new(size_t n_cells, berth_arena *mem, policy_batch *out, berth_err *err);

/* Gather action [n_samples][n_nodes], legal devices, and advantage [n_samples], in the order of the
 * samples. */
void policy_batch_gather(policy_batch *b, int32_t n_samples, int32_t n_nodes, int32_t n_devs,
                         const int32_t action[restrict], const nn_real advantage[restrict]);

/* policy_ppo_loss of a batch of at least one sample, but for rounding. Fails: BERTH_EINFEASIBLE. O(n_nodes *
 * n_devs). */
berth_status policy_ppo_batch_loss(const policy_ppo_cfg *cfg, const policy_batch *b,
                                   const nn_real logits[restrict], const uint8_t mask[restrict],
                                   nn_real work[restrict], nn_real dlogits[restrict], policy_ppo_stats *stats,
                                   berth_err *err);

/* ---- cross-entropy ---- */

/* policy_ce_loss of gathered targets: share[node][dev] is the share of the weight of those that put the node
 * there; and *mass, their mean probability. Fails: BERTH_EINFEASIBLE. */
berth_status policy_ce_share_loss(double scale, int32_t n_nodes, int32_t n_devs,
                                  const nn_real logits[restrict], const uint8_t mask[restrict],
                                  const nn_real share[restrict], nn_real work[restrict],
                                  nn_real dlogits[restrict], double *loss, double *mass, berth_err *err);

/* Weighted cross-entropy towards n_targets >= 1 placements (cloning, and the refit of the cross-entropy
 * method):
 *   *loss = - scale * sum over targets of (weight / sum of weights) * mean over nodes of logp[node][target]
 * dlogits += its gradient. weight[n_targets] >= 0, not all 0; target[n_targets][n_nodes], a legal device
 * each; work as above. Fails, with outputs as they were: BERTH_EINFEASIBLE, BERTH_EINVAL (an illegal target,
 * weights that sum to nothing finite above 0). */
berth_status policy_ce_loss(double scale, int32_t n_targets, int32_t n_nodes, int32_t n_devs,
                            const nn_real logits[restrict], const uint8_t mask[restrict],
                            const int32_t target[restrict], const nn_real weight[restrict],
                            nn_real work[restrict], nn_real dlogits[restrict], double *loss, berth_err *err);
