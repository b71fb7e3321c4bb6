/* What a policy learns by: rewards of placements, their advantages, and losses with their gradients. */
#include "policy_loss.h"

double berth_reward(double reference, berth_score score)
{
	double r = -3;
	if (score.value > 0 && isfinite(score.value) && reference > 0)
		r = fmin(fmax(log(reference / score.value), -3), 3);
	else if (score.value == 0)
		r = 0; /* a graph that takes no time */
	return berth_score_feasible(score) ? r : r - 0.5 - 5 * fmin(score.excess, 2);
}

double berth_baseline_move(berth_baseline *b, double keep, int32_t n, const double *reward)
{
	double sum = 0, squares = 0;
	for (int32_t i = 0; i < n; i++)
		sum += reward[i];
	double mean = sum / n;
	for (int32_t i = 0; i < n; i++)
		squares += (reward[i] - mean) * (reward[i] - mean);
	b->mean = keep * b->mean + (1 - keep) * mean;
	b->var = keep * b->var + (1 - keep) * (squares / n);
	return mean;
}

double berth_baseline_advantage(const berth_baseline *b, double reward)
{
	return fmin(fmax((reward - b->mean) / (sqrt(b->var) + 1e-6), -4), 4);
}

/* Losses on logits; see policy_loss.h. Each gathers coef[node][dev] = gradient of the loss for
 * logp[node][dev]; the softmax is undone once at the end. */

#define EXP _Generic((nn_real)0, float : expf, double : exp)

enum { CHUNK = 64, MAX_LOG_RATIO = 20 };

berth_status policy_log_probs(int32_t n_nodes, int32_t n_devs, const nn_real logits[restrict],
                              const uint8_t mask[restrict], nn_real logp[restrict], berth_err *err)
{
	size_t bad = nn_log_softmax((size_t)n_nodes, (size_t)n_devs, logp, logits, mask);
	if (bad < (size_t)n_nodes)
		return berth_fail(err, BERTH_EINFEASIBLE, "node %zu has no legal device", bad);
	return BERTH_OK;
}

size_t policy_loss_work_size(int32_t n_nodes, int32_t n_devs)
{
	return 2 * (size_t)n_nodes * (size_t)n_devs;
}

static berth_status check_choices(const char *what, int32_t n_rows, size_t N, size_t D, const uint8_t mask[],
                                  const int32_t choice[], berth_err *err)
{
	for (size_t r = 0; r < (size_t)n_rows; r++) {
		for (size_t n = 0; n < N; n++) {
			size_t d = (size_t)choice[r * N + n];
			if (d >= D || !mask[n * D + d])
				return berth_fail(
					err, BERTH_EINVAL,
					"%s %zu puts node %zu on device %d, which is not legal there", what,
					r, n, choice[r * N + n]);
		}
	}
	return BERTH_OK;
}

/* Entropy of each node's distribution, summed; coef += -weight * (gradient of the sum for logp as free
 * numbers). */
static double entropy_of(size_t N, size_t D, const nn_real logp[restrict], nn_real weight,
                         nn_real coef[restrict])
{
	double sum = 0;
	for (size_t n = 0; n < N; n++) {
		for (size_t i = n * D; i < n * D + D; i++) {
			nn_real p = EXP(logp[i]);
			if (p > 0) {
				sum -= (double)p * (double)logp[i];
				/* The softmax's backward pass takes the constant of (logp + 1) away. */
				coef[i] += weight * p * logp[i];
			}
		}
	}
	return sum;
}

/* What one sample adds up. */
typedef struct ppo_sums {
	double objective, kl;
	int64_t clipped;
} ppo_sums;

/* One sample: coef[n][action] += scale * d min(r A, clip(r) A) / d logp, in chunks whose middle part
 * vectorises. */
static void ppo_sample(size_t N, size_t D, const nn_real logp[restrict], const int32_t action[restrict],
                       const nn_real old_logp[restrict], nn_real A, nn_real clip, nn_real scale,
                       nn_real coef[restrict], ppo_sums *sums)
{
	nn_real ratio[CHUNK];
	for (size_t from = 0; from < N; from += CHUNK) {
		size_t n_chunk = N - from < CHUNK ? N - from : CHUNK;
		for (size_t i = 0; i < n_chunk; i++) {
			nn_real diff = logp[(from + i) * D + (size_t)action[from + i]] - old_logp[from + i];
			sums->kl -= (double)diff;
			ratio[i] = EXP(diff < MAX_LOG_RATIO ? diff : MAX_LOG_RATIO);
		}
		nn_real low = 1 - clip, high = 1 + clip;
		for (size_t i = 0; i < n_chunk; i++) {
			nn_real r = ratio[i], cut = r < low ? low : r > high ? high : r;
			bool flat = cut * A < r * A;
			sums->objective += (double)(flat ? cut * A : r * A);
			sums->clipped += cut != r; /* NaN counts too */
			coef[(from + i) * D + (size_t)action[from + i]] += flat ? 0 : scale * r * A;
		}
	}
}

