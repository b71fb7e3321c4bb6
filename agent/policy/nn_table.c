/* A network's weights: their initial values, and Adam, which moves them. */
#include "nn_table.h"

void nn_init_block(nn_real w[], size_t n, size_t rows, nn_init_rule rule, berth_rng *rng)
{
	static const double part[] = {[NN_INIT_HE] = 1, [NN_INIT_PART] = 0.3, [NN_INIT_SMALL] = 0.01};
	if (rule == NN_INIT_ZERO || rule == NN_INIT_ONE) {
		for (size_t i = 0; i < n; i++)
			w[i] = rule == NN_INIT_ONE;
		return;
	}
	for (size_t i = 0; i < n; i++)
		w[i] = (nn_real)(part[rule] * sqrt(2.0 / (double)rows) * berth_rng_normal(rng));
}

#define SQRT _Generic((nn_real)0, float : sqrtf, double : sqrt)

adam_cfg adam_cfg_default(void)
{
	return (adam_cfg){.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .max_norm = 1};
}

berth_status adam_new(size_t n, berth_arena *mem, adam_state *out, berth_err *err)
{
	adam_state s = {.n = n};
	BERTH_TRY_NEW(mem, n, err, s.m, s.v);
	*out = s;
	return BERTH_OK;
}

/* Eight partial sums of fixed places: the same bits everywhere, and they vectorise. */
NN_CLONES static double norm_of(size_t n, const nn_real g[])
{
	double part[8] = {0}, sum = 0;
	size_t i = 0;
	for (; i + 8 <= n; i += 8)
		for (size_t k = 0; k < 8; k++)
			part[k] += (double)g[i + k] * (double)g[i + k];
	for (; i < n; i++)
		part[i % 8] += (double)g[i] * (double)g[i];
	for (size_t k = 0; k < 8; k++)
		sum += part[k];
	return sqrt(sum);
}

/* The numbers of a step that are the same for all weights. */
typedef struct adam_numbers {
	nn_real scale, b1, c1, b2, c2, lr, root, eps;
	nn_real tiny, tiny_square; /* beside eps a gradient so small is none, nor its square */
} adam_numbers;

NN_CLONES static void adam_descend(size_t n, const adam_numbers *t, nn_real w[restrict], nn_real m[restrict],
                                   nn_real v[restrict], const nn_real g[restrict])
{
	const adam_numbers k = *t;
	for (size_t i = 0; i < n; i++) {
		nn_real x = nn_flush(g[i] * k.scale, k.tiny);
		m[i] = nn_flush(k.b1 * m[i] + k.c1 * x, NN_TINY);
		v[i] = nn_flush(k.b2 * v[i] + k.c2 * x * x, k.tiny_square);
		w[i] -= k.lr * m[i] / (SQRT(v[i]) * k.root + k.eps);
	}
}

double adam_update(const adam_cfg *cfg, adam_state *s, nn_real w[restrict], const nn_real g[restrict])
{
	double length = norm_of(s->n, g);
	if (!isfinite(length))
		return length;
	s->step++;
	adam_numbers k = {
		.scale = cfg->max_norm > 0 && length > cfg->max_norm ? (nn_real)(cfg->max_norm / length) : 1,
		.b1 = (nn_real)cfg->beta1,
		.c1 = (nn_real)(1 - cfg->beta1),
		.b2 = (nn_real)cfg->beta2,
		.c2 = (nn_real)(1 - cfg->beta2),
		.lr = (nn_real)(cfg->lr / (1 - pow(cfg->beta1, (double)s->step))),
		.root = (nn_real)(1 / sqrt(1 - pow(cfg->beta2, (double)s->step))),
		.eps = (nn_real)cfg->eps,
		.tiny = (nn_real)(cfg->eps * 1e-8),
		.tiny_square = (nn_real)(cfg->eps * cfg->eps * 1e-14),
	};
	adam_descend(s->n, &k, w, s->m, s->v, g);
	return length;
}

berth_status adam_step(double lr, adam_state *s, nn_real w[restrict], const nn_real g[restrict],
                       double *length, berth_err *err)
{
	adam_cfg cfg = adam_cfg_default();
	cfg.lr = lr;
	*length = adam_update(&cfg, s, w, g);
	if (isfinite(*length))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "the policy's gradient is no longer finite; use a lower learning rate than %g", lr);
}
