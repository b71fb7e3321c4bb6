/* Adam (Kingma & Ba, ICLR 2015) over one block of parameters, with the gradient clipped by its global norm
 * first (Pascanu, Mikolov & Bengio 2013). */
#ifndef BERTH_ADAM_H
#define BERTH_ADAM_H

#include "arena.h"
#include "nn_real.h"

#include <stdint.h>

typedef struct adam_cfg {
	double lr;           /* > 0; default 3e-4 */
	double beta1, beta2; /* decay of the moments, in [0, 1); defaults 0.9 and 0.999 */
	double eps;          /* added to the root of the second moment, > 0; default 1e-8 */
	double max_norm;     /* a gradient longer than this is scaled down to it; 0: never; default 1 */
} adam_cfg;

adam_cfg adam_cfg_default(void);

/* All that must be saved to go on with the same bits. */
typedef struct adam_state {
	size_t n;
	nn_real *m, *v; /* [n] first and second moments */
	int64_t step;   /* updates made */
} adam_state;

/* Zero moments in mem. Fails: BERTH_ENOMEM. */
berth_status adam_new(size_t n, berth_arena *mem, adam_state *out, berth_err *err);

/* w[n] -= lr * m^ / (sqrt(v^) + eps). Returns the norm of g before clipping. If that is not finite, nothing
 * is changed: the caller decides. O(n). */
double adam_update(const adam_cfg *cfg, adam_state *state, nn_real w[restrict], const nn_real g[restrict]);

/* adam_update of the defaults at a learning rate. *norm: of g before clipping. Fails: BERTH_EINVAL where
 * that is not finite; then w is as it was. */
berth_status adam_step(double lr, adam_state *state, nn_real w[restrict], const nn_real g[restrict],
                       double *norm, berth_err *err);

#endif