/* The entropy's part, the gradient for the logits and the statistics. work: log-probabilities, then
 * coefficients. */
static void finish_ppo(const policy_ppo_cfg *cfg, size_t N, size_t D, double count, const ppo_sums *sums,
                       nn_real work[], nn_real dlogits[], policy_ppo_stats *stats)
{
	const nn_real *logp = work;
	nn_real *coef = work + N * D;
	*stats = (policy_ppo_stats){0};
	if (N == 0)
		return;
	double entropy = entropy_of(N, D, logp, (nn_real)(cfg->entropy / (double)N), coef) / (double)N;
	nn_log_softmax_backward(N, D, dlogits, coef, logp);
	double policy_loss = -sums->objective / count;
	*stats = (policy_ppo_stats){.loss = policy_loss - cfg->entropy * entropy,
	                            .policy_loss = policy_loss,
	                            .entropy = entropy,
	                            .kl = sums->kl / count,
	                            .clip_fraction = (double)sums->clipped / count};
}

berth_status policy_ppo_loss(const policy_ppo_cfg *cfg, int32_t n_samples, int32_t n_nodes, int32_t n_devs,
                             const nn_real logits[restrict], const uint8_t mask[restrict],
                             const int32_t action[restrict], const nn_real old_logp[restrict],
                             const nn_real advantage[restrict], nn_real work[restrict],
                             nn_real dlogits[restrict], policy_ppo_stats *stats, berth_err *err)
{
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	nn_real *logp = work, *coef = work + N * D;
	BERTH_TRY(policy_log_probs(n_nodes, n_devs, logits, mask, logp, err));
	BERTH_TRY(check_choices("sample", n_samples, N, D, mask, action, err));
	BERTH_CLEAR(coef, N * D);
	double count = (double)n_samples * (double)n_nodes;
	ppo_sums sums = {0};
	for (size_t s = 0; s < (size_t)n_samples; s++)
		ppo_sample(N, D, logp, action + s * N, old_logp + s * N, advantage[s], (nn_real)cfg->clip,
		           (nn_real)(-1 / count), coef, &sums);
	finish_ppo(cfg, N, D, count, &sums, work, dlogits, stats);
	return BERTH_OK;
}

/* ---- samples of one table ---- */

berth_status policy_batch_new(size_t n_cells, berth_arena *mem, policy_batch *out, berth_err *err)
{
	policy_batch b = {0};
	BERTH_TRY_NEW(mem, n_cells, err, b.old_logp, b.gain, b.loss, b.count);
	*out = b;
	return BERTH_OK;
}

void policy_batch_gather(policy_batch *b, int32_t n_samples, int32_t n_nodes, int32_t n_devs,
                         const int32_t action[restrict], const nn_real advantage[restrict])
{
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	b->n_samples = n_samples;
	b->n_nodes = n_nodes;
	b->n_devs = n_devs;
	BERTH_CLEAR(b->gain, N * D);
	BERTH_CLEAR(b->loss, N * D);
	BERTH_CLEAR(b->count, N * D);
	for (size_t s = 0; s < (size_t)n_samples; s++) {
		double *restrict sum = advantage[s] > 0 ? b->gain : b->loss;
		for (size_t n = 0; n < N; n++) {
			size_t i = n * D + (size_t)action[s * N + n];
			sum[i] += (double)advantage[s];
			b->count[i]++;
		}
	}
}

/* The cells' part of the loss: coef = d of it / d logp. */
static ppo_sums ppo_cells(const policy_batch *b, size_t n_cells, const nn_real logp[restrict], double clip,
                          double scale, nn_real coef[restrict])
{
	ppo_sums sums = {0};
	double low = 1 - clip, high = 1 + clip;
	for (size_t i = 0; i < n_cells; i++) {
		coef[i] = 0;
		if (!b->count[i])
			continue;
		nn_real diff = logp[i] - b->old_logp[i];
		double r = (double)EXP(diff < MAX_LOG_RATIO ? diff : MAX_LOG_RATIO);
		sums.kl -= (double)diff * b->count[i];
		sums.clipped += r >= low && r <= high ? 0 : b->count[i]; /* NaN counts too */
		sums.objective += (r > high ? high : r) * b->gain[i] + (r < low ? low : r) * b->loss[i];
		coef[i] = (nn_real)(scale * r * ((r > high ? 0 : b->gain[i]) + (r < low ? 0 : b->loss[i])));
	}
	return sums;
}

