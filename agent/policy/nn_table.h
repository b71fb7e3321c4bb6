/* Blocks of numbers laid out by a table. A network has a list X(...) of its parameters and one of its
 * activations. The list gives the struct of offsets, the layout, the initial values and, where there are
 * checkpoints, the names.
 *   parameters   X(name, copies, rows, columns, rule): rule is ZERO, ONE, HE, PART or SMALL
 *   activations  X(name, copies, size of one)
 * The expressions may use whatever is in scope where the list is expanded. There, `at` is the struct of
 * offsets. */
#pragma once

#include "arena.h"
#include "nn.h"
#include "rng.h"

/* Normal weights of variance 2 / rows (He et al. 2015): whole, 0.3 of their size, a hundredth. */
typedef enum nn_init_rule { NN_INIT_ZERO, NN_INIT_ONE, NN_INIT_HE, NN_INIT_PART, NN_INIT_SMALL } nn_init_rule;

/* Initial values of n weights with that many rows. */
void nn_init_block(nn_real w[], size_t n, size_t rows, nn_init_rule rule, berth_rng *rng);

#define NN_TABLE_SIZE(copies, rows, columns) ((size_t)(copies) * (size_t)(rows) * (size_t)(columns))

/* Struct of the offsets of a list; total: elements of the block. */
#define NN_TABLE_FIELD(tensor, ...) size_t tensor;
#define NN_TABLE_STRUCT(name, LIST)                                                                          \
	typedef struct name {                                                                                \
		LIST(NN_TABLE_FIELD)                                                                         \
		size_t total;                                                                                \
	} name;

/* Fills `at` from a list of parameters, of activations. */
#define NN_TABLE_ACT(name, copies, size)                                                                     \
	at.name = at.total;                                                                                  \
	at.total += (size_t)(copies) * (size_t)(size);
#define NN_TABLE_PARAM(name, copies, rows, columns, rule)                                                    \
	at.name = at.total;                                                                                  \
	at.total += NN_TABLE_SIZE(copies, rows, columns);

/* For X: initial values, in w. */
#define NN_TABLE_INIT(name, copies, rows, columns, rule)                                                     \
	nn_init_block(w + at.name, NN_TABLE_SIZE(copies, rows, columns), (size_t)(rows), NN_INIT_##rule, rng);

/* Adam (Kingma & Ba, ICLR 2015) over one block of parameters, with the gradient clipped by its global norm
 * first (Pascanu, Mikolov & Bengio 2013). */

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
