/* Blocks of numbers laid out by a table: one list X(...) of a network's parameters, one of its activations,
 * gives the struct of offsets, the layout, the initial values and, where there are checkpoints, the names.
 *   parameters:  X(name, copies, rows, columns, initial values), the last one of ZERO, ONE, HE, PART, SMALL
 *                activations: X(name, copies, size of one)
 * The expressions may use whatever is in scope where the table is expanded; at is the struct of offsets and
 * end the size so far. */
#ifndef BERTH_NN_TABLE_H
#define BERTH_NN_TABLE_H

#include "nn_real.h"
#include "rng.h"

#include <stddef.h>

/* Normal weights of variance 2 / rows (He et al. 2015): whole, 0.3 of their size, a hundredth. */
typedef enum nn_init_rule { NN_INIT_ZERO, NN_INIT_ONE, NN_INIT_HE, NN_INIT_PART, NN_INIT_SMALL } nn_init_rule;

/* Initial values of n weights with that many rows. */
void nn_init_block(nn_real w[], size_t n, size_t rows, nn_init_rule rule, berth_rng *rng);

#define NN_TABLE_SIZE(copies, rows, columns) ((size_t)(copies) * (size_t)(rows) * (size_t)(columns))

/* For X: a field of the struct of offsets. */
#define NN_TABLE_FIELD(name, ...) size_t name;

/* For X: the offset of a tensor of parameters, of an activation. */
#define NN_TABLE_PARAM(name, copies, rows, columns, init) \
	at.name = end;                                    \
	end += NN_TABLE_SIZE(copies, rows, columns);
#define NN_TABLE_ACT(name, copies, size) \
	at.name = end;                   \
	end += (size_t)(copies) * (size_t)(size);

/* For X: initial values in w of the offsets at. */
#define NN_TABLE_INIT(name, copies, rows, columns, init) \
	nn_init_block(w + at.name, NN_TABLE_SIZE(copies, rows, columns), (size_t)(rows), NN_INIT_##init, rng);

#endif