berth_status policy_ppo_batch_loss(const policy_ppo_cfg *cfg, const policy_batch *b,
                                   const nn_real logits[restrict], const uint8_t mask[restrict],
                                   nn_real work[restrict], nn_real dlogits[restrict], policy_ppo_stats *stats,
                                   berth_err *err)
{
	size_t N = (size_t)b->n_nodes, D = (size_t)b->n_devs;
	BERTH_TRY(policy_log_probs(b->n_nodes, b->n_devs, logits, mask, work, err));
	double count = (double)b->n_samples * (double)N;
	ppo_sums sums = ppo_cells(b, N * D, work, cfg->clip, -1 / count, work + N * D);
	finish_ppo(cfg, N, D, count, &sums, work, dlogits, stats);
	return BERTH_OK;
}

/* ---- cross-entropy ---- */

/* share[node][dev] = share of the weight of the targets that put the node there. */
static berth_status gather_targets(int32_t n_targets, int32_t n_nodes, int32_t n_devs,
                                   const uint8_t mask[restrict], const int32_t target[restrict],
                                   const nn_real weight[restrict], nn_real share[restrict], berth_err *err)
{
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	double total = 0;
	for (int32_t t = 0; t < n_targets; t++) {
		if (!(weight[t] >= 0))
			return berth_fail(err, BERTH_EINVAL,
			                  "the weight of target %d is %g, expected 0 or more", t,
			                  (double)weight[t]);
		total += (double)weight[t];
	}
	if (!(total > 0) || !isfinite(total))
		return berth_fail(err, BERTH_EINVAL,
		                  "the weights of the targets sum to %g, expected a number above 0", total);
	BERTH_TRY(check_choices("target", n_targets, N, D, mask, target, err));
	BERTH_CLEAR(share, N * D);
	for (size_t t = 0; t < (size_t)n_targets; t++) {
		nn_real own = (nn_real)((double)weight[t] / total);
		for (size_t n = 0; n < N; n++)
			share[n * D + (size_t)target[t * N + n]] += own;
	}
	return BERTH_OK;
}

/* coef holds the shares, and is overwritten. */
static double ce_of_shares(double scale, size_t N, size_t D, const uint8_t mask[restrict],
                           const nn_real logp[restrict], nn_real coef[restrict], nn_real dlogits[restrict])
{
	double sum = 0;
	for (size_t i = 0; i < N * D; i++) {
		coef[i] = (nn_real)(-scale * (double)coef[i] / (double)N);
		if (mask[i])
			sum += (double)coef[i] * (double)logp[i];
	}
	nn_log_softmax_backward(N, D, dlogits, coef, logp);
	return sum;
}

berth_status policy_ce_share_loss(double scale, int32_t n_nodes, int32_t n_devs,
                                  const nn_real logits[restrict], const uint8_t mask[restrict],
                                  const nn_real share[restrict], nn_real work[restrict],
                                  nn_real dlogits[restrict], double *loss, double *mass, berth_err *err)
{
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	nn_real *logp = work, *coef = work + N * D;
	double sum = 0;
	BERTH_TRY(policy_log_probs(n_nodes, n_devs, logits, mask, logp, err));
	for (size_t i = 0; i < N * D; i++)
		sum += share[i] > 0 ? (double)share[i] * (double)EXP(logp[i]) : 0;
	*mass = N ? sum / (double)N : 1;
	BERTH_COPY(coef, share, N * D);
	*loss = ce_of_shares(scale, N, D, mask, logp, coef, dlogits);
	return BERTH_OK;
}

berth_status policy_ce_loss(double scale, int32_t n_targets, int32_t n_nodes, int32_t n_devs,
                            const nn_real logits[restrict], const uint8_t mask[restrict],
                            const int32_t target[restrict], const nn_real weight[restrict],
                            nn_real work[restrict], nn_real dlogits[restrict], double *loss, berth_err *err)
{
	size_t N = (size_t)n_nodes, D = (size_t)n_devs;
	nn_real *logp = work, *coef = work + N * D;
	BERTH_TRY(gather_targets(n_targets, n_nodes, n_devs, mask, target, weight, coef, err));
	BERTH_TRY(policy_log_probs(n_nodes, n_devs, logits, mask, logp, err));
	*loss = ce_of_shares(scale, N, D, mask, logp, coef, dlogits);
	return BERTH_OK;
}
