/* Blocks of numbers laid out by a table. A network has a list X(...) of its parameters and one of its
 * activations. The list gives the struct of offsets, the layout, the initial values and, where there are
 * checkpoints, the names.
 *   parameters   X(name, copies, rows, columns, rule): rule is ZERO, ONE, HE, PART or SMALL
 *   activations  X(name, copies, size of one)
 * The expressions may use whatever is in scope where the list is expanded. There, `at` is the struct of
 * offsets. */
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

/* Struct of the offsets of a list; total: elements of the block. */
#define NN_TABLE_FIELD(tensor, ...) size_t tensor;
#define NN_TABLE_STRUCT(name, LIST)      \
	typedef struct name {            \
		LIST(NN_TABLE_FIELD)     \
		size_t total;            \
	} name;

/* Fills `at` from a list of parameters, of activations. */
#define NN_TABLE_ACT(name, copies, size) \
	at.name = at.total;              \
	at.total += (size_t)(copies) * (size_t)(size);
#define NN_TABLE_PARAM(name, copies, rows, columns, rule) \
	at.name = at.total;                               \
	at.total += NN_TABLE_SIZE(copies, rows, columns);

/* For X: initial values, in w. */
#define NN_TABLE_INIT(name, copies, rows, columns, rule) \
	nn_init_block(w + at.name, NN_TABLE_SIZE(copies, rows, columns), (size_t)(rows), NN_INIT_##rule, rng);

#endif
